package assignor

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// Uniform gives all members as nearly as many partitions as subscriptions allow, and moves no partition without need.
func Uniform(g *Group) []Assignment {
	if len(g.Members) == 0 {
		return nil
	}
	t := newTable(g)
	if g.isHomogeneous() {
		t.levelToQuota()
	} else {
		t.spread()
		t.balance()
	}
	return t.assignments()
}

// nobody owns a partition that is free.
const nobody = -1

// table holds an assignment while it is worked on: who owns each partition, and how many each member has.
type table struct {
	group       *Group
	subscribers map[wire.TopicID][]int
	topics      []wire.TopicID           // that somebody reads, in rising order
	owners      map[wire.TopicID][]int32 // by partition: a member's index, or nobody
	counts      []int                    // partitions of each member
}

// newTable begins with what the members were to own, as far as they still read it.
func newTable(g *Group) *table {
	t := &table{group: g, counts: make([]int, len(g.Members))}
	t.subscribers, t.topics = g.subscribers()
	t.owners = make(map[wire.TopicID][]int32, len(t.topics))
	for _, topic := range t.topics {
		owners := make([]int32, g.Partitions(topic))
		for i := range owners {
			owners[i] = nobody
		}
		t.owners[topic] = owners
	}
	for i := range g.Members {
		t.keep(i)
	}
	return t
}

func (t *table) keep(member int) {
	m := &t.group.Members[member]
	for _, assigned := range m.Assigned {
		if !m.subscribes(assigned.Topic) {
			continue
		}
		owners := t.owners[assigned.Topic]
		for _, p := range assigned.Partitions {
			if int(p) < len(owners) && owners[p] == nobody {
				t.give(assigned.Topic, p, member)
			}
		}
	}
}

func (t *table) give(topic wire.TopicID, partition int32, member int) {
	if old := t.owners[topic][partition]; old != nobody {
		t.counts[old]--
	}
	t.owners[topic][partition] = int32(member)
	t.counts[member]++
}

func (t *table) assignments() []Assignment {
	out := make([]Assignment, len(t.group.Members))
	for _, topic := range t.topics {
		for p, owner := range t.owners[topic] {
			if owner == nobody {
				panic("BUG: invariant A1: a partition was left over")
			}
			a := &out[owner]
			if n := len(*a); n == 0 || (*a)[n-1].Topic != topic {
				*a = append(*a, TopicPartitions{Topic: topic})
			}
			last := &(*a)[len(*a)-1]
			last.Partitions = append(last.Partitions, int32(p))
		}
	}
	return out
}

// place is one partition.
type place struct {
	topic     wire.TopicID
	partition int32
}

func (t *table) free() []place {
	var out []place
	for _, topic := range t.topics {
		for p, owner := range t.owners[topic] {
			if owner == nobody {
				out = append(out, place{topic, int32(p)})
			}
		}
	}
	return out
}

// levelToQuota serves a group whose members all read the same topics: each has a quota, and what is over it goes to those
// who are below.
func (t *table) levelToQuota() {
	total := 0
	for _, topic := range t.topics {
		total += len(t.owners[topic])
	}
	quotas := t.quotas(total)
	free := append(t.free(), t.over(quotas)...)
	for member := range quotas {
		for ; t.counts[member] < quotas[member]; free = free[1:] {
			t.give(free[0].topic, free[0].partition, member)
		}
	}
}

// quotas divides the partitions among the members. Those who have more than the others keep one more, in their order; if
// they are not enough, the last members get one more.
func (t *table) quotas(total int) []int {
	members := len(t.counts)
	quotas := make([]int, members)
	each, longer := total/members, total%members
	for i := range quotas {
		quotas[i] = each
		if longer > 0 && (t.counts[i] > each || members-i <= longer) {
			quotas[i]++
			longer--
		}
	}
	return quotas
}

// over lists what members have beyond their quotas, the first of each member's partitions left out.
func (t *table) over(quotas []int) []place {
	lists := make([][]place, len(quotas))
	seen := make([]int, len(quotas))
	for _, topic := range t.topics {
		for p, owner := range t.owners[topic] {
			if owner == nobody {
				continue
			}
			if seen[owner]++; seen[owner] > quotas[owner] {
				lists[owner] = append(lists[owner], place{topic, int32(p)})
			}
		}
	}
	return slices.Concat(lists...)
}
