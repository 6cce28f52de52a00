package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Members of the classic protocol in a consumer group: a JoinGroup is a heartbeat that says what they read and hold and
// gives them their next epoch, which is their generation; a SyncGroup gets what they may use; a Heartbeat tells them to join
// again when there is something to give up or to get.

// classicJoin is a JoinGroup on its way into a consumer group.
type classicJoin struct {
	*join
	id           string
	subscription kmsg.ConsumerMemberMetadata
	member       *consumerMember // nil: to be made
	replaces     *consumerMember
}

// joinConsumerGroup takes a JoinGroup to a consumer group with members.
func (c *Coordinator) joinConsumerGroup(g *group, j *join) {
	cj := &classicJoin{join: j, id: j.req.MemberID}
	if cj.id == "" {
		cj.id = c.ids.uuid()
	}
	if code := c.checkClassicJoin(g, cj); code != wire.None {
		id := "" // Kafka names the member only where it has to be told its id
		if code == wire.MemberIDRequired {
			id = cj.id
		}
		c.refuseJoin(j, id, code)
		return
	}
	downgrades := cj.replaces != nil && c.mayDowngradeReplacing(g.consumer, cj.replaces)
	changed := c.enterAsClassic(g, cj)
	m := cj.member
	c.refreshTopics(g, changed)
	if downgrades && c.joinDowngraded(g, cj, changed) {
		return
	}
	if g.consumer.epoch > g.consumer.targetEpoch {
		c.assignTargets(g)
	}
	c.reconcile(g, m, c.ownedPartitions(&cj.subscription))
	c.timers.disarm(&m.rebalance)
	c.timers.arm(&m.session, c.after(int64(j.req.SessionTimeoutMillis)))
	c.timers.arm(&m.sync, c.after(int64(j.req.RebalanceTimeoutMillis)))
	c.settle(g, delayedReply{handle: j.handle, req: j.req, resp: m.joinAnswer(j)})
}

// checkClassicJoin judges a JoinGroup and finds its member. Nothing is changed.
func (c *Coordinator) checkClassicJoin(g *group, j *classicJoin) wire.ErrorCode {
	cg := g.consumer
	var ok bool
	switch {
	case !c.mayAppend():
		return wire.CoordinatorLoadInProgress
	case cg.members[j.id] == nil && (len(cg.members) >= c.cfg.ConsumerMaxSize ||
		!c.fits(consumerMemberOverheadBytes+requestSize(j.req))):
		return wire.GroupMaxSizeReached
	case !cg.supportsClassic(j.req):
		return wire.InconsistentGroupProtocol
	case j.req.Version >= 4 && j.req.MemberID == "" && j.req.InstanceID == nil:
		return wire.MemberIDRequired
	}
	if code := cg.findClassicMember(j); code != wire.None {
		return code
	}
	if j.subscription, ok = readSubscription(j.req.Protocols[0].Metadata); !ok {
		return wire.UnknownServerError
	}
	return wire.None
}

// supportsClassic reports whether all members of the classic protocol list one of the protocols.
func (cg *consumerGroup) supportsClassic(req *kmsg.JoinGroupRequest) bool {
	if req.ProtocolType != consumerProtocolType {
		return false
	}
	for i := range req.Protocols {
		if cg.classicProtocols[req.Protocols[i].Name] == cg.classicMembers {
			return true
		}
	}
	return false
}

func (cg *consumerGroup) findClassicMember(j *classicJoin) wire.ErrorCode {
	if j.req.InstanceID == nil {
		j.member = cg.members[j.id]
		return wire.None
	}
	switch owner := cg.static[*j.req.InstanceID]; {
	case j.req.MemberID == "":
		j.replaces = owner
	case owner == nil:
		return wire.UnknownMemberID
	case owner.id != j.id:
		return wire.FencedInstanceID
	default:
		j.member = owner
	}
	return wire.None
}

// enterAsClassic makes the member one of the group that speaks the classic protocol, and reports whether the group reads
// other topics by that.
func (c *Coordinator) enterAsClassic(g *group, j *classicJoin) (changed bool) {
	switch {
	case j.replaces != nil:
		j.member = c.replaceConsumerMember(g, j.replaces, j.id)
	case j.member == nil:
		j.member = newConsumerMember(j.id, g)
		c.insertMember(g, j.member)
	}
	md := j.member.memberMetadata
	if j.req.InstanceID != nil {
		md.instanceID = j.req.InstanceID
	}
	if j.subscription.Rack != nil {
		md.rackID = j.subscription.Rack
	}
	if j.req.RebalanceTimeoutMillis != -1 {
		md.rebalanceTimeoutMS = j.req.RebalanceTimeoutMillis
	}
	md.client, md.topics = j.client, sortedSet(j.subscription.Topics)
	md.classic = &classicSide{sessionTimeoutMS: j.req.SessionTimeoutMillis, protocols: cloneProtocols(j.req.Protocols)}
	return c.takeMetadata(g, j.member, md)
}

// ownedPartitions are what the member says that it holds, by topic id.
func (c *Coordinator) ownedPartitions(s *kmsg.ConsumerMemberMetadata) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	owned := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for i := range s.OwnedPartitions {
		if t := c.topics.image.ByName(s.OwnedPartitions[i].Topic); t != nil {
			owned = append(owned, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.ID, Partitions: s.OwnedPartitions[i].Partitions})
		}
	}
	return owned
}

// joinDowngraded ends a join that replaced the last member of the consumer protocol: the group follows the classic one. It
// rebalances only if the new member reads something else than the one that it replaced.
func (c *Coordinator) joinDowngraded(g *group, j *classicJoin, changed bool) bool {
	if !changed {
		c.reconcile(g, j.member, c.ownedPartitions(&j.subscription))
	}
	answer := j.member.joinAnswer(j.join)
	if !c.downgrade(g, nil) {
		return false
	}
	c.settle(g, delayedReply{handle: j.handle, req: j.req, resp: answer})
	if changed {
		c.prepareRebalance(g)
	}
	return true
}

// joinAnswer gives the member its epoch for a generation. It leads nobody: the coordinator assigns.
func (m *consumerMember) joinAnswer(j *join) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.Version, resp.MemberID, resp.Generation = j.version, m.id, m.epoch
	protocolType := consumerProtocolType
	resp.ProtocolType, resp.Protocol = &protocolType, &m.classic.protocols[0].name
	return resp
}
