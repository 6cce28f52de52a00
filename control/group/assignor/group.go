package assignor

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// Names of the assignors, as group.consumer.assignors and heartbeats carry them.
const (
	UniformName = "uniform"
	RangeName   = "range"
	SimpleName  = "simple" // of share groups alone
)

// Group is what an assignment is computed from. It is not changed.
type Group struct {
	Members []Member // in the order of their ids
	// Partitions counts the partitions of a topic that a member subscribes to.
	Partitions func(topic wire.TopicID) int32

	// Simple alone looks at these. Name is a topic's name; Assignable says which partitions may be given out.
	Name       func(topic wire.TopicID) string
	Assignable func(topic wire.TopicID, partition int32) bool
}

// Member is one member of a Group.
type Member struct {
	ID         string
	InstanceID *string        // of a static member (KIP-345)
	Topics     []wire.TopicID // topics that it subscribes to and that exist, in rising order
	Assigned   Assignment     // what it was to own so far
}

// Func computes the assignments, one for each member, in the members' order.
type Func func(*Group) []Assignment

// ByName gives the assignor of that name; nil if there is none.
func ByName(name string) Func {
	switch name {
	case UniformName:
		return Uniform
	case RangeName:
		return Range
	}
	return nil
}

// isHomogeneous reports whether all members subscribe to the same topics.
func (g *Group) isHomogeneous() bool {
	for i := range g.Members {
		if !slices.Equal(g.Members[i].Topics, g.Members[0].Topics) {
			return false
		}
	}
	return true
}

// subscribes reports whether the member reads the topic.
func (m *Member) subscribes(topic wire.TopicID) bool {
	_, found := slices.BinarySearchFunc(m.Topics, topic, CompareTopics)
	return found
}

// subscribers gives, for each topic, the members that read it, in their order; and the topics in rising order.
func (g *Group) subscribers() (members map[wire.TopicID][]int, topics []wire.TopicID) {
	members = map[wire.TopicID][]int{}
	for i := range g.Members {
		for _, topic := range g.Members[i].Topics {
			if members[topic] == nil {
				topics = append(topics, topic)
			}
			members[topic] = append(members[topic], i)
		}
	}
	slices.SortFunc(topics, CompareTopics)
	return members, topics
}
