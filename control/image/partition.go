package image

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// PartitionState says which nodes hold a partition and who leads it (Kafka's PartitionRegistration). It is never changed once
// it is published, its slices neither; Images share it.
type PartitionState struct {
	Replicas []wire.NodeID // in order of preference, the preferred leader first
	ISR      []wire.NodeID // the in-sync set: a subset of Replicas
	// ELR are the eligible leader replicas (KIP-966): out of the in-sync set, but known to hold all that was acknowledged. None
	// of them is in ISR.
	ELR []wire.NodeID
	// LastKnownELR is who was eligible before ISR and ELR became empty, for an operator to choose from.
	LastKnownELR []wire.NodeID
	Adding       []wire.NodeID // replicas that a reassignment (KIP-455) adds: a subset of Replicas
	Removing     []wire.NodeID // replicas that it takes away when it completes: a subset of Replicas
	Leader       wire.NodeID   // wire.NoNode: none
	LeaderEpoch  wire.LeaderEpoch
	// PartitionEpoch rises with each change of the state (KIP-497).
	PartitionEpoch wire.PartitionEpoch
	// Recovering: the leader was elected uncleanly and has not yet put its log in order (KIP-704).
	Recovering bool
}

// Reassigning reports whether a reassignment is under way (Kafka's PartitionReassignmentReplicas).
func (s *PartitionState) Reassigning() bool { return len(s.Adding) > 0 || len(s.Removing) > 0 }

// HasReplica reports whether the node holds a replica, or is to.
func (s *PartitionState) HasReplica(id wire.NodeID) bool { return slices.Contains(s.Replicas, id) }

// InSync reports whether the node is in the in-sync set.
func (s *PartitionState) InSync(id wire.NodeID) bool { return slices.Contains(s.ISR, id) }

// Counted reports whether the node is in the ISR or the ELR: it is taken to have all that was acknowledged.
func (s *PartitionState) Counted(id wire.NodeID) bool {
	return s.InSync(id) || slices.Contains(s.ELR, id)
}

// PartitionRecord replaces the state of one partition, whole. The epochs must not fall, the partition epoch must rise, and a new
// leader comes with a higher leader epoch. The Image keeps the record's slices: nobody may change them afterwards.
type PartitionRecord struct {
	Topic     wire.TopicID
	Partition wire.PartitionIndex
	State     PartitionState
}

// partitionData is a PartitionRecord as it stands in the file, in the words of Kafka's.
type partitionData struct {
	Topic          wire.TopicID        `json:"topicId"`
	Partition      wire.PartitionIndex `json:"partitionId"`
	Replicas       []wire.NodeID       `json:"replicas"`
	ISR            []wire.NodeID       `json:"isr,omitempty"`
	ELR            []wire.NodeID       `json:"eligibleLeaderReplicas,omitempty"`
	LastKnownELR   []wire.NodeID       `json:"lastKnownElr,omitempty"`
	Adding         []wire.NodeID       `json:"addingReplicas,omitempty"`
	Removing       []wire.NodeID       `json:"removingReplicas,omitempty"`
	Leader         wire.NodeID         `json:"leader"`
	LeaderEpoch    wire.LeaderEpoch    `json:"leaderEpoch"`
	PartitionEpoch wire.PartitionEpoch `json:"partitionEpoch"`
	Recovering     bool                `json:"leaderRecovering,omitempty"`
}

// MarshalJSON writes the state's fields beside the record's own.
func (r PartitionRecord) MarshalJSON() ([]byte, error) {
	s := &r.State
	return json.Marshal(partitionData{r.Topic, r.Partition, s.Replicas, s.ISR, s.ELR, s.LastKnownELR, s.Adding, s.Removing,
		s.Leader, s.LeaderEpoch, s.PartitionEpoch, s.Recovering})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *PartitionRecord) UnmarshalJSON(text []byte) error {
	var d partitionData
	if err := unmarshalStrict(text, &d); err != nil {
		return err
	}
	*r = PartitionRecord{d.Topic, d.Partition, PartitionState{d.Replicas, d.ISR, d.ELR, d.LastKnownELR, d.Adding, d.Removing,
		d.Leader, d.LeaderEpoch, d.PartitionEpoch, d.Recovering}.withoutEmpty()}
	return nil
}

// withoutEmpty gives the state with nil in place of empty lists, so that equal states are deeply equal.
func (s PartitionState) withoutEmpty() PartitionState {
	for _, list := range []*[]wire.NodeID{&s.Replicas, &s.ISR, &s.ELR, &s.LastKnownELR, &s.Adding, &s.Removing} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	return s
}

// The reasons of a *RecordError of a PartitionRecord.
var (
	ErrNoPartition         = errors.New("the topic has no such partition")
	ErrReplicas            = errors.New("a partition has replicas, no node twice among them, and no negative id")
	ErrISR                 = errors.New("the in-sync set is not a subset of the replicas")
	ErrELR                 = errors.New("an eligible leader replica is no replica, or in the in-sync set")
	ErrReassignment        = errors.New("an adding or removing replica is no replica")
	ErrLeader              = errors.New("the leader is not in the in-sync set")
	ErrPartitionEpochFalls = errors.New("the partition epoch does not rise")
	ErrLeaderEpochStays    = errors.New("the leader epoch falls, or the leader changes without a higher one")
)

// State gives the state of a partition; nil if no record says one, as in the image of a standalone node.
func (t *Topic) State(i wire.PartitionIndex) *PartitionState { return t.states.get(i) }

// States yields the partitions that have a state, in order.
func (t *Topic) States() iter.Seq2[wire.PartitionIndex, *PartitionState] {
	return func(yield func(wire.PartitionIndex, *PartitionState) bool) {
		for at, chunk := range t.states {
			for i, s := range chunk {
				if s != nil && !yield(wire.PartitionIndex(at*stateChunk+i), s) {
					return
				}
			}
		}
	}
}

// setPartition replaces one partition's state. Of a topic that the edit owns already nothing is copied.
func (e *editor) setPartition(r PartitionRecord) error {
	t, ok := e.ids.get(idShard(r.Topic), r.Topic)
	if !ok {
		return ErrNoTopic
	}
	if r.Partition < 0 || int32(r.Partition) >= t.Partitions {
		return ErrNoPartition
	}
	state := r.State.withoutEmpty()
	if err := state.check(); err != nil {
		return err
	}
	if err := state.checkFollows(t.State(r.Partition)); err != nil {
		return err
	}
	e.ownStates(t).set(r.Partition, &state)
	return nil
}

// check judges a state by itself.
func (s *PartitionState) check() error {
	switch {
	case len(s.Replicas) == 0 || !distinct(s.Replicas):
		return ErrReplicas
	case !distinct(s.ISR) || !subset(s.ISR, s.Replicas):
		return ErrISR
	case !distinct(s.ELR) || !subset(s.ELR, s.Replicas) || slices.ContainsFunc(s.ELR, s.InSync):
		return ErrELR
	case !distinct(s.Adding) || !subset(s.Adding, s.Replicas) || !distinct(s.Removing) || !subset(s.Removing, s.Replicas):
		return ErrReassignment
	case s.Leader != wire.NoNode && !s.InSync(s.Leader):
		return ErrLeader
	case s.PartitionEpoch < 0:
		return ErrPartitionEpochFalls
	case s.LeaderEpoch < 0:
		return ErrLeaderEpochStays
	}
	return nil
}

// checkFollows judges a state beside the one before it, nil for none.
func (s *PartitionState) checkFollows(before *PartitionState) error {
	switch {
	case before == nil:
		return nil
	case s.PartitionEpoch <= before.PartitionEpoch:
		return ErrPartitionEpochFalls
	case s.LeaderEpoch < before.LeaderEpoch || s.LeaderEpoch == before.LeaderEpoch && s.Leader != before.Leader:
		return ErrLeaderEpochStays
	}
	return nil
}

// distinct reports whether no node stands twice in ids, and all are nodes. Lists have a handful of nodes.
func distinct(ids []wire.NodeID) bool {
	for i, id := range ids {
		if id < 0 || slices.Contains(ids[:i], id) {
			return false
		}
	}
	return true
}

func subset(ids, of []wire.NodeID) bool {
	return !slices.ContainsFunc(ids, func(id wire.NodeID) bool { return !slices.Contains(of, id) })
}
