package main

import (
	"bufio"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tools/simulate/cluster"
)

// TestMain lets the test's own program be the worker.
func TestMain(m *testing.M) {
	if os.Getenv(workerVariable) != "" {
		runWorker(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// TestSeeds runs as many seeds as a submission may take, or RINGMILL_TEST_SEEDS.
func TestSeeds(t *testing.T) {
	count := 500
	if testing.Short() {
		count = 50
	}
	if given := os.Getenv("RINGMILL_TEST_SEEDS"); given != "" {
		count, _ = strconv.Atoi(given)
	}
	total := totals{}
	run(t, 1, count, func(r cluster.Result) {
		total.add(r)
		if r.Violation != nil {
			report(t.Output(), r)
			t.Errorf("seed %d fails", r.Seed)
		}
	})
	t.Log(total)
	if total.seeds != count {
		t.Errorf("%d seeds were run, not %d", total.seeds, count)
	}
	if total.faults < 5*count || total.elections < 2*count {
		t.Errorf("%d faults and %d elections in %d seeds: the runs are too calm to show anything", total.faults, total.elections, count)
	}
	if total.transactions < 2*count {
		t.Errorf("%d transactions in %d seeds: too few to show anything", total.transactions, count)
	}
}

// TestReplay runs seeds twice: what happens, and in which order, is the seed's alone.
func TestReplay(t *testing.T) {
	const count = 20
	hashes := map[uint64]uint64{}
	run(t, 1000, count, func(r cluster.Result) { hashes[r.Seed] = r.Hash })
	run(t, 1000, count, func(r cluster.Result) {
		if r.Hash != hashes[r.Seed] {
			t.Errorf("seed %d: %016x, and again %016x", r.Seed, hashes[r.Seed], r.Hash)
		}
	})
	if len(hashes) != count {
		t.Errorf("%d seeds, want %d", len(hashes), count)
	}
}

// TestRegressions runs the seeds of testdata/seeds.txt: each failed once.
func TestRegressions(t *testing.T) {
	for _, seed := range readSeeds(t) {
		run(t, seed, 1, func(r cluster.Result) {
			if r.Violation != nil {
				report(t.Output(), r)
				t.Errorf("seed %d fails again", seed)
			}
		})
	}
}

// readSeeds reads a seed from the beginning of each line; what follows says what it found.
func readSeeds(t *testing.T) (seeds []uint64) {
	f, err := os.Open("testdata/seeds.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		number, _, _ := strings.Cut(lines.Text(), " ")
		if number == "" || number == "#" {
			continue
		}
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			t.Fatalf("no seed: %q", lines.Text())
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

func run(t *testing.T, from uint64, count int, each func(cluster.Result)) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []cluster.Result
	if err := runSeeds(program, from, count, min(2, runtime.NumCPU()), func(r cluster.Result) bool {
		all = append(all, r)
		return false
	}); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b cluster.Result) int { return int(a.Seed) - int(b.Seed) })
	for _, r := range all {
		each(r)
	}
}

// TestMutantsApply: the texts that planted faults replace are still there. Whether they are found is make sim-mutants' to say.
func TestMutantsApply(t *testing.T) {
	all, err := readMutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if _, err := m.apply("../.."); err != nil {
			t.Error(err)
		}
		if m.about == "" {
			t.Errorf("mutant %s does not say what is wrong", m.name)
		}
	}
}
