package group

import (
	"math"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// joinGroup takes a JoinGroup of version 0 to 9. Whoever joins with an empty id is new.
func (c *Coordinator) joinGroup(h Handle, cl Client, req *kmsg.JoinGroupRequest) {
	j := &join{waiter: waiter{handle: h, version: req.Version, waiting: true}, client: cl, req: req}
	if req.Version == 0 { // has no rebalance timeout: the session timeout is taken for it
		req.RebalanceTimeoutMillis = req.SessionTimeoutMillis
	}
	if code := c.checkJoin(req); code != wire.None {
		c.refuseJoin(j, req.MemberID, code)
		return
	}
	g := c.lookup(req.Group)
	known := g != nil
	if !known {
		if req.MemberID != "" {
			c.refuseJoin(j, req.MemberID, wire.UnknownMemberID)
			return
		}
		if g = c.createGroup(req.Group); g == nil {
			c.refuseJoin(j, "", wire.GroupMaxSizeReached)
			return
		}
	}
	switch {
	case g.share != nil && g.state != Dead:
		c.refuseJoin(j, "", wire.InconsistentGroupProtocol)
		return
	case g.consumer == nil || g.state == Dead:
	case g.state != Empty:
		c.joinConsumerGroup(g, j)
		return
	case req.MemberID != "":
		c.refuseJoin(j, req.MemberID, wire.UnknownMemberID)
		return
	default: // nobody is left who spoke the consumer protocol
		c.becomeClassic(g)
		c.settle(g)
	}
	c.joinKnownGroup(g, j)
	if !known {
		c.append([]wire.Record{emptyGroupRecord(g)}, newGroupAppend{g})
	}
}

// join is a JoinGroup on its way into a group.
type join struct {
	waiter
	client Client
	req    *kmsg.JoinGroupRequest
}

// checkJoin judges the request by itself.
func (c *Coordinator) checkJoin(req *kmsg.JoinGroupRequest) wire.ErrorCode {
	switch {
	case req.Group == "":
		return wire.InvalidGroupID
	case req.SessionTimeoutMillis < c.cfg.MinSessionTimeoutMS || req.SessionTimeoutMillis > c.cfg.MaxSessionTimeoutMS:
		return wire.InvalidSessionTimeout
	case len(req.Protocols) > protocolsMax:
		return wire.InvalidRequest
	}
	return wire.None
}

// protocolsMax bounds the protocols of one member, because names that are listed twice are found by comparing each with
// all before it. Clients list at most a handful; Kafka has no bound.
const protocolsMax = 1_000

func (c *Coordinator) joinKnownGroup(g *group, j *join) {
	switch {
	case !c.acceptsMember(g, j):
		if m := g.members[j.req.MemberID]; m != nil {
			c.removeMember(g, m)
		} else {
			c.removePending(g, j.req.MemberID)
		}
		c.refuseJoin(j, "", wire.GroupMaxSizeReached)
	case g.state == Dead:
		c.refuseJoin(j, j.req.MemberID, wire.CoordinatorNotAvailable)
	case !g.supportsProtocols(j.req.ProtocolType, j.req.Protocols):
		c.refuseJoin(j, j.req.MemberID, wire.InconsistentGroupProtocol)
	case j.req.MemberID == "":
		c.joinNewMember(g, j)
	default:
		c.joinKnownMember(g, j)
	}
}

// acceptsMember judges by group.max.size and by the bound on memory. In a rebalance those that have joined count, so that
// the first to come back have a place.
func (c *Coordinator) acceptsMember(g *group, j *join) bool {
	m := g.members[j.req.MemberID]
	growth := requestSize(j.req) + memberOverheadBytes
	if m != nil {
		growth = requestSize(j.req) - m.protocolsSize()
	}
	if growth > 0 && !c.fits(growth) {
		return false
	}
	switch g.state {
	case PreparingRebalance:
		return m != nil && m.join.waiting || g.awaitingJoin < c.cfg.MaxSize
	case CompletingRebalance, Stable:
		return m != nil || len(g.members) < c.cfg.MaxSize
	}
	return true
}

// memberPrefixMax is how long a client id or an instance id may be to begin a member's id, which is a string of Kafka's protocol.
const memberPrefixMax = math.MaxInt16 - len("-00000000-0000-0000-0000-000000000000")

func (c *Coordinator) joinNewMember(g *group, j *join) {
	if len(j.prefix()) > memberPrefixMax {
		c.refuseJoin(j, "", wire.UnknownServerError)
		return
	}
	if instance := j.req.InstanceID; instance != nil {
		id := c.ids.next(j.prefix())
		if m := g.static[*instance]; m != nil {
			c.replaceStaticMember(g, m, id, j)
		} else {
			c.addMember(g, id, j)
		}
		return
	}
	id := c.ids.next(j.prefix())
	if j.version >= 4 { // KIP-394: a client that gives up before it knows its id leaves no member behind
		c.addPending(g, id, j.req.SessionTimeoutMillis)
		c.refuseJoin(j, id, wire.MemberIDRequired)
		return
	}
	c.addMember(g, id, j)
}

// prefix is what the id of a new member begins with.
func (j *join) prefix() string {
	if instance := j.req.InstanceID; instance != nil {
		return *instance
	}
	return j.client.ID
}

func (c *Coordinator) joinKnownMember(g *group, j *join) {
	id := j.req.MemberID
	if g.pending[id] != nil {
		if j.req.InstanceID != nil { // Kafka fails here with an IllegalStateException
			c.refuseJoin(j, "", wire.UnknownServerError)
			return
		}
		c.addMember(g, id, j)
		return
	}
	if code := g.validateMember(id, j.req.InstanceID); code != wire.None {
		c.refuseJoin(j, id, code)
		return
	}
	m := g.members[id]
	switch unchanged := m.matches(j.req.Protocols); {
	case g.state == CompletingRebalance && unchanged: // it did not hear of the end of the join
		c.answerRejoin(g, m, j, g.isLeader(id))
	case g.state == Stable && unchanged && !g.isLeader(id):
		c.answerRejoin(g, m, j, false)
	case g.state == Empty:
		panic("BUG: empty group " + g.id + " has member " + id)
	default: // a leader that joins again asks for a rebalance
		c.updateMember(g, m, j)
		c.rebalanceOrComplete(g)
	}
}

// addMember puts a new member in and has the group rebalance.
func (c *Coordinator) addMember(g *group, id string, j *join) {
	c.removePending(g, id)
	m := &member{
		id: id, instanceID: j.req.InstanceID, client: j.client,
		sessionTimeoutMS: j.req.SessionTimeoutMillis, rebalanceTimeoutMS: j.req.RebalanceTimeoutMillis,
		protocols: cloneProtocols(j.req.Protocols), isNew: true,
	}
	m.session = timer{position: -1, kind: timerSession, group: g, member: m}
	if g.state == PreparingRebalance && g.previous == Empty {
		g.newMemberAdded = true
	}
	g.add(m, j.req.ProtocolType)
	c.memoryBytes += m.size()
	c.setJoinWaiter(g, m, j.waiter)
	c.extendSession(m, c.cfg.NewMemberJoinTimeoutMS)
	c.rebalanceOrComplete(g)
}

// updateMember takes over what a member says when it joins again.
func (c *Coordinator) updateMember(g *group, m *member, j *join) {
	c.memoryBytes -= m.size()
	g.countVotes(m, -1)
	m.protocols = cloneProtocols(j.req.Protocols)
	g.countVotes(m, 1)
	c.memoryBytes += m.size()
	m.rebalanceTimeoutMS, m.sessionTimeoutMS = j.req.RebalanceTimeoutMillis, j.req.SessionTimeoutMillis
	c.setJoinWaiter(g, m, j.waiter)
}

// setJoinWaiter makes w the request that is answered when the join completes. One that waited before is told to try
// again; Kafka never answers it.
func (c *Coordinator) setJoinWaiter(g *group, m *member, w waiter) {
	c.answerJoin(g, m, joinError(m.id, wire.RebalanceInProgress))
	m.join = w
	g.awaitingJoin++
	c.waiting++
}

// removeMember takes m out of the group with all that belongs to it. Its waiting requests have been answered before, or
// are now.
func (c *Coordinator) removeMember(g *group, m *member) {
	c.answerJoin(g, m, joinError("", wire.UnknownMemberID))
	c.answerSync(m, syncError(wire.UnknownMemberID))
	c.timers.disarm(&m.session)
	c.memoryBytes -= m.size()
	g.remove(m)
}

func (c *Coordinator) addPending(g *group, id string, sessionTimeoutMS int32) {
	p := &pendingMember{session: timer{position: -1, kind: timerPendingMember, group: g, memberID: id}}
	g.pending[id] = p
	c.memoryBytes += pendingSize(id)
	c.timers.arm(&p.session, c.after(int64(sessionTimeoutMS)))
}

func (c *Coordinator) removePending(g *group, id string) {
	p := g.pending[id]
	if p == nil {
		return
	}
	c.timers.disarm(&p.session)
	c.memoryBytes -= pendingSize(id)
	delete(g.pending, id)
}

func pendingSize(id string) int64 { return memberOverheadBytes + int64(len(id)) }

// extendSession starts the member's session anew.
func (c *Coordinator) extendSession(m *member, timeoutMS int32) {
	c.timers.arm(&m.session, c.after(int64(timeoutMS)))
}

// after is the monotonic time ms from now.
func (c *Coordinator) after(ms int64) int64 {
	if ms > math.MaxInt64-c.nowMS {
		return math.MaxInt64
	}
	return c.nowMS + max(ms, 0)
}

// newGroupAppend is the first record of a group. If it fails, the group never was.
type newGroupAppend struct{ group *group }

func (a newGroupAppend) appended(c *Coordinator, code wire.ErrorCode) {
	switch {
	case code == wire.None:
		a.group.durable = true
	case c.groups[a.group.id] == a.group && !a.group.durable && a.group.consumer == nil:
		c.dropGroup(a.group, code)
	}
}

// answerJoin answers m's waiting JoinGroup, if there is one.
func (c *Coordinator) answerJoin(g *group, m *member, resp *kmsg.JoinGroupResponse) {
	if !m.join.waiting {
		return
	}
	resp.Version = m.join.version
	c.reply(m.join.handle, resp)
	m.join = waiter{}
	g.awaitingJoin--
	c.waiting--
}

func (c *Coordinator) refuseJoin(j *join, memberID string, code wire.ErrorCode) {
	resp := joinError(memberID, code)
	resp.Version = j.version
	c.reply(j.handle, resp)
}

func (c *Coordinator) answerRejoin(g *group, m *member, j *join, withMembers bool) {
	resp := g.joinResult(m, withMembers)
	resp.Version = j.version
	c.reply(j.handle, resp)
}

func joinError(memberID string, code wire.ErrorCode) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode, resp.MemberID, resp.Generation = int16(code), memberID, -1
	return resp
}

// joinResult tells m of the generation.
func (g *group) joinResult(m *member, withMembers bool) *kmsg.JoinGroupResponse {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.MemberID, resp.Generation, resp.LeaderID = m.id, g.generation, g.leader
	resp.ProtocolType = &g.protocolType
	if *g.protocol != "" { // an empty name is told as null from version 7 on, and kmsg writes null as "" before
		resp.Protocol = g.protocol
	}
	if withMembers {
		resp.Members = g.joinMembers()
	}
	return resp
}

// joinMembers is what the leader gets: every member's metadata for the protocol of this generation.
func (g *group) joinMembers() []kmsg.JoinGroupResponseMember {
	members := make([]kmsg.JoinGroupResponseMember, 0, len(g.members))
	for m := g.first; m != nil; m = m.next {
		r := kmsg.NewJoinGroupResponseMember()
		r.MemberID, r.InstanceID, r.ProtocolMetadata = m.id, m.instanceID, m.metadata(*g.protocol)
		members = append(members, r)
	}
	return members
}
