package faults

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
)

// quick are the faults of a run without settings.
const quick = "kill the leader,cut the leader from followers,pause the controller"

// TestFaults: under load, one fault after the other, and after each the cluster becomes whole; in the end nothing that was acknowledged is
// missing, twice, out of order or different anywhere.
func TestFaults(t *testing.T) {
	meet(t, cmp.Or(os.Getenv("RINGMILL_TEST_FAULTS"), quick))
}

// TestWrongClocks is TestFaults in a cluster whose nodes have clocks of their own.
func TestWrongClocks(t *testing.T) {
	if harness.ChosenPeer() != harness.Ringmill {
		t.Skip("the clocks are those of a ringmill that is built for them")
	}
	meet(t, "kill with a clock ahead,a clock an hour behind,clocks jump")
}

// meet has a new cluster meet faults of some names.
func meet(t *testing.T, names string) {
	t.Helper()
	var faults []Fault
	shape := Shape{Nodes: 3}
	for name := range strings.SplitSeq(names, ",") {
		f := Named(t, name)
		faults, shape.Clocks = append(faults, f), shape.Clocks || f.clocks
	}
	c := Begin(t, "quick", load.OpenLedger(t), shape, harness.Random(t).Uint64())
	c.Add(os.Getenv("RINGMILL_TEST_WITH"))
	for _, f := range faults {
		if c.Can(f) {
			c.Inject(f)
		}
	}
	if verdict := c.End(); verdict.Status == load.Unknown {
		t.Errorf("no judgement: %s", verdict.Said)
	}
}

// roundFaults bounds a history: a cluster and its records are new after so many faults.
const roundFaults = 12

// TestCampaign draws faults until it has had as many kills and partitions as it was asked for.
func TestCampaign(t *testing.T) {
	kills, partitions := harness.Setting(t, "RINGMILL_TEST_KILLS", 0), harness.Setting(t, "RINGMILL_TEST_PARTITIONS", 0)
	if kills+partitions == 0 {
		t.Skip("RINGMILL_TEST_KILLS and RINGMILL_TEST_PARTITIONS say how long a campaign is; make soak-cluster sets them")
	}
	random := harness.Random(t)
	ledger := load.OpenLedger(t)
	had := map[string]int{}
	for had["kills"] < kills || had["partitions"] < partitions {
		shape := Shape{Nodes: 3, Clocks: random.IntN(2) == 0}
		if random.IntN(3) == 0 {
			shape.Nodes = 5
		}
		c := Begin(t, "cluster", ledger, shape, random.Uint64())
		if c.network == nil && had["kills"] >= kills {
			t.Fatal("no partition can be had on this machine")
		}
		c.Add(cmp.Or(os.Getenv("RINGMILL_TEST_WITH"), []string{"", transactions, libraries}[random.IntN(3)]))
		for range roundFaults {
			c.Inject(c.Draw())
		}
		if verdict := c.End(); verdict.Status == load.Violation {
			t.Fatal(ledger.Sum("cluster"))
		}
		for what, count := range c.counts {
			had[what] += count
		}
	}
	t.Log(ledger.Sum("cluster"))
}
