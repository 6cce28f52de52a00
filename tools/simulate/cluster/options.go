package cluster

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/ringmill/ringmill/tools/simulate/world"
)

// Options are what a seed draws first: what kind of cluster this is and how badly it is treated. Many rates are 0 in most runs
// (swarm testing): faults that hide one another get runs of their own.
type Options struct {
	Nodes       int     `json:"nodes"`
	Partitions  int     `json:"partitions"`
	Replication int     `json:"replication"`
	MinISR      int     `json:"minIsr"`
	FlushPolicy string  `json:"flushPolicy"` // commit, interval or cache
	Reassign    bool    `json:"reassign"`    // partitions are moved
	Journal     bool    `json:"journal"`     // batches are made durable by the journal of the loops
	Producers   int     `json:"producers"`
	InFlight    int     `json:"inFlight"` // batches of a producer and partition that wait for an answer
	Consumers   int     `json:"consumers"`
	Admins      int     `json:"admins"`
	SegmentSize int64   `json:"segmentSize"`
	AcksOne     float64 `json:"acksOne"` // share of producers that ask for acks=1

	Quorum          QuorumOptions `json:"quorum"`
	SessionTimeout  time.Duration `json:"sessionTimeout"`  // broker.session.timeout.ms
	Heartbeat       time.Duration `json:"heartbeat"`       // broker.heartbeat.interval.ms
	ReplicaLagMax   time.Duration `json:"replicaLagMax"`   // replica.lag.time.max.ms
	LeaderRebalance time.Duration `json:"leaderRebalance"` // leader.imbalance.check.interval.seconds; 0: off

	Coordinators CoordinatorOptions `json:"coordinators"`
	Members      MemberOptions      `json:"members"`
	Aimed        AimedOptions       `json:"aimed"`
	Losses       LossOptions        `json:"losses"`

	Network world.NetworkOptions `json:"network"`
	Disk    DiskOptions          `json:"disk"`
	Clock   ClockOptions         `json:"clock"`

	Safety   time.Duration `json:"safety"`   // how long faults happen
	Liveness time.Duration `json:"liveness"` // how long a healed cluster may take to be whole
	Faults   FaultRates    `json:"faults"`
}

// QuorumOptions are the quorum's: small sizes, so that files are changed and members fall behind.
type QuorumOptions struct {
	Tick            time.Duration
	ElectionTicks   int
	SegmentBytes    int64
	CacheBytes      int64
	TrailingEntries int // -1: none
}

// DiskOptions say how long disks take.
type DiskOptions struct {
	SyncMin, SyncMax time.Duration
	SlowShare        float64
	SlowMax          time.Duration
}

// ClockOptions say how nodes' clocks differ.
type ClockOptions struct {
	DriftMax float64       // share by which a node's monotonic clock may run fast or slow
	WallMax  time.Duration // by which its wall clock may be wrong
}

// FaultRates are how often faults come and of which kinds: relative weights, 0 for never.
type FaultRates struct {
	Gap    time.Duration   `json:"gap"` // mean time between two faults
	Weight [faultKinds]int `json:"weight"`
	Length time.Duration   `json:"length"` // how long cuts, pauses and restarts last at most
}

// DrawOptions draws a run's options.
func DrawOptions(s *world.Streams) Options {
	o := drawOptions(s.Options)
	o.Coordinators = drawCoordinators(s.Coordinators)
	o.Coordinators.ClassicReaders, o.Coordinators.ClassicLoops = s.Protocols.IntN(2) == 0, s.Protocols.IntN(2) == 0
	o.Members = drawMembers(s.Members, &o)
	o.Aimed = drawAimed(s.Aimed, &o)
	drawCoordination(s.Coordination, &o)
	o.Losses = drawLosses(s.Losses, &o)
	if o.Coordinators.TxnPartitions > 0 { // their clients are busy enough, and a run has its time
		o.Producers, o.Consumers, o.Admins = min(o.Producers, 1), min(o.Consumers, 1), min(o.Admins, 1)
	}
	return o
}

func drawOptions(r *rand.Rand) Options {
	nodes := world.Pick(r, 3, 3, 3, 4, 5)
	o := Options{
		Nodes: nodes, Partitions: 1 + r.IntN(4), Replication: min(nodes, world.Pick(r, 2, 3, 3, 3, 5)),
		FlushPolicy: world.Pick(r, "commit", "commit", "commit", "interval", "cache"),
		Producers:   1 + r.IntN(3), InFlight: 1 + r.IntN(5), Consumers: 1 + r.IntN(2), Admins: 1 + r.IntN(3),
		SegmentSize: world.Pick(r, int64(2000), 8000, 1<<20),
		Quorum: QuorumOptions{
			Tick: world.Pick(r, 20*time.Millisecond, 50*time.Millisecond), ElectionTicks: world.Pick(r, 5, 10),
			SegmentBytes: world.Pick(r, int64(1000), 10000, 1<<20), CacheBytes: world.Pick(r, int64(500), 1<<20),
			TrailingEntries: world.Pick(r, -1, 3, 1000),
		},
		SessionTimeout:  world.Pick(r, 400*time.Millisecond, 1000*time.Millisecond),
		LeaderRebalance: world.Pick(r, 0, 500*time.Millisecond, 3*time.Second),
		ReplicaLagMax:   world.Pick(r, 300*time.Millisecond, 1000*time.Millisecond),
		Network:         drawNetwork(r),
		Disk:            drawDisk(r),
		Clock:           ClockOptions{DriftMax: world.Pick(r, 0, 0.001, 0.1), WallMax: world.Pick(r, 0, time.Second, 5*time.Minute)},
		Safety:          10 * time.Second, Liveness: 20 * time.Second,
	}
	o.MinISR = min(o.Replication, world.Pick(r, 1, 2, 2, 2, 3))
	o.AcksOne = world.Pick(r, 0, 0, 0.3)
	o.Heartbeat = o.SessionTimeout / 5
	o.Faults = drawFaultRates(r)
	o.Reassign = o.Nodes > o.Replication && r.IntN(2) == 0
	o.Journal = o.FlushPolicy == "commit" && r.IntN(2) == 0
	if o.FlushPolicy != "commit" {
		// a controller cannot know that a killed node's page cache is still there: such partitions end without a leader
		for _, kind := range []FaultKind{Kill, PowerCut, PowerCutAll, FailedSync} {
			o.Faults.Weight[kind] = 0
		}
		o.Faults.Weight[CutBothWays]++
	}
	return o
}

func drawNetwork(r *rand.Rand) world.NetworkOptions {
	return world.NetworkOptions{
		LatencyMin: 100 * time.Microsecond, LatencyMax: world.Pick(r, time.Millisecond, 10*time.Millisecond),
		SlowShare: world.Pick(r, 0, 0, 0.02, 0.1), SlowMax: world.Pick(r, 100*time.Millisecond, 2*time.Second),
		LossShare: world.Pick(r, 0, 0, 0.02, 0.1), DuplicateShare: world.Pick(r, 0, 0, 0.05),
	}
}

func drawDisk(r *rand.Rand) DiskOptions {
	return DiskOptions{
		SyncMin: 200 * time.Microsecond, SyncMax: world.Pick(r, time.Millisecond, 5*time.Millisecond, 30*time.Millisecond),
		SlowShare: world.Pick(r, 0, 0, 0.01, 0.05), SlowMax: world.Pick(r, 100*time.Millisecond, time.Second),
	}
}

// String is one line of JSON.
func (o Options) String() string {
	text, _ := json.Marshal(o) // plain values always can be
	return string(text)
}
