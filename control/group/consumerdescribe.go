package group

import (
	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerType is how ListGroups names groups of the consumer protocol.
const consumerType = "consumer"

// consumerGroupDescribe takes a ConsumerGroupDescribe of version 0 to 1.
func (c *Coordinator) consumerGroupDescribe(h Handle, req *kmsg.ConsumerGroupDescribeRequest) {
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	resp.Version = req.Version
	for _, id := range distinct(req.Groups) {
		g := c.groups[id]
		switch {
		case id == "":
			resp.Groups = append(resp.Groups, describeConsumerError(id, refusal{code: wire.InvalidGroupID}))
		case g == nil || !g.durable:
			resp.Groups = append(resp.Groups, describeConsumerError(id, refuse(wire.GroupIDNotFound, "Group %s not found.", id)))
		case g.consumer == nil:
			resp.Groups = append(resp.Groups, describeConsumerError(id,
				refuse(wire.GroupIDNotFound, "Group %s is not a consumer group.", id)))
		default:
			resp.Groups = append(resp.Groups, c.describeConsumer(g))
		}
	}
	c.reply(h, resp)
}

func describeConsumerError(id string, r refusal) kmsg.ConsumerGroupDescribeResponseGroup {
	g := kmsg.NewConsumerGroupDescribeResponseGroup()
	g.Group, g.ErrorCode, g.ErrorMessage = id, int16(r.code), r.text()
	return g
}

func (c *Coordinator) describeConsumer(g *group) kmsg.ConsumerGroupDescribeResponseGroup {
	cg := g.consumer
	r := kmsg.NewConsumerGroupDescribeResponseGroup()
	r.Group, r.State, r.Epoch, r.AssignmentEpoch = g.id, g.state.String(), cg.epoch, cg.targetEpoch
	r.AssignorName = c.cfg.ConsumerAssignors[0]
	if name := cg.preferredAssignor(); name != nil {
		r.AssignorName = *name
	}
	for _, m := range cg.sortedMembers() {
		r.Members = append(r.Members, c.describeConsumerMember(m))
	}
	return r
}

// The kinds of members that ConsumerGroupDescribe tells apart.
const (
	memberTypeClassic  = 0
	memberTypeConsumer = 1
)

func (c *Coordinator) describeConsumerMember(m *consumerMember) kmsg.ConsumerGroupDescribeResponseGroupMember {
	d := kmsg.NewConsumerGroupDescribeResponseGroupMember()
	d.MemberID, d.InstanceID, d.RackID, d.MemberEpoch = m.id, m.instanceID, m.rackID, m.epoch
	d.ClientID, d.ClientHost = m.client.ID, m.client.Host
	d.SubscribedTopics, d.SubscribedTopicRegex = m.topics, &m.regex
	d.Assignment.TopicPartitions = c.describeAssignment(m.assigned)
	d.TargetAssignment.TopicPartitions = c.describeAssignment(m.target)
	d.MemberType = memberTypeConsumer
	if m.classic != nil {
		d.MemberType = memberTypeClassic
	}
	return d
}

// describeAssignment tells the partitions of topics that exist.
func (c *Coordinator) describeAssignment(a assignor.Assignment) []kmsg.AssignmentTopicPartition {
	var out []kmsg.AssignmentTopicPartition
	for i := range a {
		if t := c.topics.image.ByID(a[i].Topic); t != nil {
			tp := kmsg.NewAssignmentTopicPartition()
			tp.TopicID, tp.Topic, tp.Partitions = t.ID, t.Name, a[i].Partitions
			out = append(out, tp)
		}
	}
	return out
}
