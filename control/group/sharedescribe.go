package group

import (
	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shareGroupDescribe takes a ShareGroupDescribe of version 1.
func (c *Coordinator) shareGroupDescribe(h Handle, req *kmsg.ShareGroupDescribeRequest) {
	resp := kmsg.NewPtrShareGroupDescribeResponse()
	resp.Version = req.Version
	for _, id := range distinct(req.GroupIDs) {
		g := c.groups[id]
		switch {
		case isBlank(&id):
			resp.Groups = append(resp.Groups, describeShareError("", refusal{code: wire.InvalidGroupID}))
		case g == nil || !g.durable:
			resp.Groups = append(resp.Groups, describeShareError(id, refuse(wire.GroupIDNotFound, "Group %s not found.", id)))
		case g.share == nil:
			resp.Groups = append(resp.Groups, describeShareError(id, refuse(wire.GroupIDNotFound, "Group %s is not a share group.", id)))
		default:
			resp.Groups = append(resp.Groups, c.describeShare(g))
		}
	}
	c.reply(h, resp)
}

func describeShareError(id string, r refusal) kmsg.ShareGroupDescribeResponseGroup {
	g := kmsg.NewShareGroupDescribeResponseGroup()
	g.GroupID, g.ErrorCode, g.ErrorMessage = id, int16(r.code), r.text()
	return g
}

func (c *Coordinator) describeShare(g *group) kmsg.ShareGroupDescribeResponseGroup {
	r := kmsg.NewShareGroupDescribeResponseGroup()
	r.GroupID, r.GroupState, r.GroupEpoch, r.AssignmentEpoch = g.id, g.state.String(), g.share.epoch, g.share.targetEpoch
	r.Assignor = assignor.SimpleName
	for _, m := range g.share.sortedMembers() {
		d := kmsg.NewShareGroupDescribeResponseGroupMember()
		d.MemberID, d.RackID, d.MemberEpoch, d.ClientID, d.ClientHost = m.id, m.rackID, m.epoch, m.client.ID, m.client.Host
		d.SubscribedTopicNames = m.topics
		for _, tp := range c.describeAssignment(m.assigned) {
			d.Assignment.TopicPartitions = append(d.Assignment.TopicPartitions,
				kmsg.ShareGroupDescribeResponseGroupMemberAssignmentTopicPartition{TopicID: tp.TopicID, Topic: tp.Topic, Partitions: tp.Partitions})
		}
		r.Members = append(r.Members, d)
	}
	return r
}
