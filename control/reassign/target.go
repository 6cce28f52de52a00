package reassign

import (
	"slices"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// Target is what a partition's lists become when it is to have other replicas.
type Target struct {
	Replicas, Adding, Removing []wire.NodeID
}

// TargetOf gives the lists under which a partition moves to replicas: those first, then the ones that go
// (PartitionReassignmentReplicas). A reassignment under way is replaced.
func TargetOf(s *image.PartitionState, replicas []wire.NodeID) Target {
	t := Target{Removing: sorted(wire.WithoutNodes(s.Replicas, replicas...)), Adding: sorted(wire.WithoutNodes(replicas, s.Replicas...))}
	t.Replicas = slices.Concat(replicas, t.Removing)
	return t
}

// Revert gives replicas and ISR of a partition whose reassignment is cancelled: what was added goes
// (PartitionReassignmentRevert). unclean: nobody of the original replicas is in sync, one would have to lead without all that was
// acknowledged. Kafka takes the first of them then; here the ISR is empty, and it is an election's business who can.
func Revert(s *image.PartitionState) (replicas, isr []wire.NodeID, unclean bool) {
	replicas, isr = wire.WithoutNodes(s.Replicas, s.Adding...), wire.WithoutNodes(s.ISR, s.Adding...)
	return replicas, isr, len(isr) == 0 && len(s.ISR) > 0
}

func sorted(ids []wire.NodeID) []wire.NodeID {
	slices.Sort(ids)
	return ids
}
