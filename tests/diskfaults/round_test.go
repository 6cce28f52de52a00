package diskfaults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
	"github.com/ringmill/ringmill/tests/powercut"
)

// scrubbed has the nodes look at what they have all the time; a scrub goes as far as what a checkpoint has made durable.
var scrubbed = map[string]string{
	"min.insync.replicas":        "2",
	"ringmill.scrub.interval.ms": "500", "ringmill.scrub.bytes.per.second.max": "200000000", "log.initial.task.delay.ms": "0",
	"log.flush.offset.checkpoint.interval.ms": "500",
}

// round is one cluster under load, from its beginning to the verdict.
type round struct {
	t       *testing.T
	random  *rand.Rand
	seed    uint64
	where   string
	disks   []*powercut.Disk // by node; nil where they are folders
	cluster *harness.Cluster
	load    *load.Load
	faults  []string
	counts  map[string]int
}

const (
	diskBytes     = 512 << 20
	between       = 50 // records that are acknowledged before and after each fault
	partitionsOf  = 3
	segmentOption = "segment.bytes=1048576" // Kafka's lowest
)

// begin starts three nodes, each on a file system of the kind, or in a folder if that is "".
func begin(t *testing.T, kind string, properties map[string]string) *round {
	t.Helper()
	return beginAt(t, kind, make([]harness.Place, 3), properties)
}

// beginAt is begin with nodes at some places.
func beginAt(t *testing.T, kind string, places []harness.Place, properties map[string]string) *round {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	r := &round{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), where: kind, counts: map[string]int{}}
	for i := range places {
		if kind == "" {
			r.where = "folders"
			continue
		}
		disk := powercut.New(t, kind, diskBytes)
		r.disks, places[i].Data = append(r.disks, disk), disk.Dir
	}
	all := maps.Clone(scrubbed)
	maps.Copy(all, properties)
	r.cluster = harness.StartClusterAt(t, places, all)
	r.load = load.Start(t, r.cluster.Nodes, load.Options{Partitions: partitionsOf, Replicas: 3, Configs: []string{segmentOption}, ValueBytes: 4000, Pace: 2 * time.Millisecond, Marks: true})
	return r
}

// node is any of them.
func (r *round) node() (int, *harness.Node) {
	i := r.random.IntN(len(r.cluster.Nodes))
	return i, r.cluster.Nodes[i]
}

// fault breaks something under load, and waits until the cluster is whole again.
func (r *round) fault(what string, count string, n int, breakIt func()) {
	r.t.Helper()
	r.load.AwaitProgress(between)
	time.Sleep(time.Duration(r.random.IntN(300)) * time.Millisecond)
	began := load.Now()
	breakIt()
	r.load.History.Add(load.Event{Op: "fault", T0: began, T1: load.Now(), Kind: what, Bit: true})
	r.faults = append(r.faults, what)
	r.counts[count] += n
	r.load.AwaitProgress(between)
	r.load.AwaitWhole()
	r.awaitMended()
	r.t.Logf("%5.1f s: %s; whole after %.1f s", float64(began-r.load.Began)/1e9, what, float64(load.Now()-began)/1e9)
}

// awaitMended returns when no node has a replica that lacks anything.
func (r *round) awaitMended() {
	r.t.Helper()
	for _, node := range r.cluster.Nodes {
		harness.Eventually(r.t, node.Address+" has mended its replicas", func(context.Context) error {
			if n := node.Metric(r.t, "ringmill_lacking_replicas"); n > 0 {
				return fmt.Errorf("%.0f replicas lack something", n)
			}
			return nil
		})
	}
}

// end judges what clients saw and what the disks have, and stops the nodes cleanly.
func (r *round) end(campaign string) {
	r.t.Helper()
	gap := r.load.History.LongestGap()
	verdict := r.load.Finish(between)
	entry := load.Entry{Campaign: campaign, Seed: r.seed, Nodes: len(r.cluster.Nodes), Where: r.where, Faults: r.faults, Counts: r.counts,
		Acked: r.load.History.Acknowledged(), GapMS: gap / 1e6, Verdict: verdict.Status}
	if verdict.Status != load.Holds {
		entry.Why = verdict.Said
		r.t.Errorf("verdict: %s", verdict.Said)
	}
	ledger := load.OpenLedger(r.t)
	ledger.Add(r.t, entry)
	r.t.Log(ledger.Sum(campaign))
	for _, node := range r.cluster.Nodes {
		node.Stop(r.t)
	}
}
