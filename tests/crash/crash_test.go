package crash

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/powercut"
)

func TestMain(m *testing.M) { harness.Main(m) }

// killsInARound bounds a history: a node and its records are new after so many kills.
const killsInARound = 10

// moment waits for the instant of an ending: every second one while a segment rolls, the others at random.
func (w *workload) moment(random *rand.Rand, number int) {
	w.t.Helper()
	w.awaitProgress(100)
	if number%2 == 0 {
		w.awaitRoll(random)
	}
	time.Sleep(time.Duration(random.IntN(300_000)) * time.Microsecond / time.Duration(1+9*(1-number%2)))
}

// TestKillNine: no acknowledged record is lost, none is twice, and no offset is skipped, over kill -9 under load.
func TestKillNine(t *testing.T) {
	kills := harness.Setting(t, "RINGMILL_TEST_KILLS", 6)
	random := harness.Random(t)
	for done := 0; done < kills; {
		node := harness.Start(t, harness.Options{})
		load := startWorkload(t, node)
		for range min(killsInARound, kills-done) {
			load.moment(random, done)
			node.Kill(t)
			node.Restart(t)
			done++
		}
		load.awaitProgress(100)
		load.finish()
		node.Stop(t)
		dumpsAgree(t, node)
		if t.Failed() {
			t.Fatalf("after %d kills", done)
		}
	}
}

// TestPowerCut: under ringmill.flush.policy=commit, the default, the same holds when the power goes.
func TestPowerCut(t *testing.T) {
	if peer := harness.ChosenPeer(); peer != harness.Ringmill {
		t.Skipf("%s acknowledges from the page cache: a power cut loses records by contract", peer)
	}
	cuts := harness.Setting(t, "RINGMILL_TEST_CUTS", 4)
	for _, kind := range []string{"ext4", "xfs"} {
		t.Run(kind, func(t *testing.T) {
			random := harness.Random(t)
			for done := 0; done < (cuts+1)/2; {
				disk := powercut.New(t, kind, 2<<30)
				node := harness.StartRingmill(t, harness.Options{Data: disk.Dir})
				load := startWorkload(t, node)
				for range min(killsInARound/2, (cuts+1)/2-done) {
					load.moment(random, done)
					cut(t, node, disk, random)
					node.Restart(t)
					done++
				}
				load.awaitProgress(100)
				load.finish()
				node.Stop(t)
				dumpsAgree(t, node)
				if t.Failed() {
					t.Fatalf("after %d cuts", done)
				}
			}
		})
	}
}

// dumpsAgree holds the dump tools against each other on what a run leaves.
func dumpsAgree(t *testing.T, node *harness.Node) {
	t.Helper()
	if node.Peer == harness.Ringmill {
		t.Run("dump tools", func(t *testing.T) { harness.WantDumpsAgree(t, node.LogDir) })
	}
}

// cut ends node and disk as one, in either order: a node that lives on for an instant must not acknowledge what its disk
// refuses.
func cut(t *testing.T, node *harness.Node, disk *powercut.Disk, random *rand.Rand) {
	t.Helper()
	if random.IntN(2) == 0 {
		node.Kill(t)
		disk.Cut(t)
	} else {
		disk.Cut(t)
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		node.Kill(t)
	}
	disk.Remount(t)
}
