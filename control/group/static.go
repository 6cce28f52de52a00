package group

import "github.com/ringmill/ringmill/wire"

// replaceStaticMember takes a static member that joins without an id for the one that had its instance id (KIP-345): it
// was restarted. The old id is fenced. A stable group does not rebalance if the protocol stays the same; the new id is
// written first, so that it is still known after a restart of the coordinator.
func (c *Coordinator) replaceStaticMember(g *group, m *member, newID string, j *join) {
	was := staticMember{id: m.id, leader: g.leader, protocols: m.protocols,
		rebalanceTimeoutMS: m.rebalanceTimeoutMS, sessionTimeoutMS: m.sessionTimeoutMS}
	c.answerJoin(g, m, joinError(m.id, wire.FencedInstanceID))
	c.answerSync(m, syncError(wire.FencedInstanceID))
	c.memoryBytes += int64(len(newID) - len(m.id))
	g.rename(m, newID)
	c.extendSession(m, m.sessionTimeoutMS)
	m.isNew = false
	g.setPendingSync(m, false)
	c.updateMember(g, m, j)

	switch g.state {
	case Stable:
		if g.protocol != nil && *g.protocol == g.selectProtocol() {
			record := groupRecord(g, currentAssignment)
			c.append([]wire.Record{record}, staticRejoinAppend{group: g, member: m, id: newID, was: was, join: j.waiter})
			return
		}
		c.rebalanceOrComplete(g)
	case CompletingRebalance:
		c.prepareRebalance(g)
	default:
		c.maybeCompleteJoin(g)
	}
}

// staticMember is what a static member was before it was replaced.
type staticMember struct {
	id, leader                           string
	protocols                            []protocol
	rebalanceTimeoutMS, sessionTimeoutMS int32
}

// staticRejoinAppend is the record that gives a static member of a stable group its new id. Its JoinGroup is answered when
// that is durable.
type staticRejoinAppend struct {
	group  *group
	member *member
	id     string // the new one
	was    staticMember
	join   waiter
}

func (a staticRejoinAppend) appended(c *Coordinator, code wire.ErrorCode) {
	if code == wire.None {
		a.group.durable = true
	}
	g, m := a.group, a.member
	if g.members[a.id] != m || m.join.handle != a.join.handle || !m.join.waiting || g.state != Stable {
		return // it left, was replaced again, or waits in a rebalance by now: that one answers it
	}
	if code != wire.None {
		c.revertStaticMember(a, code)
		return
	}
	c.extendSession(m, m.sessionTimeoutMS) // it may have run out while the member waited
	resp := g.joinResult(m, false)
	switch leads := g.isLeader(m.id); {
	case a.join.version < 9:
		// The old id is named as the leader, so that a client that cannot skip it does not compute an assignment.
		resp.LeaderID = a.was.leader
	case leads:
		resp.SkipAssignment, resp.Members = true, g.joinMembers() // KIP-814
	}
	c.answerJoin(g, m, resp)
}

// revertStaticMember gives the member its old id back, because the log still has that.
func (c *Coordinator) revertStaticMember(a staticRejoinAppend, code wire.ErrorCode) {
	g, m := a.group, a.member
	resp := g.joinResult(m, false)
	resp.MemberID, resp.LeaderID, resp.ErrorCode = "", a.was.leader, int16(code)
	c.answerJoin(g, m, resp)
	c.memoryBytes -= m.size()
	g.countVotes(m, -1)
	m.protocols = a.was.protocols
	m.rebalanceTimeoutMS, m.sessionTimeoutMS = a.was.rebalanceTimeoutMS, a.was.sessionTimeoutMS
	g.rename(m, a.was.id)
	g.countVotes(m, 1)
	c.memoryBytes += m.size()
	c.extendSession(m, m.sessionTimeoutMS)
}
