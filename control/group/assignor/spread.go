package assignor

import (
	"cmp"
	"container/heap"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// balanceRoundsMax bounds the rounds of balance. Where the subscribers of each topic read the same topics one round
// suffices; where subscriptions overlap a round about halves what is uneven, so that 16 level 65,536 partitions. It is
// Kafka's bound too.
const balanceRoundsMax = 16

// spread gives the free partitions away, topic by topic, each to the subscriber that has the fewest.
func (t *table) spread() {
	free := map[wire.TopicID][]int32{}
	for _, p := range t.free() {
		free[p.topic] = append(free[p.topic], p.partition)
	}
	for _, topic := range t.hardestFirst() {
		if len(free[topic]) == 0 {
			continue
		}
		fewest := t.newLoads(topic, false)
		for _, partition := range free[topic] {
			t.give(topic, partition, fewest.entries[0].member)
			fewest.bump(1)
		}
	}
}

// hardestFirst orders topics by how little choice they leave: many partitions for each subscriber first, then few
// subscribers, then by id.
func (t *table) hardestFirst() []wire.TopicID {
	topics := slices.Clone(t.topics)
	slices.SortFunc(topics, func(a, b wire.TopicID) int {
		m, n := len(t.subscribers[a]), len(t.subscribers[b])
		return cmp.Or(
			cmp.Compare(float64(len(t.owners[b]))/float64(n), float64(len(t.owners[a]))/float64(m)),
			cmp.Compare(m, n),
			CompareTopics(a, b))
	})
	return topics
}

// balance moves partitions from subscribers with many to those with few, until a round over all topics moved none.
func (t *table) balance() {
	topics := slices.DeleteFunc(t.hardestFirst(), func(id wire.TopicID) bool { return len(t.subscribers[id]) < 2 })
	for range balanceRoundsMax {
		moved := false
		for _, topic := range topics {
			moved = t.balanceTopic(topic) || moved
		}
		if !moved {
			return
		}
	}
}

// balanceTopic levels the counts of one topic's subscribers as far as its partitions reach. Nobody both gives and takes:
// who gave still has at least as many as who took.
func (t *table) balanceTopic(topic wire.TopicID) (moved bool) {
	fewest, most := t.newLoads(topic, false), t.newLoads(topic, true)
	owned := map[int][]int32{}
	for p, owner := range t.owners[topic] {
		owned[int(owner)] = append(owned[int(owner)], int32(p))
	}
	for len(most.entries) > 0 && most.entries[0].count-fewest.entries[0].count > 1 {
		giver := most.entries[0].member
		n := len(owned[giver])
		if n == 0 {
			heap.Pop(most)
			continue
		}
		t.give(topic, owned[giver][n-1], fewest.entries[0].member)
		owned[giver] = owned[giver][:n-1]
		most.bump(-1)
		fewest.bump(1)
		moved = true
	}
	return moved
}

// load is a member with its count of partitions. rank breaks ties: the order in which the topic's subscribers stood.
type load struct{ member, count, rank int }

// loads is a heap of one topic's subscribers, those with the fewest partitions, or with the most, on top.
type loads struct {
	entries []load
	most    bool
}

func (t *table) newLoads(topic wire.TopicID, most bool) *loads {
	entries := make([]load, len(t.subscribers[topic]))
	for i, member := range t.subscribers[topic] {
		entries[i] = load{member: member, count: t.counts[member]}
	}
	slices.SortStableFunc(entries, func(a, b load) int { return cmp.Compare(a.count, b.count) })
	for i := range entries {
		entries[i].rank = i
	}
	l := &loads{entries: entries, most: most}
	heap.Init(l)
	return l
}

// bump changes the count of the member on top.
func (l *loads) bump(delta int) {
	l.entries[0].count += delta
	heap.Fix(l, 0)
}

func (l *loads) Len() int { return len(l.entries) }

func (l *loads) Less(i, j int) bool {
	a, b := &l.entries[i], &l.entries[j]
	if l.most {
		a, b = b, a
	}
	return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.rank, b.rank)) < 0
}

func (l *loads) Swap(i, j int) { l.entries[i], l.entries[j] = l.entries[j], l.entries[i] }

func (l *loads) Push(x any) { l.entries = append(l.entries, x.(load)) }

func (l *loads) Pop() any {
	last := l.entries[len(l.entries)-1]
	l.entries = l.entries[:len(l.entries)-1]
	return last
}
