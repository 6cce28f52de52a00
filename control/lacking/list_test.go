package lacking

import (
	"slices"
	"testing"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/wire"
)

func replica(i int) Replica { return Replica{wire.TopicID{1}, wire.PartitionIndex(i)} }

func partitions(some []controller.LackingReplica) (all []int) {
	for _, k := range some {
		all = append(all, int(k.Partition))
	}
	return all
}

// What does not fit into one heartbeat is told with the next ones, before anything is told again; then all of it goes round.
func TestAllAreTold(t *testing.T) {
	l := NewList(2)
	for i := range 5 {
		if !l.Set(replica(i), 3) || l.Set(replica(i), 3) {
			t.Fatalf("replica %d: news once", i)
		}
	}
	for i, want := range []struct {
		named []int
		all   bool
	}{{[]int{0, 1}, false}, {[]int{2, 3}, false}, {[]int{4, 0}, true}, {[]int{1, 2}, true}, {[]int{3, 4}, true}, {[]int{0, 1}, true}} {
		for range 2 { // a heartbeat without an answer is none
			some, all := l.Tell()
			if !slices.Equal(partitions(some), want.named) || all != want.all {
				t.Errorf("heartbeat %d names %v, all %v; want %v, %v", i, partitions(some), all, want.named, want.all)
			}
		}
		some, _ := l.Tell()
		l.Told(some)
	}
}

// News of a replica is untold again, whatever was told of it before or is on its way.
func TestNewsIsUntold(t *testing.T) {
	l := NewList(2)
	for i := range 3 {
		l.Set(replica(i), wire.NoLeaderEpoch)
	}
	first, _ := l.Tell()
	l.Set(replica(1), 7) // while the heartbeat is under way
	l.Told(first)
	second, all := l.Tell()
	if !slices.Equal(partitions(second), []int{1, 2}) || !all || second[0].Since != 7 {
		t.Errorf("%v, all %v", second, all)
	}
	l.Told(second)
	l.BeginAnew(replica(0))
	third, _ := l.Tell()
	if third[0] != (controller.LackingReplica{Topic: replica(0).Topic, Since: wire.NoLeaderEpoch, Gone: true}) {
		t.Errorf("%v", third)
	}
}

// A replica that was begun anew and leads, by an unclean election, is gone no more: what it takes from then on counts.
func TestWhoLeadsIsNotGone(t *testing.T) {
	l := NewList(2)
	l.BeginAnew(replica(0))
	l.Set(replica(1), 0)
	if !l.Leads(replica(0)) || l.Leads(replica(0)) || l.Leads(replica(1)) || l.Leads(replica(2)) {
		t.Error("it is news of the first, once")
	}
	if some, _ := l.Tell(); len(some) != 2 || some[0].Gone || l.Texts().Begun != nil {
		t.Errorf("%v, %q", some, l.Texts().Begun)
	}
}

// What is removed is told no more, and takes no room.
func TestRemoved(t *testing.T) {
	l := NewList(10)
	for i := range 1000 {
		l.Set(replica(i), 0)
		if i > 0 && (!l.Remove(replica(i)) || l.Remove(replica(i))) {
			t.Fatalf("replica %d: removed once", i)
		}
		if len(l.order) > 66 {
			t.Fatalf("%d entries for one replica", len(l.order))
		}
	}
	if some, all := l.Tell(); !slices.Equal(partitions(some), []int{0}) || !all || l.Len() != 1 || !l.Has(replica(0)) || l.Has(replica(1)) {
		t.Errorf("%v, all %v, %d on the list", some, all, l.Len())
	}
	l.Remove(replica(0))
	if some, all := l.Tell(); len(some) > 0 || !all {
		t.Errorf("an empty list: %v, all %v", some, all)
	}
}
