package eos

import (
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
	"github.com/ringmill/ringmill/tests/powercut"
)

// endingsInARound bounds a history: a node and its clients are new after so many endings.
const endingsInARound = 10

func TestMain(m *testing.M) {
	RunIfClient()
	harness.Main(m)
}

// TestExactlyOnce: over kill -9 of the node and of its clients, every committed record is there once, no aborted one was ever
// seen, and the loops' offsets agree with what they made.
func TestExactlyOnce(t *testing.T) {
	kills := harness.Setting(t, "RINGMILL_TEST_KILLS", 4)
	random := harness.Random(t)
	for done := 0; done < kills; {
		node := harness.Start(t, harness.Options{Properties: Properties})
		w := Start(t, []*harness.Node{node}, nil, random)
		round := min(endingsInARound, kills-done)
		for range round {
			w.moment()
			node.Kill(t)
			w.KillSome()
			node.Restart(t)
		}
		done += round
		w.AwaitProgress(30)
		w.AwaitLoop()
		if verdict := w.Finish(20 * round); verdict.Status == load.Unknown {
			t.Errorf("no judgement: %s", verdict.Said)
		}
		node.Stop(t)
		if t.Failed() {
			t.Fatalf("after %d kills", done)
		}
	}
}

// TestExactlyOncePowerCut: the same holds when the power goes.
func TestExactlyOncePowerCut(t *testing.T) {
	if peer := harness.ChosenPeer(); peer != harness.Ringmill {
		t.Skipf("%s acknowledges from the page cache: a power cut loses records by contract", peer)
	}
	cuts := harness.Setting(t, "RINGMILL_TEST_CUTS", 2)
	random := harness.Random(t)
	for done := 0; done < cuts; {
		kind := []string{"ext4", "xfs"}[random.IntN(2)]
		disk := powercut.New(t, kind, 2<<30)
		node := harness.StartRingmill(t, harness.Options{Data: disk.Dir, Properties: Properties})
		w := Start(t, []*harness.Node{node}, nil, random)
		round := min(endingsInARound, cuts-done)
		for range round {
			w.moment()
			if random.IntN(2) == 0 {
				node.Kill(t)
				disk.Cut(t)
			} else {
				disk.Cut(t)
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond) // it must not acknowledge what its disk refuses
				node.Kill(t)
			}
			disk.Remount(t)
			w.KillSome()
			node.Restart(t)
		}
		done += round
		w.AwaitProgress(30)
		w.AwaitLoop()
		if verdict := w.Finish(20 * round); verdict.Status == load.Unknown {
			t.Errorf("no judgement: %s", verdict.Said)
		}
		node.Stop(t)
		if t.Failed() {
			t.Fatalf("after %d cuts on %s", done, kind)
		}
	}
}
