package diskfaults

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/faultfs"
	"github.com/ringmill/ringmill/tests/harness"
)

// device is a node of a round, and the disk of the tests' own that it is on.
type device struct {
	*round
	disk *faultfs.Disk
	i    int
	node *harness.Node
}

// beginOnDevice is begin with one node of three on a device that can be broken.
func beginOnDevice(t *testing.T) *device {
	t.Helper()
	d := &device{disk: faultfs.New(t), i: rand.IntN(3)}
	places := make([]harness.Place, 3)
	places[d.i].Data = d.disk.Dir
	d.round = beginAt(t, "", places, nil)
	d.where = "FUSE"
	d.node = d.cluster.Nodes[d.i]
	d.node.LogDir = filepath.Join(d.disk.Backing, "logs")
	return d
}

func segments(path string) bool { return filepath.Ext(path) == ".log" && !quorumLog(path) }

func journal(path string) bool { return strings.HasPrefix(filepath.Base(path), "journal-") }

func quorumLog(path string) bool { return strings.Contains("/"+path, "/quorum/") }

func promises(path string) bool {
	return !quorumLog(path) && !strings.HasPrefix(path, "state/metadata")
}

// lie has the device keep nothing of some files for a while, and ends the node, and its power: the node has promised what it has not.
func (d *device) lie(files faultfs.Files, end func(testing.TB)) {
	d.t.Helper()
	d.disk.Lie(d.t, files)
	d.load.AwaitProgress(10 * between)
	end(d.t)
	if lost := d.disk.Cut(d.t); lost == 0 {
		d.t.Error("the lie has cost nothing")
	}
	d.node.Restart(d.t)
}

// fail has writes, or syncs alone, of some files fail until the node ends. What was written and not synced is gone when it is back.
func (d *device) fail(files faultfs.Files, writes bool) {
	d.t.Helper()
	before := d.disk.Failed()
	if writes {
		d.disk.FailWrites(files)
	} else {
		d.disk.FailSyncs(d.t, files)
	}
	// something for the quorum's log, which is seldom written; two replicas, for the node may have left already
	other(d.cluster, d.node).MakeTopic(d.t, harness.Name("meanwhile"), 1, 2)
	harness.Await(d.t, "a node whose disk fails ends", func() bool { return !d.node.Alive() })
	if d.disk.Failed() == before {
		d.t.Error("the node has ended, and nothing has failed")
	}
	d.awaitOut(d.i)
	d.load.AwaitProgress(10 * between)
	if writes {
		d.disk.Heal()
	} else {
		d.disk.Cut(d.t)
	}
	d.node.Restart(d.t)
}

// slow has every sync take long: the others go on, and so does the node.
func (d *device) slow() {
	d.t.Helper()
	before := d.disk.Slowed()
	d.disk.Slow(200*time.Millisecond, 500*time.Millisecond)
	d.load.AwaitProgress(10 * between)
	d.disk.Heal()
	if d.disk.Slowed() == before {
		d.t.Error("no sync was slow")
	}
	if !d.node.Alive() {
		d.t.Fatal("the node has ended")
	}
}

// deviceFaults in the order in which they come. A lie about the quorum's log is none of them: a member that forgets is made to end for good by a
// leader that remembers (quorum.ErrLostEntries), and is more than Raft stands under one that does not (docs/reliability.md).
var deviceFaults = []struct {
	name  string
	do    func(*device)
	count string
}{
	{"lying syncs, then a power cut", func(d *device) { d.lie(promises, d.node.Kill) }, "lies"},
	{"failed writes of segments", func(d *device) { d.fail(segments, true) }, "errors"},
	{"slow syncs", (*device).slow, "slow spells"},
	{"failed syncs of the journal", func(d *device) { d.fail(journal, false) }, "errors"},
	{"lying syncs of segments, then a power cut", func(d *device) { d.lie(segments, d.node.Kill) }, "lies"},
	{"failed writes of the quorum's log", func(d *device) { d.fail(quorumLog, true) }, "errors"},
	{"failed syncs of segments", func(d *device) { d.fail(segments, false) }, "errors"},
	{"lying syncs of the journal, then a power cut", func(d *device) { d.lie(journal, d.node.Kill) }, "lies"},
	{"lying syncs of segments, then a clean stop", func(d *device) { d.lie(segments, d.node.Stop) }, "lies"},
	{"failed writes of the journal", func(d *device) { d.fail(journal, true) }, "errors"},
	{"failed syncs of the quorum's log", func(d *device) { d.fail(quorumLog, false) }, "errors"},
}

// TestBadDevice: the device of one node of three lies about what it has synced and loses it, fails writes and syncs, and is slow. Nothing that
// was acknowledged is lost, for the other two have it, and the node is mended.
func TestBadDevice(t *testing.T) {
	faults := harness.Setting(t, "RINGMILL_TEST_DEVICES", 1)
	for done := 0; done < faults; {
		d := beginOnDevice(t)
		for range min(len(deviceFaults), faults-done) {
			fault := deviceFaults[done%len(deviceFaults)]
			d.fault(fault.name, fault.count, 1, func() { fault.do(d) })
			done++
		}
		if d.end("devices"); t.Failed() {
			t.Fatalf("after %d faults", done)
		}
	}
}
