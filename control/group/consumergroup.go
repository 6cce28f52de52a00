package group

import (
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
)

// consumerGroup is the membership of a group of the consumer protocol (KIP-848). The offsets committed under its name are
// the group's, whichever protocol it follows.
type consumerGroup struct {
	epoch        int32  // rises when members, subscriptions or topics change
	targetEpoch  int32  // the epoch that the members' targets were computed for
	metadataHash uint64 // of the topics that the group read when epoch last rose
	checked      bool   // metadataHash was compared with the topics of version checkedAt
	checkedAt    uint64

	members map[string]*consumerMember
	static  map[string]*consumerMember         // by instance id
	owners  map[topicPartition]*consumerMember // of all that is assigned or not yet revoked

	names            map[string]int // topic -> members that subscribe to it by name
	regexes          map[string]*regexSubscription
	assignors        map[string]int // server assignor -> members that ask for it
	classicMembers   int            // members that speak the classic protocol
	classicProtocols map[string]int // protocol -> classic members that list it
	stableAt         map[int32]int  // epoch -> members of that epoch that have all they shall have

	// oldMetadata: the log has a record with key 4, as Kafka wrote before 4.1; it gets a tombstone.
	oldMetadata bool
}

// topicPartition is one partition of a topic.
type topicPartition struct {
	topic     wire.TopicID
	partition int32
}

func newConsumerGroup() *consumerGroup {
	return &consumerGroup{
		members: map[string]*consumerMember{}, static: map[string]*consumerMember{},
		owners: map[topicPartition]*consumerMember{}, names: map[string]int{}, regexes: map[string]*regexSubscription{},
		assignors: map[string]int{}, classicProtocols: map[string]int{}, stableAt: map[int32]int{},
	}
}

// state is where the group stands, in the words of ListGroups.
func (cg *consumerGroup) state() State {
	switch {
	case len(cg.members) == 0:
		return Empty
	case cg.epoch > cg.targetEpoch:
		return Assigning
	case cg.stableAt[cg.targetEpoch] < len(cg.members):
		return Reconciling
	}
	return Stable
}

func (cg *consumerGroup) sortedMembers() []*consumerMember {
	out := make([]*consumerMember, 0, len(cg.members))
	for _, id := range sortedKeys(cg.members) {
		out = append(out, cg.members[id])
	}
	return out
}

// insert makes m a member with all that it holds.
func (cg *consumerGroup) insert(m *consumerMember) {
	cg.members[m.id] = m
	cg.count(m, 1)
	cg.claim(m)
}

// delete is the opposite of insert.
func (cg *consumerGroup) delete(m *consumerMember) {
	cg.release(m)
	cg.count(m, -1)
	delete(cg.members, m.id)
}

// count adds delta to all that is counted of what members say of themselves.
func (cg *consumerGroup) count(m *consumerMember, delta int) {
	for _, name := range m.topics {
		addTo(cg.names, name, delta)
	}
	if m.regex != "" {
		cg.countRegex(m.regex, delta)
	}
	if m.assignor != nil {
		addTo(cg.assignors, *m.assignor, delta)
	}
	if m.classic != nil {
		cg.classicMembers += delta
		for i, p := range m.classic.protocols {
			if !listedBefore(m.classic.protocols[:i], p.name) {
				addTo(cg.classicProtocols, p.name, delta)
			}
		}
	}
	switch {
	case m.instanceID == nil:
	case delta > 0:
		cg.static[*m.instanceID] = m
	case cg.static[*m.instanceID] == m:
		delete(cg.static, *m.instanceID)
	}
}

// addTo keeps a count that disappears at 0.
func addTo[K comparable](counts map[K]int, key K, delta int) {
	if counts[key] += delta; counts[key] == 0 {
		delete(counts, key)
	}
}

// claim makes m the owner of what it holds.
func (cg *consumerGroup) claim(m *consumerMember) {
	for _, held := range []assignor.Assignment{m.assigned, m.revoking} {
		for i := range held {
			for _, p := range held[i].Partitions {
				at := topicPartition{held[i].Topic, p}
				if cg.owners[at] != nil {
					panic("BUG: invariant M1: partition " + held[i].Topic.String() + " of " + m.id + " is owned by " + cg.owners[at].id)
				}
				cg.owners[at] = m
			}
		}
	}
	if m.state == memberStable {
		addTo(cg.stableAt, m.epoch, 1)
	}
}

// release is the opposite of claim.
func (cg *consumerGroup) release(m *consumerMember) {
	for _, held := range []assignor.Assignment{m.assigned, m.revoking} {
		for i := range held {
			for _, p := range held[i].Partitions {
				delete(cg.owners, topicPartition{held[i].Topic, p})
			}
		}
	}
	if m.state == memberStable {
		addTo(cg.stableAt, m.epoch, -1)
	}
}

// subscribedTopics are the topics that members read, by name or by a regular expression, in order.
func (cg *consumerGroup) subscribedTopics() []string {
	names := make([]string, 0, len(cg.names))
	for name := range cg.names {
		names = append(names, name)
	}
	for _, r := range cg.regexes {
		names = append(names, r.topics...)
	}
	return sortedSet(names)
}

func (cg *consumerGroup) isSubscribed(topic string) bool {
	if cg.names[topic] > 0 {
		return true
	}
	for _, r := range cg.regexes {
		if _, found := slices.BinarySearch(r.topics, topic); found {
			return true
		}
	}
	return false
}

// preferredAssignor is the one that most members ask for, the first by name of equals; nil if none asks.
func (cg *consumerGroup) preferredAssignor() *string {
	var best *string
	for _, name := range sortedKeys(cg.assignors) {
		if best == nil || cg.assignors[name] > cg.assignors[*best] {
			best = &name
		}
	}
	return best
}
