package lacking

import (
	"slices"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/wire"
)

// Replica names a replica of the node.
type Replica struct {
	Topic     wire.TopicID
	Partition wire.PartitionIndex
}

// List is a node's lacking replicas. NewList makes one.
type List struct {
	named map[Replica]*entry
	// order has the entries as they came, those that the controller was told of last at the end. Of those removed it has no more than of others,
	// and 64.
	order []*entry
	max   int
}

type entry struct {
	Replica
	// since is the newest leader epoch in which the replica may have promised something.
	since wire.LeaderEpoch
	// begun: nothing is left of it here, its log is begun anew, empty.
	begun bool
	// told: the controller has answered a heartbeat that said this of it.
	told, removed bool
}

// NewList makes a list of none, of which a heartbeat names max at most.
func NewList(max int) *List { return &List{named: make(map[Replica]*entry), max: max} }

// Len is how many replicas are on the list.
func (l *List) Len() int { return len(l.named) }

// Has says whether a replica is on the list.
func (l *List) Has(r Replica) bool { return l.named[r] != nil }

// Set notes that a replica may lack what it has promised in a leader epoch up to since. It reports whether that is news.
func (l *List) Set(r Replica, since wire.LeaderEpoch) (news bool) {
	e := l.named[r]
	switch {
	case e == nil:
		e = &entry{Replica: r}
		l.named[r], l.order = e, append(l.order, e)
	case e.since == since:
		return false
	}
	e.since, e.told = since, false
	return true
}

// BeginAnew notes that nothing is left of a replica: its log is made anew, empty.
func (l *List) BeginAnew(r Replica) {
	l.Set(r, wire.NoLeaderEpoch)
	e := l.named[r]
	e.begun, e.told = true, false
}

// Leads notes that a replica leads. One that was begun anew has what its partition has from then on: it was elected uncleanly. It reports whether that
// is news.
func (l *List) Leads(r Replica) (news bool) {
	e := l.named[r]
	if e == nil || !e.begun {
		return false
	}
	e.begun, e.told = false, false
	return true
}

// Remove takes a replica off the list: nobody counts on what it had any more. It reports whether that is news.
func (l *List) Remove(r Replica) (news bool) {
	e := l.named[r]
	if e == nil {
		return false
	}
	e.removed = true
	delete(l.named, r)
	if len(l.order) > 2*len(l.named)+64 {
		l.compact()
	}
	return true
}

func (l *List) compact() {
	l.order = slices.DeleteFunc(l.order, func(e *entry) bool { return e.removed })
}

// Tell gives what the next heartbeat names: those first of which the controller has not been told, then those of which it was told longest
// ago. all says that it has been told of each when it answers.
func (l *List) Tell() (some []controller.LackingReplica, all bool) {
	l.compact()
	untold := 0
	for _, told := range []bool{false, true} {
		for _, e := range l.order {
			if e.told != told {
				continue
			}
			if !told {
				untold++
			}
			if len(some) < l.max {
				some = append(some, controller.LackingReplica{Topic: e.Topic, Partition: e.Partition, Since: e.since, Gone: e.begun})
			}
		}
	}
	return some, untold <= l.max
}

// Told says that the controller has answered a heartbeat that named some.
func (l *List) Told(some []controller.LackingReplica) {
	named := make(map[*entry]bool, len(some))
	for _, k := range some {
		if e := l.named[Replica{k.Topic, k.Partition}]; e != nil && e.since == k.Since && e.begun == k.Gone {
			e.told, named[e] = true, true
		}
	}
	if len(l.order) > l.max {
		slices.SortStableFunc(l.order, func(a, b *entry) int { return rank(named[a]) - rank(named[b]) })
	}
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}
