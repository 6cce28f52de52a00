package tests

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/tests/harness"
)

// A run tells where the node's time went and what it used; what cannot be read is named, and is no reason for anything else to be missing.
func TestBenchStages(t *testing.T) {
	t.Parallel()
	node := harness.StartRingmill(t, harness.Options{})
	run := func(flags ...string) (report bench.Report) {
		// a busy machine makes a run invalid, whose stages are there too
		out, stderr, _ := harness.Command{Argv: harness.RingmillCommand(t, append([]string{"bench", "run", "-b", node.Address, "--rate", "500", "--batch", "1", "--duration", "2s", "--warm-up", "500ms", "-o", "json"}, flags...)...)}.Try()
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, stderr)
		}
		return report
	}
	report := run("--node-metrics", node.HTTP)
	if report.Stages == nil || len(report.Stages.Requests) < 2 || len(report.Missing) > 0 {
		t.Fatalf("%+v, missing %q", report.Stages, report.Missing)
	}
	for i, api := range []string{"Produce", "Fetch"} {
		r := report.Stages.Requests[i]
		sum := 0.0
		for _, s := range r.Stages {
			sum += s.Share
		}
		// The window's ends cut through requests: those under way are in their stages at one end, and in the total at the other.
		if r.API != api || r.Count < 100 || r.P99Us <= 0 || r.P99Stage == "" || sum < 0.8 || sum > 1.25 {
			t.Errorf("%s: stages that are %.3f of the total: %+v", api, sum, r)
		}
	}
	if got := report.Stages.Requests[0].Count; got < 100 || got > 1250 { // of 1,250 with the warm-up; a busy machine may be late
		t.Errorf("%d produces in the window of 1,000", got)
	}
	if p := report.Processes; len(p) != 1 || p[0].PID != node.Pid() || p[0].CPUSeconds <= 0 || p[0].VoluntarySwitches == 0 || p[0].ResidentBytes == 0 || p[0].PeakBytes < p[0].ResidentBytes/2 {
		t.Errorf("%+v", p)
	}
	report = run("--node-metrics", node.Address, "--pid", fmt.Sprint(1<<30))
	if report.Stages != nil || len(report.Processes) > 0 || len(report.Missing) != 2 || !strings.HasPrefix(report.Missing[0], "process 1073741824: ") || !strings.HasPrefix(report.Missing[1], "stages of "+node.Address+": ") {
		t.Errorf("%+v, %+v, missing %q", report.Stages, report.Processes, report.Missing)
	}
	if report.Produced.Records == 0 {
		t.Error("nothing was produced")
	}
}
