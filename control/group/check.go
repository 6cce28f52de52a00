package group

import "fmt"

// check panics if an invariant of doc.go does not hold: for the group that the call was about always, for everything
// under the build tag invariants.
func (c *Coordinator) check() {
	if c.memoryBytes < 0 || c.waiting < 0 {
		panic(fmt.Sprintf("BUG: counted %d bytes and %d waiting requests", c.memoryBytes, c.waiting))
	}
	if c.touched != nil {
		c.touched.check()
		c.touched = nil
	}
	if checkEverything {
		c.checkAll()
	}
}

// check judges what can be judged without a walk over the members.
func (g *group) check() {
	members := len(g.members)
	switch {
	case g.consumer != nil:
		g.checkConsumer()
	case g.share != nil:
		g.checkShare()
	case (g.state == Empty || g.state == Dead) && members > 0:
		g.broken("G1", "members in a group that can have none")
	case g.awaitingJoin < 0 || g.awaitingJoin > members || g.pendingSync < 0 || g.pendingSync > members:
		g.broken("G2", "more requests awaited than members")
	case g.pendingSync > 0 && g.state != CompletingRebalance && g.state != Stable:
		g.broken("G2", "syncs awaited outside of a generation")
	case (g.leader == "") != (members == 0) || members > 0 && g.members[g.leader] == nil:
		g.broken("G3", "the leader is not a member")
	case g.protocol == nil && (g.state == CompletingRebalance || g.state == Stable):
		g.broken("G4", "a generation without a protocol")
	case g.state == PreparingRebalance && !(g.timer.armed() && (g.timer.kind == timerJoin || g.timer.kind == timerInitialJoin)):
		g.broken("G5", "a rebalance without an end")
	case g.state == CompletingRebalance && g.pendingSync > 0 && !(g.timer.armed() && g.timer.kind == timerSync):
		g.broken("G5", "syncs awaited for ever")
	}
}

func (g *group) broken(name, what string) {
	panic(fmt.Sprintf("BUG: invariant %s: group %q (%s, generation %d, %d members, %d joined, %d to sync): %s",
		name, g.id, g.state, g.generation, len(g.members), g.awaitingJoin, g.pendingSync, what))
}

// checkAll counts everything again.
func (c *Coordinator) checkAll() {
	var bytes int64
	waiting := 0
	for _, id := range c.sortedGroupIDs() {
		g := c.groups[id]
		g.check()
		g.checkMembers()
		if g.consumer != nil {
			bytes += g.checkConsumerMembers(c.phase == phaseActive)
		}
		if g.share != nil {
			bytes += g.checkShareMembers(c.phase == phaseActive)
		}
		bytes += g.offsets.checkedBytes(g)
		for m := g.first; m != nil; m = m.next {
			bytes += m.size()
			waiting += count(m.join.waiting) + count(m.sync.waiting)
			if c.phase == phaseActive && !m.session.armed() && !m.satisfied() {
				g.broken("G6", "member "+m.id+" can neither be heard of nor expire")
			}
		}
		for id := range g.pending {
			bytes += pendingSize(id)
		}
	}
	bytes += c.checkedTxnBytes()
	if bytes != c.memoryBytes || waiting != c.waiting {
		panic(fmt.Sprintf("BUG: invariant C1: counted %d bytes and %d waiting requests, there are %d and %d",
			c.memoryBytes, c.waiting, bytes, waiting))
	}
	c.timers.check()
}

// checkMembers walks the list of members and counts what the group counts.
func (g *group) checkMembers() {
	joined, syncs, members, static := 0, 0, 0, 0
	votes := map[string]int{}
	for m := g.first; m != nil; m = m.next {
		if g.members[m.id] != m || m.next != nil && m.next.prev != m || m.next == nil && g.last != m {
			g.broken("G7", "member "+m.id+" is not where it should be")
		}
		members++
		joined += count(m.join.waiting)
		syncs += count(m.pendingSync)
		if m.instanceID != nil {
			static += count(g.static[*m.instanceID] == m)
		}
		for i := range m.protocols {
			if !listedBefore(m.protocols[:i], m.protocols[i].name) {
				votes[m.protocols[i].name]++
			}
		}
	}
	if members != len(g.members) || static != len(g.static) || joined != g.awaitingJoin || syncs != g.pendingSync {
		g.broken("G7", "members counted wrongly")
	}
	if len(votes) != len(g.votes) {
		g.broken("G8", "votes of protocols that nobody lists")
	}
	for name, n := range votes {
		if g.votes[name] != n {
			g.broken("G8", "votes counted wrongly for "+name)
		}
	}
}

func (t *offsetTable) checkedBytes(g *group) int64 {
	var bytes int64
	entries := 0
	for topic, partitions := range t.topics {
		bytes += offsetOverheadBytes + int64(len(topic))
		for _, e := range partitions {
			entries++
			bytes += offsetOverheadBytes + int64(len(e.value.metadata))
			if !e.stored && e.writes <= 0 && e.unstable <= 0 || e.writes < 0 || e.unstable < 0 {
				g.broken("G9", "an offset of "+topic+" that is neither there nor under way")
			}
		}
	}
	if bytes != t.bytes || entries != t.entries {
		g.broken("G9", "offsets counted wrongly")
	}
	return bytes
}

// checkedTxnBytes counts what open transactions hold.
func (c *Coordinator) checkedTxnBytes() int64 {
	var bytes int64
	for _, offsets := range c.txns {
		for _, o := range offsets {
			bytes += int64(len(o.value.metadata))
		}
	}
	return bytes
}

func (h *timerHeap) check() {
	for i, t := range h.entries {
		if t.position != i || t.keyMS > t.deadlineMS || i > 0 && h.entries[(i-1)/2].keyMS > t.keyMS {
			panic(fmt.Sprintf("BUG: invariant C2: the timer at %d is out of order", i))
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
