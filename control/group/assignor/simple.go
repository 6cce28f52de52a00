package assignor

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// spot is one partition.
type spot struct {
	topic     wire.TopicID
	partition int32
}

// Simple is Kafka's SimpleAssignor of share groups (KIP-932). Each member gets the partition that its id hashes to, so that
// a partition may have several members; what members had and nobody hashes to stays, as long as they have not too many;
// the rest goes round. With members that read different topics, the rest goes round among those that read them.
func Simple(g *Group) []Assignment {
	if len(g.Members) == 0 {
		return nil
	}
	s := newSimple(g)
	if g.isHomogeneous() {
		s.assignEqually()
	} else {
		s.assignBySubscription()
	}
	out := make([]Assignment, len(g.Members))
	for i := range g.Members {
		out[i] = normalOf(s.given[i])
	}
	return out
}

// simple is one assignment on its way.
type simple struct {
	g     *Group
	order []int // of members, as Kafka's tables have them
	given []map[spot]struct{}
	taken map[spot]struct{} // what somebody was given
}

func newSimple(g *Group) *simple {
	ids, index := make([]string, len(g.Members)), make(map[string]int, len(g.Members))
	for i := range g.Members {
		ids[i], index[g.Members[i].ID] = g.Members[i].ID, i
	}
	sortAsHashMap(ids)
	s := &simple{g: g, given: make([]map[spot]struct{}, len(ids)), taken: map[spot]struct{}{}}
	for _, id := range ids {
		s.order = append(s.order, index[id])
		s.given[index[id]] = map[spot]struct{}{}
	}
	return s
}

func (s *simple) give(member int, p spot) {
	s.given[member][p] = struct{}{}
	s.taken[p] = struct{}{}
}

// targets are the partitions that may be given out of the topics, which the order of their names rules.
func (s *simple) targets(topics []wire.TopicID) []spot {
	names, byName := make([]string, len(topics)), make(map[string]wire.TopicID, len(topics))
	for i, topic := range topics {
		names[i] = s.g.Name(topic)
		byName[names[i]] = topic
	}
	sortAsHashMap(names)
	var out []spot
	for _, name := range names {
		topic := byName[name]
		for p := range s.g.Partitions(topic) {
			if s.g.Assignable(topic, p) {
				out = append(out, spot{topic, p})
			}
		}
	}
	return out
}

// hash gives a member the one of targets that its id leads to.
func (s *simple) hash(member int, targets []spot) {
	if len(targets) == 0 {
		return
	}
	at := JavaHash(s.g.Members[member].ID) % int32(len(targets))
	if at < 0 {
		at = -at
	}
	s.give(member, targets[at])
}

// assignEqually: all members read the same.
func (s *simple) assignEqually() {
	targets := s.targets(s.g.Members[0].Topics)
	for _, m := range s.order {
		s.hash(m, targets)
	}
	fair := (len(targets) + len(s.order) - 1) / len(s.order)
	s.keep(targets, func(m int) bool { return len(s.given[m]) < fair })
	s.goRound(s.free(targets), fair)
}

// keep leaves what nobody hashed to with the members that had it, as long as there is room.
func (s *simple) keep(targets []spot, room func(member int) bool) {
	hashed := make(map[spot]struct{}, len(s.taken))
	for p := range s.taken {
		hashed[p] = struct{}{}
	}
	for _, p := range targets {
		if _, is := hashed[p]; is {
			continue
		}
		for _, m := range s.order {
			if s.had(m, p) && room(m) {
				s.give(m, p)
			}
		}
	}
}

func (s *simple) had(member int, p spot) bool {
	m := &s.g.Members[member]
	return m.Assigned.Has(p.topic, p.partition) && m.subscribes(p.topic)
}

func (s *simple) free(targets []spot) (out []spot) {
	for _, p := range targets {
		if _, is := s.taken[p]; !is {
			out = append(out, p)
		}
	}
	return out
}

// goRound deals partitions out in turn, to members that have at most fair of them.
func (s *simple) goRound(free []spot, fair int) {
	turn, at := slices.Clone(s.order), 0
	for len(free) > 0 {
		if at >= len(turn) {
			at = 0
		}
		if len(turn) == 0 { // members that share what they have kept leave too little room
			turn, fair = slices.Clone(s.order), fair+1
		}
		if m := turn[at]; len(s.given[m]) <= fair {
			s.give(m, free[0])
			free, at = free[1:], at+1
		} else {
			turn = slices.Delete(turn, at, at+1)
		}
	}
}

// assignBySubscription: members read different topics.
func (s *simple) assignBySubscription() {
	subscribers := map[wire.TopicID][]int{}
	var targets []spot
	for _, m := range s.order {
		own := s.targets(s.g.Members[m].Topics)
		s.hash(m, own)
		for _, topic := range s.g.Members[m].Topics {
			if subscribers[topic] == nil {
				targets = append(targets, s.targets([]wire.TopicID{topic})...)
			}
			subscribers[topic] = append(subscribers[topic], m)
		}
	}
	s.keep(targets, func(int) bool { return true })
	turns := map[wire.TopicID]int{}
	for _, p := range s.free(targets) {
		readers := subscribers[p.topic]
		s.give(readers[turns[p.topic]%len(readers)], p)
		turns[p.topic]++
	}
}

func normalOf(places map[spot]struct{}) Assignment {
	lists := make([]TopicPartitions, 0, len(places))
	for p := range places {
		lists = append(lists, TopicPartitions{p.topic, []int32{p.partition}})
	}
	return Normal(lists)
}
