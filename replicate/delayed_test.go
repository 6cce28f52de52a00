package replicate

import (
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func push(q *delayedProduces, lasts ...wire.Offset) {
	for _, last := range lasts {
		q.push(delayedProduce{last: last, done: Completion{Ref: last}})
	}
}

func refs(done []Completion) (refs []wire.Offset) {
	for _, c := range done {
		refs = append(refs, c.Ref.(wire.Offset))
	}
	return refs
}

func TestCompleteBelow(t *testing.T) {
	for _, test := range []struct {
		name   string
		queued []wire.Offset
		bound  wire.Offset
		want   []wire.Offset
	}{
		{"nobody waits", nil, 10, nil},
		{"none is there yet", []wire.Offset{5, 6}, 5, nil},
		{"the first", []wire.Offset{5, 6}, 6, []wire.Offset{5}},
		{"all", []wire.Offset{5, 6}, 7, []wire.Offset{5, 6}},
		{"a duplicate waits behind a newer one", []wire.Offset{5, 9, 2, 10}, 6, []wire.Offset{5}},
		{"and is answered with it", []wire.Offset{5, 9, 2, 10}, 10, []wire.Offset{5, 9, 2}},
	} {
		var q delayedProduces
		var eff Effects
		push(&q, test.queued...)
		q.completeBelow(test.bound, &eff)
		if got := refs(eff.Completed); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestTakeFrom(t *testing.T) {
	for _, test := range []struct {
		name                string
		queued              []wire.Offset
		popped              int
		first               wire.Offset
		wantTaken, wantKept []wire.Offset
	}{
		{"nobody waits", nil, 0, 0, nil, nil},
		{"all", []wire.Offset{5, 6}, 0, 0, []wire.Offset{5, 6}, nil},
		{"none", []wire.Offset{5, 6}, 0, 7, nil, []wire.Offset{5, 6}},
		{"the newest", []wire.Offset{5, 6, 7}, 0, 6, []wire.Offset{6, 7}, []wire.Offset{5}},
		{"after pops", []wire.Offset{1, 2, 5, 6, 7}, 2, 6, []wire.Offset{6, 7}, []wire.Offset{5}},
		{"around a duplicate", []wire.Offset{5, 6, 3, 7}, 0, 6, []wire.Offset{6, 7}, []wire.Offset{5, 3}},
	} {
		var q delayedProduces
		push(&q, test.queued...)
		for range test.popped {
			q.pop()
		}
		var taken []wire.Offset
		for _, d := range q.takeFrom(test.first) {
			taken = append(taken, d.last)
		}
		var kept []wire.Offset
		for !q.empty() {
			kept = append(kept, q.pop().last)
		}
		if !slices.Equal(taken, test.wantTaken) || !slices.Equal(kept, test.wantKept) {
			t.Errorf("%s: took %v and kept %v, want %v and %v", test.name, taken, kept, test.wantTaken, test.wantKept)
		}
	}
}

// TestProducesThatNeverEmpty: a queue under steady load keeps the size of what waits; an idle one gives a burst back.
func TestProducesThatNeverEmpty(t *testing.T) {
	var q delayedProduces
	push(&q, 0, 1, 2)
	for i := range wire.Offset(100_000) {
		push(&q, i+3)
		if got := q.pop().last; got != i {
			t.Fatalf("popped %d, want %d", got, i)
		}
	}
	if cap(q.items) > 8*delayedKeepMax {
		t.Fatalf("room for %d, 3 wait", cap(q.items))
	}
	for i := range wire.Offset(10 * delayedKeepMax) {
		push(&q, i)
	}
	for !q.empty() {
		q.pop()
	}
	if cap(q.items) > delayedKeepMax {
		t.Fatalf("room for %d, nobody waits", cap(q.items))
	}
}

func TestDelayedFetches(t *testing.T) {
	var q delayedFetches
	waiter := func(ref int, generation uint32) FetchWaiter { return FetchWaiter{Ref: ref, Generation: generation} }
	q.put(waiter(1, 1))
	q.put(waiter(2, 1))
	q.put(waiter(3, 1))
	q.put(waiter(1, 2)) // a later wait of the same
	q.cancel(2)
	q.cancel(9)
	if got, want := q.takeAll(nil), []FetchWaiter{waiter(1, 2), waiter(3, 1)}; !slices.Equal(got, want) {
		t.Fatalf("woken: %v, want %v", got, want)
	}
	if got := q.takeAll(nil); got != nil {
		t.Fatalf("woken twice: %v", got)
	}
}

// TestFetchesThatComeAndGo: cancelled waits leave nothing behind, in number or order.
func TestFetchesThatComeAndGo(t *testing.T) {
	var q delayedFetches
	for i := range 100_000 {
		q.put(FetchWaiter{Ref: i})
		if i >= 3 {
			q.cancel(i - 3)
		}
	}
	if len(q.at) != 3 || cap(q.waiters) > 8*delayedKeepMax {
		t.Fatalf("%d wait, room for %d", len(q.at), cap(q.waiters))
	}
	for i, w := range q.takeAll(nil) {
		if w.Ref != 99_997+i {
			t.Fatalf("woken %v as number %d", w.Ref, i)
		}
	}
	for i := range 10 * delayedKeepMax {
		q.put(FetchWaiter{Ref: i})
	}
	q.takeAll(nil)
	if cap(q.waiters) > delayedKeepMax {
		t.Fatalf("room for %d, nobody waits", cap(q.waiters))
	}
}
