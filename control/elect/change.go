package elect

import (
	"slices"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// Election is how a leader may be found (Kafka's PartitionChangeBuilder.Election).
type Election int8

// The elections.
const (
	Online    Election = iota // keep the leader, or find one that has all
	Preferred                 // the first of the replicas, if it has all
	Unclean                   // as Online, but rather one that may lack something than none
)

// Fitness says whether a node may lead.
type Fitness int8

// The fitnesses, the better the higher.
const (
	Unfit     Fitness = iota // fenced, on its way out, unknown
	Reluctant                // draining: only if nobody else can
	Fit
)

// Change is what is to become of one partition. NewChange gives one that changes nothing; what differs is set before State.
type Change struct {
	Before   *image.PartitionState
	MinISR   int                       // the topic's min.insync.replicas; a partition with fewer replicas needs all of them
	CanLead  func(wire.NodeID) Fitness // whom an election may choose
	Election Election

	Replicas, Adding, Removing []wire.NodeID // targets; not written to
	ISR                        []wire.NodeID
	Recovering                 bool
	// Lost is a node that came back without all that it had: it is neither in the ISR nor in the ELR any more. wire.NoNode: none.
	Lost wire.NodeID
	// Wiped: Lost has nothing any more, or says that it lacks something. It is not the last known leader either: to elect it would empty the partition.
	Wiped bool
	// Lacking: Lost goes on under the registration under which it has promised what it lacks. A new leader epoch makes void what it has
	// promised, where else its new broker epoch does.
	Lacking bool

	elr []wire.NodeID
}

// NewChange gives a Change from before whose targets are what is there.
func NewChange(before *image.PartitionState, minISR int, canLead func(wire.NodeID) Fitness) *Change {
	return &Change{Before: before, MinISR: minISR, CanLead: canLead, Lost: wire.NoNode,
		Replicas: before.Replicas, Adding: before.Adding, Removing: before.Removing, ISR: before.ISR, Recovering: before.Recovering}
}

// State gives the partition's new state; false if it is the old one. It may be called once.
func (c *Change) State() (after image.PartitionState, changed bool) {
	c.completeReassignment()
	c.settleELR()
	b := c.Before
	after = image.PartitionState{Replicas: c.Replicas, ISR: c.ISR, ELR: c.elr, LastKnownELR: b.LastKnownELR, Adding: c.Adding, Removing: c.Removing,
		Leader: b.Leader, LeaderEpoch: b.LeaderEpoch, PartitionEpoch: b.PartitionEpoch, Recovering: c.Recovering}
	c.lead(&after)
	c.rememberLeader(&after)
	if sameState(b, &after) {
		return after, false
	}
	after.PartitionEpoch++
	return after, true
}

// settleELR: what leaves a too small ISR stays eligible, for the high watermark cannot have passed it.
func (c *Change) settleELR() {
	if c.elr = nil; c.enough(c.ISR) {
		return
	}
	for _, n := range slices.Concat(c.Before.ELR, c.Before.ISR) {
		if n != c.Lost && !slices.Contains(c.ISR, n) && !slices.Contains(c.elr, n) && slices.Contains(c.Replicas, n) {
			c.elr = append(c.elr, n)
		}
	}
	slices.Sort(c.elr)
}

// enough reports whether an in-sync set may acknowledge.
func (c *Change) enough(isr []wire.NodeID) bool { return len(isr) >= min(c.MinISR, len(c.Replicas)) }

// lead elects, and makes the state the new leader's.
func (c *Change) lead(after *image.PartitionState) {
	leader, unclean := c.elect()
	switch {
	case leader == c.Before.Leader:
		if c.Lacking || !containsAll(c.Replicas, c.Before.Replicas) {
			after.LeaderEpoch++ // a replica that goes must not be able to go on with the epoch it knows
		}
		return
	case unclean:
		after.ISR, after.ELR, after.Recovering = []wire.NodeID{leader}, nil, true
	case leader != wire.NoNode && !slices.Contains(c.ISR, leader):
		after.ISR, after.ELR = []wire.NodeID{leader}, wire.WithoutNodes(c.elr, leader)
		if c.enough(after.ISR) {
			after.ELR = nil // it may acknowledge alone, which Kafka overlooks when min.insync.replicas was lowered meanwhile
		}
	}
	after.Leader = leader
	after.LeaderEpoch++
}

// rememberLeader keeps who led when the ISR became empty, until there is a leader again: KIP-966's balanced recovery. Unlike Kafka it
// forgets a leader whose directories are gone.
func (c *Change) rememberLeader(after *image.PartitionState) {
	switch {
	case after.Leader != wire.NoNode:
		after.LastKnownELR = nil
	case len(after.ISR) == 0 && len(c.Before.ISR) > 0 && c.Before.Leader != wire.NoNode:
		after.LastKnownELR = []wire.NodeID{c.Before.Leader}
	}
	if c.Wiped && slices.Contains(after.LastKnownELR, c.Lost) {
		after.LastKnownELR = nil
	}
}

func sameState(a, b *image.PartitionState) bool {
	return a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch && a.Recovering == b.Recovering && slices.Equal(a.Replicas, b.Replicas) &&
		slices.Equal(a.ISR, b.ISR) && slices.Equal(a.ELR, b.ELR) && slices.Equal(a.LastKnownELR, b.LastKnownELR) &&
		slices.Equal(a.Adding, b.Adding) && slices.Equal(a.Removing, b.Removing)
}

func containsAll(ids, all []wire.NodeID) bool {
	return !slices.ContainsFunc(all, func(n wire.NodeID) bool { return !slices.Contains(ids, n) })
}
