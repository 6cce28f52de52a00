package elect

import "github.com/ringmill/ringmill/wire"

// completeReassignment ends a reassignment whose replicas are all in sync: those to be removed leave
// (PartitionReassignmentReplicas.maybeCompleteReassignment).
func (c *Change) completeReassignment() {
	if len(c.Adding) == 0 && len(c.Removing) == 0 {
		return
	}
	isr, replicas := wire.WithoutNodes(c.ISR, c.Removing...), wire.WithoutNodes(c.Replicas, c.Removing...)
	if len(isr) == 0 || len(replicas) == 0 || !containsAll(isr, replicas) {
		return
	}
	c.ISR, c.Replicas, c.Adding, c.Removing = isr, replicas, nil, nil
}
