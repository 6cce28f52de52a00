package main

import (
	"fmt"
	"io"

	"github.com/ringmill/ringmill/tools/simulate/cluster"
)

// shrink leaves faults out of a failing run, halves first and single ones at last, as long as the same invariant still fails
// (delta debugging), and writes those that are left. The workload stays as it is: it has a stream of its own.
func shrink(w io.Writer, r cluster.Result) {
	faults := cluster.FaultsOf(r.Seed)
	fails := func(without []cluster.Fault) bool {
		got := cluster.Run(r.Seed, cluster.Setup{Faults: &without})
		return got.Violation != nil && got.Violation.Invariant == r.Violation.Invariant
	}
	for part := (len(faults) + 1) / 2; part > 0; {
		smaller := false
		for at := 0; at < len(faults); {
			without := append(append([]cluster.Fault{}, faults[:at]...), faults[min(at+part, len(faults)):]...)
			if fails(without) {
				faults, smaller = without, true
			} else {
				at += part
			}
		}
		if part == 1 && !smaller {
			break
		}
		part = max(1, part/2)
	}
	fmt.Fprintf(w, "%d faults are enough:\n", len(faults))
	for _, f := range faults {
		fmt.Fprintf(w, "  %s\n", f)
	}
	report(w, cluster.Run(r.Seed, cluster.Setup{Faults: &faults, Trace: w}))
}
