package group

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// countVotes adds delta to the count of each protocol that m lists. A name that m lists twice counts once.
func (g *group) countVotes(m *member, delta int) {
	for i := range m.protocols {
		name := m.protocols[i].name
		if listedBefore(m.protocols[:i], name) {
			continue
		}
		if n := g.votes[name] + delta; n == 0 {
			delete(g.votes, name)
		} else {
			g.votes[name] = n
		}
	}
}

func listedBefore(protocols []protocol, name string) bool {
	for i := range protocols {
		if protocols[i].name == name {
			return true
		}
	}
	return false
}

// supportsProtocols reports whether a member with these protocols can be in the group: in an empty group any non-empty
// list will do, in another one the type has to be the group's, and one protocol has to be on every member's list.
func (g *group) supportsProtocols(protocolType string, protocols []kmsg.JoinGroupRequestProtocol) bool {
	if g.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	if g.protocolType == "" || protocolType != g.protocolType {
		return false
	}
	for i := range protocols {
		if g.votes[protocols[i].Name] == len(g.members) {
			return true
		}
	}
	return false
}

// selectProtocol is the protocol that most members prefer among those that all of them list. Of two with equal votes the
// one that the oldest member lists first wins. (Kafka takes whichever its hash table yields.)
func (g *group) selectProtocol() string {
	oldest := g.first.protocols
	candidates := make([]string, 0, len(oldest))
	for i := range oldest {
		if g.votes[oldest[i].name] == len(g.members) && !listedBefore(oldest[:i], oldest[i].name) {
			candidates = append(candidates, oldest[i].name)
		}
	}
	switch len(candidates) {
	case 0:
		panic("BUG: group " + g.id + " has members without a common protocol")
	case 1:
		return candidates[0]
	}
	return candidates[mostVoted(g.countPreferences(candidates))]
}

// countPreferences counts, for each candidate, the members that list it before the others.
func (g *group) countPreferences(candidates []string) []int {
	index := make(map[string]int, len(candidates))
	for i, name := range candidates {
		index[name] = i
	}
	counts := make([]int, len(candidates))
	for m := g.first; m != nil; m = m.next {
		for i := range m.protocols {
			if at, ok := index[m.protocols[i].name]; ok {
				counts[at]++
				break
			}
		}
	}
	return counts
}

// mostVoted is the index of the largest count, the first of equals.
func mostVoted(counts []int) int {
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return best
}

// computeSubscribed reads the topics that a consumer group's members subscribe to from their metadata. They are not known
// (nil) if the group is of another type, or a member's metadata is not in the consumer protocol.
func (g *group) computeSubscribed() map[string]struct{} {
	if !g.isConsumer() {
		return nil
	}
	topics := map[string]struct{}{}
	if len(g.members) == 0 {
		return topics
	}
	if g.protocol == nil {
		return nil
	}
	for m := g.first; m != nil; m = m.next {
		if !addSubscribedTopics(topics, m.metadata(*g.protocol)) {
			return nil
		}
	}
	return topics
}

// addSubscribedTopics reads a ConsumerProtocolSubscription: int16 version, int32 count, then that many strings of int16
// length. What follows (user data, owned partitions, generation, rack) is of no interest here.
func addSubscribedTopics(topics map[string]struct{}, metadata []byte) bool {
	if len(metadata) < 6 || int16(binary.BigEndian.Uint16(metadata)) < 0 {
		return false
	}
	count := int32(binary.BigEndian.Uint32(metadata[2:]))
	rest := metadata[6:]
	if count < 0 || int64(count) > int64(len(rest))/2 {
		return false
	}
	for range count {
		if len(rest) < 2 {
			return false
		}
		n := int(int16(binary.BigEndian.Uint16(rest)))
		if n < 0 || n > len(rest)-2 {
			return false
		}
		if name := rest[2 : 2+n]; !contains(topics, name) {
			topics[string(name)] = struct{}{}
		}
		rest = rest[2+n:]
	}
	return true
}

func contains(topics map[string]struct{}, name []byte) bool {
	_, ok := topics[string(name)]
	return ok
}

// isSubscribed reports whether the members read the topic. A consumer group whose subscription is not known is taken to
// read every topic.
func (g *group) isSubscribed(topic string) bool {
	if g.consumer != nil {
		return g.consumer.isSubscribed(topic)
	}
	if g.subscribed == nil {
		return g.isConsumer()
	}
	_, ok := g.subscribed[topic]
	return ok
}
