package elect

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// completeReassignment ends a reassignment whose replicas are all in sync: those to be removed leave
// (PartitionReassignmentReplicas.maybeCompleteReassignment).
func (c *Change) completeReassignment() {
	if len(c.Adding) == 0 && len(c.Removing) == 0 {
		return
	}
	isr, replicas := minus(c.ISR, c.Removing), minus(c.Replicas, c.Removing)
	if len(isr) == 0 || len(replicas) == 0 || !containsAll(isr, replicas) {
		return
	}
	c.ISR, c.Replicas, c.Adding, c.Removing = isr, replicas, nil, nil
}

// minus gives ids without those of others, in a list of its own.
func minus(ids, others []wire.NodeID) []wire.NodeID {
	return slices.DeleteFunc(slices.Clone(ids), func(n wire.NodeID) bool { return slices.Contains(others, n) })
}
