package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
)

// flags are the command line.
type flags struct {
	seed    uint64
	seeds   int
	from    uint64
	procs   int
	trace   bool
	shrink  bool
	mutants bool
	mutant  string
	tries   int
}

func main() {
	if os.Getenv(workerVariable) != "" {
		runWorker(os.Stdin, os.Stdout)
		return
	}
	f := readFlags()
	ok, err := f.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func readFlags() (f flags) {
	flag.Uint64Var(&f.seed, "seed", 0, "run this seed alone and say what happened")
	flag.IntVar(&f.seeds, "seeds", 500, "how many seeds to run")
	flag.Uint64Var(&f.from, "from", 1, "the first of them")
	flag.IntVar(&f.procs, "procs", runtime.NumCPU(), "processes that run seeds side by side")
	flag.BoolVar(&f.trace, "trace", false, "with -seed: write each event of note to standard output")
	flag.BoolVar(&f.shrink, "shrink", false, "with -seed: leave out faults as long as the run still fails")
	flag.BoolVar(&f.mutants, "mutants", false, "build each planted fault in and count the seeds until it is found")
	flag.StringVar(&f.mutant, "mutant", "", "with -mutants: only the planted faults whose names begin so, or so, parted by commas")
	flag.IntVar(&f.tries, "tries", 1000, "with -mutants: the seeds that a planted fault may take")
	flag.Parse()
	return f
}

// run does what the flags say; ok is false if an invariant did not hold, or a planted fault was not found.
func (f flags) run() (ok bool, err error) {
	switch {
	case f.mutants:
		return runMutants(f)
	case f.seed != 0:
		return runOne(f)
	}
	return runMany(f)
}
