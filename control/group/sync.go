package group

import (
	"bytes"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// syncGroup takes a SyncGroup of version 0 to 5. The leader's brings the assignment; all are answered once that is
// durable.
func (c *Coordinator) syncGroup(h Handle, req *kmsg.SyncGroupRequest) {
	w := waiter{handle: h, version: req.Version, waiting: true}
	g, code := c.checkSync(req)
	if code != wire.None {
		c.answerSyncNow(w, syncError(code))
		return
	}
	if g.consumer != nil {
		c.syncConsumerGroup(g, w, req)
		return
	}
	m := g.members[req.MemberID]
	switch g.state {
	case PreparingRebalance:
		c.answerSyncNow(w, syncError(wire.RebalanceInProgress))
	case CompletingRebalance:
		c.setSyncWaiter(m, w)
		c.syncReceived(g, m)
		if g.isLeader(m.id) {
			c.storeAssignment(g, req)
		}
	case Stable:
		c.syncReceived(g, m)
		c.answerSyncNow(w, g.syncResult(m))
	}
}

func (c *Coordinator) checkSync(req *kmsg.SyncGroupRequest) (*group, wire.ErrorCode) {
	if req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) { // KIP-559
		return nil, wire.InconsistentGroupProtocol
	}
	if req.Group == "" {
		return nil, wire.InvalidGroupID
	}
	g := c.lookup(req.Group)
	if g == nil || g.state == Empty {
		return nil, wire.UnknownMemberID
	}
	if g.state == Dead {
		return nil, wire.CoordinatorNotAvailable
	}
	if g.consumer != nil {
		return g, wire.None
	}
	if code := g.validateMember(req.MemberID, req.InstanceID); code != wire.None {
		return nil, code
	}
	if req.Generation != g.generation {
		return nil, wire.IllegalGeneration
	}
	if differs(req.ProtocolType, &g.protocolType) || differs(req.Protocol, g.protocol) {
		return nil, wire.InconsistentGroupProtocol
	}
	return g, wire.None
}

// differs reports whether both are there and not the same.
func differs(a, b *string) bool { return a != nil && b != nil && *a != *b }

// syncReceived notes that m asked for its assignment; when all have, nobody is removed for not asking.
func (c *Coordinator) syncReceived(g *group, m *member) {
	g.setPendingSync(m, false)
	if g.pendingSync == 0 && g.timer.kind == timerSync {
		c.timers.disarm(&g.timer)
	}
}

// setSyncWaiter makes w the request that gets the assignment. One that waited before is told to try again; Kafka never
// answers it.
func (c *Coordinator) setSyncWaiter(m *member, w waiter) {
	c.answerSync(m, syncError(wire.RebalanceInProgress))
	m.sync = w
	c.waiting++
}

// storeAssignment writes the leader's assignment. A member that it leaves out gets an empty one.
func (c *Coordinator) storeAssignment(g *group, req *kmsg.SyncGroupRequest) {
	assignment := make(map[string][]byte, len(g.members))
	var size int64
	for i := range req.GroupAssignment {
		a := &req.GroupAssignment[i]
		if g.members[a.MemberID] != nil {
			assignment[a.MemberID] = bytes.Clone(a.MemberAssignment)
			size += int64(len(a.MemberAssignment))
		}
	}
	then := assignmentAppend{group: g, generation: g.generation, assignment: assignment}
	if !c.fits(size) { // as an assignment that is too large for a batch
		then.appended(c, answerCode(wire.MessageTooLarge))
		return
	}
	record := groupRecord(g, func(m *member) []byte { return assignment[m.id] })
	c.append([]wire.Record{record}, then)
}

// assignmentAppend is the record of a generation with its assignment.
type assignmentAppend struct {
	group      *group
	generation int32
	assignment map[string][]byte
}

func (a assignmentAppend) appended(c *Coordinator, code wire.ErrorCode) {
	g := a.group
	c.touched = g
	if code == wire.None {
		g.durable = true
	}
	if g.state != CompletingRebalance || g.generation != a.generation {
		return // another rebalance has begun; it told those who waited
	}
	if code != wire.None {
		c.dropAssignments(g, code)
		c.rebalanceOrComplete(g)
		return
	}
	for m := g.first; m != nil; m = m.next {
		c.setAssignment(m, a.assignment[m.id])
		if m.sync.waiting {
			c.answerSync(m, g.syncResult(m))
			c.extendSession(m, m.sessionTimeoutMS)
		}
	}
	g.transition(Stable, c.wall)
}

// dropAssignments empties the assignments and answers the waiting SyncGroups with code.
func (c *Coordinator) dropAssignments(g *group, code wire.ErrorCode) {
	for m := g.first; m != nil; m = m.next {
		c.setAssignment(m, nil)
		if m.sync.waiting {
			c.answerSync(m, syncError(code))
			c.extendSession(m, m.sessionTimeoutMS)
		}
	}
}

func (c *Coordinator) setAssignment(m *member, assignment []byte) {
	c.memoryBytes += int64(len(assignment) - len(m.assignment))
	m.assignment = assignment
}

// answerSync answers m's waiting SyncGroup, if there is one.
func (c *Coordinator) answerSync(m *member, resp *kmsg.SyncGroupResponse) {
	if !m.sync.waiting {
		return
	}
	c.waiting--
	c.answerSyncNow(m.sync, resp)
	m.sync = waiter{}
}

func (c *Coordinator) answerSyncNow(w waiter, resp *kmsg.SyncGroupResponse) {
	resp.Version = w.version
	c.reply(w.handle, resp)
}

func syncError(code wire.ErrorCode) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode = int16(code)
	return resp
}

func (g *group) syncResult(m *member) *kmsg.SyncGroupResponse {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ProtocolType, resp.Protocol, resp.MemberAssignment = &g.protocolType, g.protocol, m.assignment
	return resp
}
