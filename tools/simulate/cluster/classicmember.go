package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// classicPatience is how long a member waits for its group: the others have groupRebalanceMS to join.
const classicPatience = 2 * clientPatience

// turnClassic is a member's turn in the classic protocol: it joins a generation, asks for its part of it, and then says that it lives.
// Each partition is given up before another generation is joined.
func (m *member) turnClassic() {
	if m.asking {
		return
	}
	m.asking = true
	if m.epoch > 0 {
		m.beatClassic()
		return
	}
	m.holds = nil
	m.joinClassic()
}

// joinClassic asks for the next generation.
func (m *member) joinClassic() {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version, req.Group, req.MemberID, req.ProtocolType = 9, m.group.name, m.joinedAs, "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = groupSessionMS, groupRebalanceMS
	subscribed := kmsg.NewConsumerMemberMetadata()
	subscribed.Topics = []string{topicName}
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "roundrobin", subscribed.AppendTo(nil)
	req.Protocols = append(req.Protocols, protocol)
	m.askFor(classicPatience, req, func(resp kmsg.Response) {
		r := resp.(*kmsg.JoinGroupResponse)
		switch code := wire.ErrorCode(r.ErrorCode); code {
		case wire.None:
			m.joinedAs = r.MemberID
			m.sync(r)
			return
		case wire.MemberIDRequired:
			m.joinedAs = r.MemberID
		case wire.UnknownMemberID, wire.FencedInstanceID:
			m.joinedAs = ""
		}
		m.asking = false
	}, func() { m.asking = false })
}

// sync asks for the member's part of a generation; the leader says who has what.
func (m *member) sync(r *kmsg.JoinGroupResponse) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version, req.Group, req.Generation, req.MemberID = 5, m.group.name, r.Generation, r.MemberID
	req.ProtocolType, req.Protocol = r.ProtocolType, r.Protocol
	if r.LeaderID == r.MemberID {
		req.GroupAssignment = m.assign(r.Members)
	}
	m.askFor(classicPatience, req, func(resp kmsg.Response) {
		m.asking = false
		r := resp.(*kmsg.SyncGroupResponse)
		if r.ErrorCode != 0 {
			m.leftClassic(wire.ErrorCode(r.ErrorCode))
			return
		}
		var given kmsg.ConsumerMemberAssignment
		if err := given.ReadFrom(r.MemberAssignment); err != nil {
			m.group.fail("I9", "%s was given what nobody has made: %v", m.name(), err)
			return
		}
		m.epoch = req.Generation
		m.commitLate()
		for _, t := range given.Topics {
			m.cluster.world.Tracef("%s: generation %d, %v", m.name(), m.epoch, t.Partitions)
			for _, p := range t.Partitions {
				m.group.own(m, int(p))
				m.holds = append(m.holds, &holding{partition: int(p), position: wire.NoOffset, route: noRoute})
			}
		}
	}, func() { m.asking = false })
}

// assign gives each member every so many partitions.
func (m *member) assign(members []kmsg.JoinGroupResponseMember) (all []kmsg.SyncGroupRequestGroupAssignment) {
	slices.SortFunc(members, func(a, b kmsg.JoinGroupResponseMember) int {
		return int(m.group.number(a.MemberID) - m.group.number(b.MemberID))
	})
	for i, other := range members {
		topic := kmsg.NewConsumerMemberAssignmentTopic()
		topic.Topic = topicName
		for p := i; p < m.cluster.opt.Partitions; p += len(members) {
			topic.Partitions = append(topic.Partitions, int32(p))
		}
		given := kmsg.NewConsumerMemberAssignment()
		given.Topics = append(given.Topics, topic)
		assignment := kmsg.NewSyncGroupRequestGroupAssignment()
		assignment.MemberID, assignment.MemberAssignment = other.MemberID, given.AppendTo(nil)
		all = append(all, assignment)
	}
	return all
}

// beatClassic says that the member lives.
func (m *member) beatClassic() {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.Generation, req.MemberID = 4, m.group.name, m.epoch, m.joinedAs
	m.ask(req, func(resp kmsg.Response) {
		m.asking = false
		if code := wire.ErrorCode(resp.(*kmsg.HeartbeatResponse).ErrorCode); code != wire.None {
			m.leftClassic(code)
		}
	}, func() { m.asking = false })
}

// leftClassic has the member join anew, if it is out of its generation.
func (m *member) leftClassic(code wire.ErrorCode) {
	switch code {
	case wire.UnknownMemberID, wire.FencedInstanceID:
		m.joinedAs = ""
	case wire.RebalanceInProgress, wire.IllegalGeneration:
	default:
		return
	}
	m.cluster.world.Tracef("%s: %v: it joins anew", m.name(), code)
	m.epoch, m.holds = 0, nil
}

// name is the member's for reports.
func (m *member) name() string {
	if m.group.classic {
		return fmt.Sprintf("%s (%s)", m.id, m.joinedAs)
	}
	return m.id
}

// number gives member ids an order of their own: those that coordinators draw are in none that stays.
func (g *groupLedger) number(id string) int64 {
	n, known := g.numbers[id]
	if !known {
		n = int64(len(g.numbers))
		g.numbers[id] = n
	}
	return n
}

// groupIdle is between two turns of a member.
const groupIdle = groupHeartbeatMS * time.Millisecond
