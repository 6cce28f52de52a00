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
	t := Target{Removing: sorted(minus(s.Replicas, replicas)), Adding: sorted(minus(replicas, s.Replicas))}
	t.Replicas = slices.Concat(replicas, t.Removing)
	return t
}

// Revert gives replicas and ISR of a partition whose reassignment is cancelled: what was added goes
// (PartitionReassignmentRevert). unclean: nobody of the original replicas is in sync, and the first of them would have to lead
// without all that was acknowledged.
func Revert(s *image.PartitionState) (replicas, isr []wire.NodeID, unclean bool) {
	replicas, isr = minus(s.Replicas, s.Adding), minus(s.ISR, s.Adding)
	if len(isr) > 0 || len(replicas) == 0 {
		return replicas, isr, false
	}
	return replicas, replicas[:1:1], true
}

func sorted(ids []wire.NodeID) []wire.NodeID {
	slices.Sort(ids)
	return ids
}

// minus gives ids without those of others, in a list of its own.
func minus(ids, others []wire.NodeID) []wire.NodeID {
	return slices.DeleteFunc(slices.Clone(ids), func(n wire.NodeID) bool { return slices.Contains(others, n) })
}
