package group

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// State is where a group stands. doc.go draws the transitions.
type State uint8

// The states of a group, in Kafka's words. The two rebalances are a classic group's, Assigning and Reconciling a consumer
// group's.
const (
	Empty State = iota
	PreparingRebalance
	CompletingRebalance
	Stable
	Dead
	Assigning
	Reconciling
)

var stateNames = [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Assigning", "Reconciling"}

// String gives the name that DescribeGroups and ListGroups carry.
func (s State) String() string { return stateNames[s] }

// mayFollow reports whether a group may go from s to next.
func (s State) mayFollow(next State) bool {
	switch next {
	case Empty:
		return s == PreparingRebalance || s == Dead // from Dead: the deletion could not be written
	case PreparingRebalance:
		return s == Stable || s == CompletingRebalance || s == Empty
	case CompletingRebalance:
		return s == PreparingRebalance
	case Stable:
		return s == CompletingRebalance
	default:
		return true
	}
}

// consumerProtocolType is the protocol type of consumers; Connect's workers use "connect". Only a consumer's metadata is
// looked into.
const consumerProtocolType = "consumer"

// group is one group: its members, and the offsets committed under its name. Its membership is that of the classic protocol,
// in the fields here, or that of the consumer protocol, in consumer.
type group struct {
	id           string
	state        State
	previous     State          // the state before this one; PreparingRebalance after Empty is an initial rebalance
	stateSince   wire.Timestamp // wall clock of the last transition; NoTimestamp if a record did not say. Offsets expire by it
	generation   int32          // counts completed joins
	protocolType string         // "" until the first member comes: a simple group, used for offsets only
	protocol     *string        // the protocol chosen for this generation; nil before the first and in an empty group
	leader       string         // member id of the leader, "" if there is none

	members        map[string]*member
	first, last    *member            // members in the order in which they came
	static         map[string]*member // by instance id
	pending        map[string]*pendingMember
	votes          map[string]int // protocol name -> number of members that list it
	awaitingJoin   int            // members whose JoinGroup waits
	pendingSync    int            // members with pendingSync
	newMemberAdded bool           // a member came during the initial delay, which is then extended

	subscribed map[string]struct{} // topics of a consumer group's members; nil if not known

	timer              timer
	initialDelayMS     int64 // timerInitialJoin: the delay that is running
	initialRemainingMS int64 // timerInitialJoin: how much may be added to it

	consumer       *consumerGroup    // of the consumer protocol (KIP-848); nil of others
	share          *shareGroup       // of the share protocol (KIP-932); nil of others
	unwritten      unwrittenRecords  // of these two protocols, or of a change between classic and consumer
	consumerWrites []*consumerAppend // under way, in order
	rewrite        timer             // until unwritten is tried again after an append that failed
	loaded         *loadedConsumer   // what the log has said so far of a consumer group, while it is read
	loadedShare    *loadedShare      // of a share group

	offsets      offsetTable
	durable      bool     // a record of the group is in the log; a group that is not disappears if its first append fails
	offsetWrites int      // appends under way that touch the offsets
	lastCommit   AppendID // the last append of an OffsetCommit
}

func newGroup(id string, now wire.Timestamp) *group {
	g := &group{
		id: id, state: Empty, previous: Dead, stateSince: now,
		members: map[string]*member{}, static: map[string]*member{}, pending: map[string]*pendingMember{},
		votes: map[string]int{},
	}
	g.timer = timer{position: -1, group: g}
	g.rewrite = timer{position: -1, kind: timerRewrite, group: g}
	return g
}

// transition moves the group to next.
func (g *group) transition(next State, now wire.Timestamp) {
	if !g.state.mayFollow(next) {
		panic(fmt.Sprintf("BUG: group %q cannot go from %s to %s", g.id, g.state, next))
	}
	g.previous, g.state, g.stateSince = g.state, next, now
}

// setModernState follows what happened to the members of a consumer group or a share group.
func (g *group) setModernState(now wire.Timestamp) {
	next := g.state
	switch {
	case g.consumer != nil:
		next = g.consumer.state()
	case g.share != nil:
		next = g.share.state()
	}
	if next != g.state {
		g.previous, g.state, g.stateSince = g.state, next, now
	}
}

// canRebalance reports whether a change of members starts a rebalance.
func (g *group) canRebalance() bool { return g.state.mayFollow(PreparingRebalance) }

// isSimple reports whether the group only holds offsets: nobody ever joined it.
func (g *group) isSimple() bool {
	return g.protocolType == "" && g.state == Empty && len(g.pending) == 0
}

func (g *group) isConsumer() bool { return g.protocolType == consumerProtocolType }

func (g *group) isLeader(id string) bool { return g.leader != "" && g.leader == id }

// add makes m the group's youngest member. The caller has checked supportsProtocols, or reads m from a record.
func (g *group) add(m *member, protocolType string) {
	if len(g.members) == 0 {
		g.protocolType = protocolType
	}
	if m.instanceID != nil {
		g.static[*m.instanceID] = m
	}
	if g.leader == "" {
		g.leader = m.id
	}
	m.prev = g.last
	if g.last == nil {
		g.first = m
	} else {
		g.last.next = m
	}
	g.last = m
	g.members[m.id] = m
	g.countVotes(m, 1)
	if m.join.waiting {
		g.awaitingJoin++
	}
}

// remove takes m out. If it led the group, the oldest member leads from now on.
func (g *group) remove(m *member) {
	delete(g.members, m.id)
	if m.prev == nil {
		g.first = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		g.last = m.prev
	} else {
		m.next.prev = m.prev
	}
	g.countVotes(m, -1)
	if m.join.waiting {
		g.awaitingJoin--
	}
	if m.instanceID != nil {
		delete(g.static, *m.instanceID)
	}
	g.setPendingSync(m, false)
	if g.isLeader(m.id) {
		g.leader = ""
		if g.first != nil {
			g.leader = g.first.id
		}
	}
}

// rename gives a static member the id newID; everything else about it stays.
func (g *group) rename(m *member, newID string) {
	delete(g.members, m.id)
	if g.isLeader(m.id) {
		g.leader = newID
	}
	m.id = newID
	g.members[newID] = m
}

func (g *group) setPendingSync(m *member, pending bool) {
	if m.pendingSync == pending {
		return
	}
	m.pendingSync = pending
	if pending {
		g.pendingSync++
	} else {
		g.pendingSync--
	}
}

func (g *group) clearPendingSync() {
	for m := g.first; m != nil && g.pendingSync > 0; m = m.next {
		g.setPendingSync(m, false)
	}
}

// hasAllMembersJoined reports whether a rebalance need not wait any longer.
func (g *group) hasAllMembersJoined() bool {
	return len(g.members) == g.awaitingJoin && len(g.pending) == 0
}

// rebalanceTimeoutMS is the longest that any member asked for.
func (g *group) rebalanceTimeoutMS() int64 {
	var most int32
	for m := g.first; m != nil; m = m.next {
		most = max(most, m.rebalanceTimeoutMS)
	}
	return int64(most)
}

// validateMember judges whether the request comes from a member, and from the one that owns its instance id.
func (g *group) validateMember(id string, instanceID *string) wire.ErrorCode {
	if instanceID != nil {
		switch owner := g.static[*instanceID]; {
		case owner == nil:
			return wire.UnknownMemberID
		case owner.id != id:
			return wire.FencedInstanceID
		}
	}
	if g.members[id] == nil {
		return wire.UnknownMemberID
	}
	return wire.None
}

// electJoinedLeader makes sure that the leader is among those that joined; false if nobody did.
func (g *group) electJoinedLeader() bool {
	if g.leader == "" {
		return false
	}
	if g.members[g.leader].join.waiting {
		return true
	}
	for m := g.first; m != nil; m = m.next {
		if m.join.waiting {
			g.leader = m.id
			return true
		}
	}
	return false
}
