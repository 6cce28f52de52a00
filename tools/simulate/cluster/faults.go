package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/ringmill/ringmill/tools/simulate/world"
)

// FaultKind is a kind of fault.
type FaultKind uint8

// The kinds of faults.
const (
	Kill         FaultKind = iota // SIGKILL: what was written stays
	PowerCut                      // what was not synced may be gone, page by page
	PowerCutAll                   // of all nodes at once
	Pause                         // SIGSTOP
	CutOneWay                     // a hears b, b does not hear a
	CutBothWays                   //
	Isolate                       // from all other nodes, not from clients
	IsolateAll                    // from clients too
	SlowDisk                      // each sync takes long
	FailedSync                    // the next sync fails: the node ends itself
	CleanRestart                  // SIGTERM
	faultKinds             = 11

	// those that are drawn by themselves: see drawMembers

	SlowLink   FaultKind = 11 // every message to the peer takes long
	WipedLogs  FaultKind = 12 // the node comes back with an empty log directory
	WipedDisk  FaultKind = 13 // and without its part of the quorum
	LostLogs   FaultKind = 14 // the node comes back with log directories empty, and tells the controller itself
	namedKinds           = 15
)

var faultNames = [namedKinds]string{"kill", "power cut", "power cut of all", "pause", "one-way cut", "cut", "isolation", "full isolation",
	"slow disk", "failed sync", "clean restart", "slow link", "loss of the logs", "loss of the disk", "loss of log directories"}

// String names the kind.
func (k FaultKind) String() string { return faultNames[k] }

// Target is which node a fault hits, settled when it happens.
type Target uint8

// The targets.
const (
	AnyNode    Target = iota // Fault.Node
	Leader                   // of place Fault.Node
	Controller               // the quorum's leader
	targets           = 3

	// those that a fault waits for from its time on: see strike

	Cutter    Target = 3 // the next node that has cut its log
	Joiner    Target = 4 // the next node that its leader proposes for an in-sync set
	Spreader  Target = 5 // the next leader of a coordinator's partition of whose records the one who would follow it has what another in sync lacks
	Heir      Target = 6 // the next who comes to lead such a partition, with records that the one who would follow it lacks
	Committer Target = 7 // the next producer that is about to commit offsets in its transaction
	Beginner  Target = 8 // the next node that begins logs anew; if Late, that has made them
)

// Fault is one fault of a run. All are drawn before it begins, so that a run may be repeated with some left out.
type Fault struct {
	At     time.Duration
	Kind   FaultKind
	Target Target
	Node   int           // index of a node, or of a place
	Peer   int           // index of the other node of a cut, counted from the target
	Length time.Duration // until healed, resumed or started again
	// Of one at a Cutter: how long after the cut; at a Joiner: by how much the proposal is late at most; at a Spreader: how long after another has
	// its records; at an Heir: how long after it has read them.
	Late time.Duration
}

// String is the fault as reports have it.
func (f Fault) String() string {
	target := fmt.Sprintf("node %d", f.Node)
	switch f.Target {
	case Leader:
		target = fmt.Sprintf("the leader of partition %d", f.Node)
	case Controller:
		target = "the controller"
	case Cutter:
		target = fmt.Sprintf("who cuts its log next, %v after that,", f.Late.Round(time.Millisecond))
	case Joiner:
		target = fmt.Sprintf("who is to join an in-sync set next, and is proposed %v late at most,", f.Late.Round(time.Millisecond))
	case Spreader:
		target = fmt.Sprintf("the coordinator whose records are not with all in sync next, %v after that,", f.Late.Round(time.Millisecond))
	case Heir:
		target = fmt.Sprintf("who is a coordinator next with such records, %v after it has read them,", f.Late.Round(time.Millisecond))
	case Committer:
		target = "the producer that is to commit offsets next"
	case Beginner:
		target = "who begins logs anew next"
	}
	return fmt.Sprintf("%v  %v of %s (peer +%d) for %v", f.At.Round(time.Millisecond), f.Kind, target, f.Peer, f.Length.Round(time.Millisecond))
}

func drawFaultRates(r *rand.Rand) FaultRates {
	rates := FaultRates{
		Gap:    world.Pick(r, 150*time.Millisecond, 350*time.Millisecond, time.Second),
		Length: world.Pick(r, 300*time.Millisecond, 1500*time.Millisecond, 3*time.Second),
	}
	for kind := range rates.Weight {
		rates.Weight[kind] = world.Pick(r, 0, 0, 1, 3)
	}
	if !slices.ContainsFunc(rates.Weight[:], func(w int) bool { return w > 0 }) {
		rates.Weight[Kill], rates.Weight[CutBothWays] = 1, 1
	}
	return rates
}

// DrawFaults draws a run's faults, in the order of time.
func DrawFaults(r *rand.Rand, o Options) []Fault {
	var kinds []FaultKind
	for kind, weight := range o.Faults.Weight {
		for range weight {
			kinds = append(kinds, FaultKind(kind))
		}
	}
	var faults []Fault
	// the first faults may hit a cluster that has not come up yet
	for at := time.Duration(r.ExpFloat64() * float64(o.Faults.Gap)); at < o.Safety; at += time.Duration(r.ExpFloat64() * float64(o.Faults.Gap)) {
		f := Fault{At: at, Kind: world.Pick(r, kinds...), Peer: 1 + r.IntN(o.Nodes-1), Length: world.Between(r, 10*time.Millisecond, o.Faults.Length)}
		f.Target = Target(r.IntN(targets))
		f.Node = r.IntN(o.Nodes)
		if f.Target == Leader {
			f.Node = r.IntN(len(o.places()))
		}
		faults = append(faults, f)
	}
	return faults
}
