package group

import "github.com/ringmill/ringmill/wire"

// rebalanceOrComplete follows every change of members: it starts a rebalance, or ends the one under way if nobody is
// awaited any longer.
func (c *Coordinator) rebalanceOrComplete(g *group) {
	if g.canRebalance() {
		c.prepareRebalance(g)
	} else {
		c.maybeCompleteJoin(g)
	}
}

// prepareRebalance has every member join again. A group that was empty waits for the initial delay, so that the members
// of an application that starts come together in one generation; another waits until all have joined, at most for the
// longest rebalance timeout.
func (c *Coordinator) prepareRebalance(g *group) {
	if g.state == CompletingRebalance {
		c.dropAssignments(g, wire.RebalanceInProgress)
	}
	g.clearPendingSync()
	initial := g.state == Empty
	g.transition(PreparingRebalance, c.wall)
	if initial {
		delay := int64(c.cfg.InitialRebalanceDelayMS)
		g.initialDelayMS, g.initialRemainingMS = delay, max(g.rebalanceTimeoutMS()-delay, 0)
		g.newMemberAdded = false
		c.armGroup(g, timerInitialJoin, delay)
		return
	}
	if g.hasAllMembersJoined() {
		c.completeJoin(g)
		return
	}
	c.armGroup(g, timerJoin, g.rebalanceTimeoutMS())
}

// armGroup gives the group's timer a new purpose.
func (c *Coordinator) armGroup(g *group, kind timerKind, ms int64) {
	c.timers.disarm(&g.timer)
	g.timer.kind = kind
	c.timers.arm(&g.timer, c.after(ms))
}

// initialDelayOver extends the delay while members keep coming, up to the rebalance timeout.
func (c *Coordinator) initialDelayOver(g *group) {
	if !g.newMemberAdded || g.initialRemainingMS == 0 {
		c.completeJoin(g)
		return
	}
	g.newMemberAdded = false
	delay := min(int64(c.cfg.InitialRebalanceDelayMS), g.initialRemainingMS)
	g.initialRemainingMS = max(g.initialRemainingMS-g.initialDelayMS, 0)
	g.initialDelayMS = delay
	c.armGroup(g, timerInitialJoin, delay)
}

// maybeCompleteJoin ends the join if all are there; not an initial rebalance, which the delay alone ends.
func (c *Coordinator) maybeCompleteJoin(g *group) {
	if g.state == PreparingRebalance && g.previous != Empty && g.hasAllMembersJoined() {
		c.completeJoin(g)
	}
}

// rejoinWaitMinMS is the shortest time for which a group of static members that did not come is waited for again: a client
// that asks for a rebalance timeout of 0 shall not keep the timers busy until its session ends.
const rejoinWaitMinMS = 1_000

// completeJoin starts the next generation with those who joined. Dynamic members that did not are out; static ones stay
// until their session ends (KIP-345). If only such are left and none joined, there is another rebalance timeout.
func (c *Coordinator) completeJoin(g *group) {
	c.timers.disarm(&g.timer)
	if g.awaitingJoin < len(g.members) {
		for m := g.first; m != nil; {
			next := m.next
			if !m.join.waiting && m.instanceID == nil {
				c.removeMember(g, m)
			}
			m = next
		}
	}
	if !g.electJoinedLeader() && len(g.members) > 0 {
		c.armGroup(g, timerJoin, max(g.rebalanceTimeoutMS(), rejoinWaitMinMS))
		return
	}
	c.nextGeneration(g)
}

func (c *Coordinator) nextGeneration(g *group) {
	g.generation++
	if len(g.members) == 0 {
		g.protocol = nil
		g.subscribed = g.computeSubscribed()
		g.transition(Empty, c.wall)
		c.append([]wire.Record{groupRecord(g, nil)}, groupAppend{g})
		return
	}
	name := g.selectProtocol()
	g.protocol = &name
	g.subscribed = g.computeSubscribed()
	g.transition(CompletingRebalance, c.wall)
	for m := g.first; m != nil; m = m.next {
		c.answerJoin(g, m, g.joinResult(m, g.isLeader(m.id)))
		c.extendSession(m, m.sessionTimeoutMS)
		m.isNew = false
		g.setPendingSync(m, true)
	}
	c.armGroup(g, timerSync, g.rebalanceTimeoutMS())
}

// groupAppend is a record of the group that nobody waits for.
type groupAppend struct{ group *group }

func (a groupAppend) appended(_ *Coordinator, code wire.ErrorCode) {
	if code == wire.None {
		a.group.durable = true
	}
}

// sessionExpired removes a member that was not heard of, unless it waits for an answer and so could not speak.
func (c *Coordinator) sessionExpired(g *group, m *member) {
	if m.satisfied() {
		return
	}
	c.removeMember(g, m)
	switch g.state {
	case Stable, CompletingRebalance:
		c.rebalanceOrComplete(g)
	case PreparingRebalance:
		if g.hasAllMembersJoined() {
			c.completeJoin(g)
		}
	}
}

func (c *Coordinator) pendingMemberExpired(g *group, id string) {
	c.removePending(g, id)
	if g.state == PreparingRebalance && g.hasAllMembersJoined() {
		c.completeJoin(g)
	}
}

// pendingSyncExpired removes the members that joined the generation and did not ask for their assignment.
func (c *Coordinator) pendingSyncExpired(g *group) {
	if g.pendingSync == 0 {
		return
	}
	for m := g.first; m != nil; {
		next := m.next
		if m.pendingSync {
			c.removeMember(g, m)
		}
		m = next
	}
	c.prepareRebalance(g)
}
