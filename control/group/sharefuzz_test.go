package group

import (
	"testing"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzShareRequests plays requests of share groups among those of all others, on the same few group ids, with topics that
// come, grow and go, calls to share coordinators that are refused or answered late, appends that fail, and restarts.
func FuzzShareRequests(f *testing.F) {
	f.Add([]byte("sharebeatsharejoinshare"))
	f.Add([]byte{4, 0, 1, 0, 0, 0, 5, 1, 4, 3, 6, 5, 4, 7, 4, 9, 0, 13, 1, 4, 1, 1, 6, 1, 1, 0, 15, 0})
	f.Fuzz(func(t *testing.T, input []byte) { playSharers(t, input) })
}

// TestRandomShareRequests is FuzzShareRequests over inputs from fixed seeds.
func TestRandomShareRequests(t *testing.T) {
	for seed := range uint64(300) {
		playSharers(t, randomInput(seed, 4, 1200))
	}
}

func playSharers(t *testing.T, input []byte) {
	cfg := fuzzConfig()
	cfg.ShareMaxSize, cfg.MemoryBytes = 4, 64<<10
	p := &player{machine: newMachine(cfg), input: input}
	p.setTopic("t1", 3)
	p.hold, p.holdCalls = true, true
	for len(p.input) > 0 {
		switch p.next(8) {
		case 0:
			p.step()
		case 1:
			p.send("x", "c", p.beat())
			p.settleBeats()
		case 2:
			p.changeTopic()
		case 3:
			p.answerCalls()
		default:
			p.send("x", "c", p.shareRequest())
			p.settle()
		}
		p.c.checkAll()
	}
	for len(p.held)+len(p.heldCalls) > 0 {
		for len(p.held) > 0 {
			p.complete(wire.None)
		}
		p.answerCalls()
	}
	p.holdCalls = false
	p.finish(t)
}

// answerCalls answers, or refuses, the calls under way.
func (p *player) answerCalls() {
	calls := p.heldCalls
	p.heldCalls = nil
	for _, call := range calls {
		if p.next(4) == 0 {
			p.answerCall(call, RefuseState(call.Request, wire.CoordinatorNotAvailable))
		} else {
			p.answerCall(call, p.states.answer(call.Request))
		}
	}
}

func (p *player) shareRequest() kmsg.Request {
	switch p.next(12) {
	case 0:
		return &kmsg.ShareGroupDescribeRequest{Version: 1, GroupIDs: []string{p.group(), p.group()}}
	case 1:
		return &kmsg.DescribeShareGroupOffsetsRequest{Groups: []kmsg.DescribeShareGroupOffsetsRequestGroup{{GroupID: p.group()}, {GroupID: p.group(),
			Topics: []kmsg.DescribeShareGroupOffsetsRequestGroupTopic{{Topic: "t1", Partitions: []int32{0, 9}}, {Topic: "nowhere"}}}}}
	case 2:
		return &kmsg.AlterShareGroupOffsetsRequest{GroupID: p.group(), Topics: []kmsg.AlterShareGroupOffsetsRequestTopic{{Topic: "t1",
			Partitions: []kmsg.AlterShareGroupOffsetsRequestTopicPartition{{Partition: int32(p.next(4))}, {Partition: -1}}}}}
	case 3:
		return &kmsg.DeleteShareGroupOffsetsRequest{GroupID: p.group(), Topics: []kmsg.DeleteShareGroupOffsetsRequestTopic{{Topic: "t1"}, {Topic: "t3"}}}
	case 4:
		return &kmsg.DeleteGroupsRequest{Version: 2, Groups: []string{p.group(), p.group()}}
	}
	r := kmsg.NewPtrShareGroupHeartbeatRequest()
	r.Version, r.GroupID, r.MemberID = 1, p.group(), []string{"a", "b", "c", "d", "e"}[p.next(5)]
	r.MemberEpoch = p.shareEpoch(r)
	if r.MemberEpoch == memberJoins || p.next(3) == 0 {
		r.SubscribedTopicNames = [][]string{{"t1"}, {"t2", "t1", "t1"}, {"t3", "nowhere"}, {}}[p.next(4)]
	}
	if p.next(4) == 0 {
		r.RackID = kmsg.StringPtr("rack")
	}
	return r
}

// shareEpoch is most often the one that the member has.
func (p *player) shareEpoch(r *kmsg.ShareGroupHeartbeatRequest) int32 {
	g := p.c.groups[r.GroupID]
	switch n := p.next(8); {
	case n == 0:
		return memberLeaves
	case n == 1 || g == nil || g.share == nil || g.share.members[r.MemberID] == nil:
		return memberJoins
	case n == 2:
		return g.share.members[r.MemberID].previousEpoch
	case n == 3:
		return int32(p.next(5))
	default:
		return g.share.members[r.MemberID].epoch
	}
}

// FuzzShareValues: each reader of values takes any bytes, reads no more than there is, and what it has read is written and
// read as the same again.
func FuzzShareValues(f *testing.F) {
	for _, c := range shareGolden {
		f.Add(mustUnhex(c.key), mustUnhex(c.value))
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m := newMachine(measuredConfig())
		m.setTopic("t1", 3)
		m.log = []wire.Record{{Key: key, Value: value}}
		if m.restart() != nil {
			return
		}
		m.c.checkAll()
		before := len(m.log)
		if err := m.restart(); err != nil { // with what it wrote to mend the log
			t.Fatalf("%d records: %v", before, err)
		}
		m.c.checkAll()
		m.advance(10_000_000)
		m.c.checkAll()
	})
}
