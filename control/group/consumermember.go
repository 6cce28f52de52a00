package group

import (
	"bytes"
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
)

// memberState says how far a member is on the way to its target. The values are those of CurrentMemberAssignment records.
type memberState int8

const (
	memberStable     memberState = 0   // it has what the target of its epoch gave it
	memberUnrevoked  memberState = 1   // it was told to give partitions up and has not confirmed it
	memberUnreleased memberState = 2   // it waits for partitions that others still own
	memberUnknown    memberState = 127 // of a record that a newer Kafka wrote: the member has to join anew
)

// consumerMember is one member of a consumerGroup, also one that speaks the classic protocol.
type consumerMember struct {
	id string
	memberMetadata
	memberCurrent
	target    assignor.Assignment // what it shall own, by the group's targetEpoch
	hasTarget bool                // it has a record for that, as every member has after its first target

	session        timer
	rebalance      timer // consumer protocol: until it has revoked; classic: until it has joined again
	rebalanceEpoch int32 // the epoch that it had when rebalance was armed
	sync           timer // classic protocol: until it asks for its assignment
	countedBytes   int64 // its part of Coordinator.memoryBytes
}

// memberMetadata is what a member says of itself: the record with key 5.
type memberMetadata struct {
	instanceID, rackID *string
	client             Client
	rebalanceTimeoutMS int32
	topics             []string     // subscribed by name, in order, each once
	regex              string       // subscribed by regular expression; "" if not
	assignor           *string      // server assignor that it asks for
	classic            *classicSide // of a member that speaks the classic protocol; nil of others
}

// classicSide is what only a member of the classic protocol has.
type classicSide struct {
	sessionTimeoutMS int32
	protocols        []protocol // in its order of preference; at least one
}

// memberCurrent is where a member stands: the record with key 8.
type memberCurrent struct {
	epoch         int32 // memberLeftForAWhile of a static member that will be back
	previousEpoch int32 // accepted too, as the answer with the new one may have been lost
	state         memberState
	assigned      assignor.Assignment // what it may use
	revoking      assignor.Assignment // what it has to give up, and owns until it says that it did
}

// Epochs that heartbeats carry instead of one.
const (
	memberJoins         = 0
	memberLeaves        = -1
	memberLeftForAWhile = -2 // a static member
)

func newConsumerMember(id string, g *group) *consumerMember {
	m := &consumerMember{id: id, memberCurrent: memberCurrent{previousEpoch: -1, state: memberStable}}
	m.rebalanceTimeoutMS = -1
	m.session = timer{position: -1, kind: timerConsumerSession, group: g, consumer: m}
	m.rebalance = timer{position: -1, kind: timerConsumerRebalance, group: g, consumer: m}
	m.sync = timer{position: -1, kind: timerConsumerSync, group: g, consumer: m}
	return m
}

func (a *memberMetadata) equal(b *memberMetadata) bool {
	return sameText(a.instanceID, b.instanceID) && sameText(a.rackID, b.rackID) && a.client == b.client &&
		a.rebalanceTimeoutMS == b.rebalanceTimeoutMS && slices.Equal(a.topics, b.topics) && a.regex == b.regex &&
		sameText(a.assignor, b.assignor) && a.classic.equal(b.classic)
}

func (a *classicSide) equal(b *classicSide) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.sessionTimeoutMS == b.sessionTimeoutMS && slices.EqualFunc(a.protocols, b.protocols, func(p, q protocol) bool {
		return p.name == q.name && bytes.Equal(p.metadata, q.metadata)
	})
}

func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (a *memberCurrent) equal(b *memberCurrent) bool {
	return a.epoch == b.epoch && a.previousEpoch == b.previousEpoch && a.state == b.state &&
		a.assigned.Equal(b.assigned) && a.revoking.Equal(b.revoking)
}

// isReconciledTo reports whether the member has what it shall have at epoch.
func (m *consumerMember) isReconciledTo(epoch int32) bool {
	return m.state == memberStable && m.epoch == epoch
}

// consumerMemberOverheadBytes is what a member costs beside its strings and partitions: the struct with its timers, its
// places in maps and the timer heap.
const consumerMemberOverheadBytes = 1024

// partitionOverheadBytes is what a partition of a member costs: in assigned and target, and its entry in owners.
const partitionOverheadBytes = 64

// size is what the member takes, in bytes, for Config.MemoryBytes.
func (m *consumerMember) size() int64 {
	n := int64(consumerMemberOverheadBytes + len(m.id) + len(m.client.ID) + len(m.client.Host) + len(m.regex))
	n += textBytes(m.instanceID) + textBytes(m.rackID) + textBytes(m.assignor)
	for _, name := range m.topics {
		n += int64(16 + len(name))
	}
	if m.classic != nil {
		for i := range m.classic.protocols {
			n += int64(protocolOverheadBytes + len(m.classic.protocols[i].name) + len(m.classic.protocols[i].metadata))
		}
	}
	return n + partitionOverheadBytes*int64(m.assigned.Count()+m.revoking.Count())
}

func textBytes(s *string) int64 {
	if s == nil {
		return 0
	}
	return int64(len(*s))
}
