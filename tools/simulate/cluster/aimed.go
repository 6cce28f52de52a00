package cluster

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// AimedOptions say which faults wait for the moment in which they may do harm: chance alone meets it too seldom. They have a stream of their own.
type AimedOptions struct {
	Cuts time.Duration `json:"cuts"` // mean time between faults at who has cut its log; 0: none
	Join bool          `json:"join"` // the loss of the logs is of who is about to join an in-sync set
	// What is in the journal when a crash comes: how often checkpoints let it forget, and for how much it has room.
	Checkpoints   time.Duration `json:"checkpoints"`
	JournalTracks int           `json:"journalTracks"`
	// Locked says that nodes register as those who hold their directory's lock, and so need not wait until the session of their last run is over.
	Locked bool `json:"locked"`
	// These have another stream: see drawCoordination.
	Coordinators time.Duration `json:"coordinators"` // mean time between faults at coordinators some of whose records one in sync lacks; 0: none
	Committers   time.Duration `json:"committers"`   // and between pauses of producers that are about to commit offsets
}

// drawAimed draws them; nodes lose power under commit alone.
func drawAimed(r *rand.Rand, o *Options) (a AimedOptions) {
	cuts, join := world.Pick(r, 0, 500*time.Millisecond, 2*time.Second), r.IntN(2) == 0
	a.Checkpoints, a.JournalTracks = world.Pick(r, time.Second, 20*time.Second), world.Pick(r, 3, 40)
	a.Locked = r.IntN(2) == 0
	if o.FlushPolicy == "commit" {
		a.Cuts, a.Join = cuts, join && o.Members.Wipe == WipedLogs
	}
	return a
}

// drawAimedFaults draws them, in the order of time.
func drawAimedFaults(r *rand.Rand, o Options) []Fault {
	faults := drawEvery(r, o.Aimed.Cuts, o.Safety, func(at time.Duration) Fault {
		return Fault{
			At: at, Kind: world.Pick(r, Kill, PowerCut, PowerCut, PowerCutAll), Target: Cutter, Peer: 1,
			Length: world.Between(r, 10*time.Millisecond, o.Faults.Length), Late: world.Between(r, 0, 300*time.Millisecond),
		}
	})
	if o.Aimed.Join {
		faults = append(faults, Fault{
			At: o.Members.WipeAt, Kind: o.Members.Wipe, Target: Joiner, Peer: 1,
			Length: world.Between(r, 10*time.Millisecond, 50*time.Millisecond), Late: world.Between(r, 500*time.Millisecond, 2*time.Second),
		})
	}
	return faults
}

// drawEvery draws a fault at the mean time between such faults and, until they end, as often after that; none where the mean is 0.
func drawEvery(r *rand.Rand, mean, until time.Duration, next func(at time.Duration) Fault) (faults []Fault) {
	for at := mean; at > 0 && at < until; at += time.Duration(r.ExpFloat64() * float64(mean)) {
		faults = append(faults, next(at))
	}
	return faults
}

// aimedAt takes the fault that has waited longest for a target; ok is false if there is none.
func (c *Cluster) aimedAt(t Target) (f Fault, ok bool) {
	return c.takeAimed(func(f Fault) bool { return f.Target == t })
}

// takeAimed is aimedAt of faults that match.
func (c *Cluster) takeAimed(match func(Fault) bool) (f Fault, ok bool) {
	at := slices.IndexFunc(c.aimed, match)
	if c.calm || at < 0 {
		return Fault{}, false
	}
	f = c.aimed[at]
	c.aimed = slices.Delete(c.aimed, at, at+1)
	return f, true
}

// hasCut says that the node has cut a log.
func (n *Node) hasCut() {
	if f, ok := n.cluster.aimedAt(Cutter); ok {
		n.cluster.healAfter(f.Late, func() { n.cluster.hit(n, f) })
	}
}

// lateProposal is what delays a leader's proposal: a node that is to join the in-sync set is struck meanwhile. It is another one when it
// comes back, and need not have what it is proposed for.
type lateProposal struct {
	leader, joiner *Node
	was            wire.BrokerEpoch // the joiner's when it was proposed
	until          time.Duration
}

// delays says whether the node's proposal is late, and lets happen what it is late for.
func (n *Node) delays(r *replica, p replicate.ISRProposal) *lateProposal {
	c := n.cluster
	newest := c.newestStates[r.index]
	if newest.Leader != n.id || newest.PartitionEpoch != p.PartitionEpoch {
		return nil // it comes to nothing
	}
	for _, m := range p.ISR {
		joiner := c.node(m.ID)
		if slices.Contains(newest.ISR, m.ID) || !n.mayDelay(joiner) {
			continue
		}
		if f, ok := c.aimedAt(Joiner); ok {
			c.hit(joiner, f)
			c.network.Slow(joiner.index, n.index, slowLinkBy) // so that it lacks something for a while
			c.healAfter(f.Late, func() { c.network.Slow(joiner.index, n.index, 0) })
			return &lateProposal{leader: n, joiner: joiner, was: m.BrokerEpoch, until: c.world.Now() + f.Late}
		}
	}
	return nil
}

// mayDelay: neither of the two is the controller, which has to hear of both.
func (n *Node) mayDelay(joiner *Node) bool {
	controller := n.quorum.leader
	return controller != n.raftID() && controller != joiner.raftID() && joiner.process.Running() && n.cluster.mayLose(joiner)
}

// send lets the proposal go once the joiner is in service again, or cannot be waited for any longer.
func (l *lateProposal) send(ask func()) {
	b := l.leader.image.Broker(l.joiner.id)
	if back := b != nil && b.Epoch != l.was && !b.Fenced; back || l.leader.cluster.world.Now() >= l.until {
		ask()
		return
	}
	l.leader.process.After(time.Millisecond, func() { l.send(ask) })
}
