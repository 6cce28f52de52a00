package cluster

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// quietGap is the mean time between the faults of a run that has those aimed at coordinators, or at their clients, to itself.
const quietGap = 3 * time.Second

// catchUp is Liveness for such a run: a loop of two takes a third of a second for 40 records where a sync takes 30 ms, and may lack 10,000.
const catchUp = 90 * time.Second

// drawCoordination draws the mean time between faults at coordinators, or at those who commit with them. A run that has any has few others:
// with many of them clients get next to nothing done before all is healed, and there is nothing to aim at. So there is more to catch up with in the end.
func drawCoordination(r *rand.Rand, o *Options) {
	target, mean := world.Pick(r, AnyNode, Spreader, Committer), world.Pick(r, time.Second, 3*time.Second)
	if o.Coordinators.TxnPartitions == 0 || target == AnyNode || target == Committer && o.Coordinators.Loops < 2 { // nobody to take its place
		return
	}
	o.Liveness = catchUp
	o.Faults.Gap, o.Aimed.Cuts, o.Members.SlowLinks, o.Network.LossShare = max(o.Faults.Gap, quietGap), 0, 0, 0
	if target == Spreader { // it takes one who leads, one who has its records, and one who lacks them
		o.Aimed.Coordinators = mean
		o.Replication = max(o.Replication, 3)
		o.Reassign = o.Reassign && o.Nodes > o.Replication
		return
	}
	o.Aimed.Committers = mean
	o.AcksOne = 0                                                               // loops make nothing of what such producers write
	o.Coordinators.Timeout = max(o.Coordinators.Timeout, 1500*time.Millisecond) // a transaction outlives its member's session, as by default
}

// heirLate is how long a coordinator that is to be struck has its clients at most: some wait for the one before until their patience is over.
const heirLate = 1500 * time.Millisecond

// drawCoordinationFaults draws them, each kind in the order of time. A coordinator is away until the one that follows it has been struck, and that
// one until a third may lead; a client is away for longer than its session.
func drawCoordinationFaults(r *rand.Rand, o Options) []Fault {
	kinds := []FaultKind{Isolate, IsolateAll, Pause}
	if o.FlushPolicy == "commit" {
		kinds = append(kinds, Kill, PowerCut)
	}
	spreaders := drawEvery(r, o.Aimed.Coordinators, o.Safety, func(at time.Duration) Fault {
		return Fault{
			At: at, Kind: world.Pick(r, kinds...), Target: Spreader, Peer: 1,
			Length: heirLate + world.Between(r, 2*o.SessionTimeout, 3*o.SessionTimeout), Late: world.Between(r, 50*time.Millisecond, o.ReplicaLagMax),
		}
	})
	heirs := drawEvery(r, o.Aimed.Coordinators, o.Safety, func(at time.Duration) Fault {
		return Fault{
			At: at, Kind: world.Pick(r, kinds...), Target: Heir, Peer: 1,
			Length: heirLate + world.Between(r, 3*o.SessionTimeout, 4*o.SessionTimeout), Late: world.Between(r, clientPatience/4, heirLate),
		}
	})
	committers := drawEvery(r, o.Aimed.Committers, o.Safety, func(at time.Duration) Fault {
		return Fault{At: at, Kind: Pause, Target: Committer, Peer: 1, Length: world.Between(r, groupSession, 3*groupSession)}
	})
	return slices.Concat(spreaders, heirs, committers)
}

// groupSession is session.timeout.ms of the members of groups.
const groupSession = groupSessionMS * time.Millisecond

// isCoordinators says whether a place is a partition of coordinators.
func (c *Cluster) isCoordinators(place int) bool { return c.places[place].Topic != topicName }

// lacking are the others in sync that lack some of a coordinator's log.
func (r *replica) lacking() (lacking []*Node) {
	c := r.node.cluster
	s := c.newestStates[r.index]
	if !c.isCoordinators(r.index) || s == nil {
		return nil
	}
	for _, id := range s.ISR {
		n := c.node(id)
		if n.process.Running() && n.replicas[r.index] != nil && n.replicas[r.index].log.LogEndOffset() < r.log.LogEndOffset() {
			lacking = append(lacking, n)
		}
	}
	return lacking
}

// next is who comes to lead a partition if its leader does not any more: the first in sync; nil if nobody does.
func (c *Cluster) next(place int) *Node {
	s := c.newestStates[place]
	for _, id := range s.Replicas {
		if id != s.Leader && slices.Contains(s.ISR, id) {
			return c.node(id)
		}
	}
	return nil
}

// hasTaken says that a follower has new records of its leader. Where it is the one who would follow that, and another in sync lacks some of them, the
// leader may be struck: what it sends to the other is late from now on, so that there will be more.
func (r *replica) hasTaken() {
	c, leader, lacking := r.node.cluster, r.partition.Leader(), r.lacking()
	if leader == wire.NoNode || len(lacking) == 0 {
		return
	}
	if c.newestStates[r.index].Leader != leader || c.next(r.index) != r.node {
		return
	}
	if f, ok := c.aimedAt(Spreader); ok {
		n := c.node(leader)
		n.late(lacking, f.Length)
		n.strikeLate(f)
	}
}

// hasComeToLead says that a node is the leader of a coordinator's partition from now on. It may be struck once its coordinator has read records that
// the one who would follow it lacks, and has clients again: what it gives is to be called when it has read them.
func (r *replica) hasComeToLead() (hasRead func()) {
	if lacking := r.lacking(); len(lacking) > 0 && slices.Contains(lacking, r.node.cluster.next(r.index)) {
		if f, ok := r.node.cluster.aimedAt(Heir); ok {
			r.node.late(lacking, f.Length)
			return func() { r.node.strikeLate(f) }
		}
	}
	return func() {}
}

// late has what a node sends to others come late for a while.
func (n *Node) late(others []*Node, length time.Duration) {
	slow := func(by time.Duration) {
		for _, other := range others {
			n.cluster.network.Slow(n.index, other.index, by)
		}
	}
	slow(slowLinkBy)
	n.cluster.healAfter(length, func() { slow(0) })
}

// strikeLate strikes a node some time from now, if its life lasts until then.
func (n *Node) strikeLate(f Fault) {
	life := n.process.Life()
	n.cluster.healAfter(f.Late, func() {
		if n.process.Life() == life {
			n.cluster.hit(n, f)
		}
	})
}

// commits says that the producer is about to commit offsets: its client is struck before the request goes out, unless another one's pause lasts,
// for somebody has to go on in its place.
func (in *instance) commits() {
	c := in.transactor.cluster
	for _, t := range c.transactors {
		if slices.ContainsFunc(t.instances, func(other *instance) bool { return other.process.Paused() }) {
			return
		}
	}
	if f, ok := c.aimedAt(Committer); ok {
		c.world.Tracef("fault     %v of %s for %v", f.Kind, in.process.Name(), f.Length.Round(time.Millisecond))
		c.stats.faults++
		c.pause(in.process, f.Length)
	}
}
