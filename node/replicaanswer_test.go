package node

import (
	"testing"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
)

func TestMemoryForAnswers(t *testing.T) {
	spare := make([]byte, 1<<20)
	for _, c := range []struct{ size, room int }{{1, 64 << 10}, {64 << 10, 64 << 10}, {64<<10 + 1, 128 << 10}, {10 << 20, 16 << 20}} {
		if got := roomFor(nil, c.size); len(got) != c.size || cap(got) != c.room {
			t.Errorf("an answer of %d bytes has %d of %d", c.size, len(got), cap(got))
		}
	}
	if got := roomFor(spare, 1000); len(got) != 1000 || &got[0] != &spare[0] {
		t.Error("memory that is there is not used again")
	}
	if got := roomFor(spare, 1<<20+1); cap(got) != 2<<20 {
		t.Errorf("memory of %d bytes for an answer that does not fit in what is there", cap(got))
	}
}

func TestAnswersMemoryIsGivenBack(t *testing.T) {
	r := &replicator{}
	answer := func(n int) *replicaAnswer { return &replicaAnswer{replicator: r, bytes: roomFor(nil, n), refs: 1} }
	a, p, q := answer(100<<10), &partition{}, &partition{}
	p.lend(a)
	q.lend(a)
	p.plans, q.writing = make([]segment.AppendPlan, 1), make([]segment.AppendPlan, 1)
	a.release()
	p.giveBack()
	q.giveBack()
	p.plans = nil
	p.giveBack()
	if p.lent != nil || q.lent != a || r.spare != nil {
		t.Fatal("an answer is given back before all that lies in it is written")
	}
	q.writing, q.fetchedRest = nil, a.bytes[:1]
	if q.giveBack(); r.spare != nil {
		t.Fatal("an answer is given back whose rest waits for a segment")
	}
	q.fetchedRest = nil
	if q.giveBack(); len(r.spare) != 128<<10 {
		t.Fatalf("%d bytes are there for the next answer", len(r.spare))
	}
	small := answer(1000)
	if small.release(); len(r.spare) != 128<<10 {
		t.Error("smaller memory takes the place of larger")
	}
	r.spare = nil
	burst := &replicaAnswer{replicator: r, bytes: make([]byte, 16<<10, 1<<20), refs: 1}
	if burst.release(); r.spare != nil {
		t.Error("an answer's memory is kept that is 64 times as large as what it held")
	}
	late := answer(1000)
	p.lend(late)
	p.lend(answer(1000)) // of another leader, before the write has ended
	if late.release(); r.spare != nil {
		t.Error("an answer is used again that a write may still read from")
	}
}

// TestAnswersOfALeaderThatChanges: what is not taken up of an answer is not held.
func TestAnswersOfALeaderThatChanges(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	p := tn.partition("a", 0)
	p.loop.on(func(l *Loop) {
		p.lend(&replicaAnswer{replicator: &replicator{}, bytes: make([]byte, 1), refs: 1})
		p.replica.Follow(replicate.FollowerState{Leader: 9, Metadata: replicate.Metadata{Version: 99, Epoch: 7, PartitionEpoch: 9, Ref: p}}, &l.eff)
		l.apply(p)
		l.dropFetched(p)
		if p.lent != nil {
			t.Error("an answer is held by a partition that has nothing of it")
		}
	})
}
