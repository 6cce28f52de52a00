package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ringmill/ringmill/tools/simulate/cluster"
)

// runOne runs f.seed in this process.
func runOne(f flags) (ok bool, err error) {
	setup := cluster.Setup{}
	if f.trace {
		setup.Trace = os.Stdout
	}
	r := cluster.Run(f.seed, setup)
	report(os.Stdout, r)
	if f.shrink && r.Violation != nil {
		shrink(os.Stdout, r)
	}
	return r.Violation == nil, nil
}

// report says what a run came to, and how to see it again.
func report(w io.Writer, r cluster.Result) {
	fmt.Fprintf(w, "seed %d: %s\n", r.Seed, verdict(r))
	fmt.Fprintf(w, "  options %s\n", r.Options)
	fmt.Fprintf(w, "  %d events in %v, %d faults, %d elections, %d records acknowledged, %d offsets committed, hash %016x\n",
		r.Events, r.Simulated.Round(time.Millisecond), r.Faults, r.Elections, r.Acked, r.Committed, r.Hash)
	if r.Violation != nil {
		fmt.Fprintf(w, "  again: go run ./tools/simulate -seed %d -trace\n", r.Seed)
	}
}

func verdict(r cluster.Result) string {
	if r.Violation == nil {
		return "all invariants hold"
	}
	return r.Violation.Error()
}

// runMany runs f.seeds seeds and reports those that fail, and a summary.
func runMany(f flags) (ok bool, err error) {
	program, err := os.Executable()
	if err != nil {
		return false, err
	}
	began, total := time.Now(), totals{}
	err = runSeeds(program, f.from, f.seeds, f.procs, func(r cluster.Result) bool {
		total.add(r)
		if r.Violation != nil {
			report(os.Stdout, r)
		}
		return false
	})
	fmt.Printf("%s, %.1f seeds/s\n", total, float64(total.seeds)/time.Since(began).Seconds())
	return total.failed == 0, err
}

// totals sums results.
type totals struct {
	seeds, failed, events, faults, acked, elections, transactions int
	simulated                                                     time.Duration
}

func (t *totals) add(r cluster.Result) {
	t.seeds++
	if r.Violation != nil {
		t.failed++
	}
	t.events += r.Events
	t.faults += r.Faults
	t.acked += r.Acked
	t.elections += r.Elections
	t.transactions += r.Transactions
	t.simulated += r.Simulated
}

// String is the summary line.
func (t totals) String() string {
	return fmt.Sprintf("%d seeds, %d failed: %.2f h simulated, %d events, %d faults, %d elections, %d records acknowledged, %d transactions committed",
		t.seeds, t.failed, t.simulated.Hours(), t.events, t.faults, t.elections, t.acked, t.transactions)
}
