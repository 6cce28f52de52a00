package controller

import (
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/reassign"
	"github.com/ringmill/ringmill/wire"
)

// Move is one partition that a balance gives other replicas, or another order of them: a preferred leader that has it already.
type Move struct {
	Topic     string
	Partition wire.PartitionIndex
	From, To  []wire.NodeID // the preferred leader first
}

// PlanBalance says which moves bring the cluster into balance (reassign.Balance), in the order of names; none if it is. Nodes that are
// draining or on their way out are given nothing, and what is being reassigned stays. An AlterPartitionReassignments of the moves carries
// the plan out, and an election of preferred leaders its leaders. It takes a while where there are many partitions (a tenth of a second for 100,000 in balance), and
// may run anywhere: an Image does not change.
func PlanBalance(m *image.Image) (plan []Move) {
	var partitions []partition
	var placed []reassign.Placed
	for t := range m.Topics() {
		for i, state := range t.States() {
			partitions = append(partitions, partition{t, i, state})
			placed = append(placed, reassign.Placed{Replicas: reassign.Target{Replicas: state.Replicas, Removing: state.Removing}.End(), Fixed: state.Reassigning()})
		}
	}
	for _, moved := range reassign.Balance(placeable(m), placed) {
		p := partitions[moved.Partition]
		plan = append(plan, Move{Topic: p.topic.Name, Partition: p.index, From: p.state.Replicas, To: moved.Replicas})
	}
	return plan
}
