package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/ringmill/ringmill/tools/simulate/cluster"
)

// workerVariable in the environment makes the program a worker: it reads seeds from standard input, a line each, and writes a
// cluster.Result as a line of JSON for each.
const workerVariable = "RINGMILL_SIMULATE_WORKER"

func runWorker(in io.Reader, out io.Writer) {
	lines, enc := bufio.NewScanner(in), json.NewEncoder(out)
	for lines.Scan() {
		seed, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			fmt.Fprintln(os.Stderr, "simulate: no seed:", lines.Text())
			os.Exit(2)
		}
		if enc.Encode(cluster.Run(seed, cluster.Setup{})) != nil {
			return // nobody reads any more
		}
	}
}

// runSeeds runs seeds from one on in worker processes of the program, and hands over the results as they come until each says that it
// is enough. program is this one or one with a planted fault.
func runSeeds(program string, from uint64, count, procs int, each func(cluster.Result) (enough bool)) error {
	seeds, results, stop := make(chan uint64), make(chan workerResult), make(chan struct{})
	go func() {
		defer close(seeds)
		for i := range count {
			select {
			case seeds <- from + uint64(i):
			case <-stop:
				return
			}
		}
	}()
	for range procs {
		go func() { results <- workerResult{err: work(program, seeds, results), done: true} }()
	}
	var failed error
	for working, stopped := procs, false; working > 0; {
		r := <-results
		switch {
		case r.done:
			working--
			if r.err != nil && failed == nil {
				failed = r.err
			}
		case !stopped && each(r.result):
			stopped = true
			close(stop)
		}
	}
	return failed
}

type workerResult struct {
	result cluster.Result
	err    error
	done   bool
}

// work runs one worker process until there are no more seeds. One that dies of a panic has found a fault: that seed's result says so,
// and another process goes on.
func work(program string, seeds <-chan uint64, results chan<- workerResult) error {
	for {
		more, err := workUntilPanic(program, seeds, results)
		if err != nil || !more {
			return err
		}
	}
}

func workUntilPanic(program string, seeds <-chan uint64, results chan<- workerResult) (more bool, err error) {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), workerVariable+"=1")
	var complaints tail
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	answers := json.NewDecoder(out)
	for seed := range seeds {
		var r cluster.Result
		if _, err := fmt.Fprintln(in, seed); err == nil {
			err = answers.Decode(&r)
			if err == nil {
				results <- workerResult{result: r}
				continue
			}
		}
		in.Close()
		_ = cmd.Wait() // it has ended by a panic, which complaints tell
		results <- workerResult{result: cluster.Panicked(seed, complaints.text)}
		return true, nil
	}
	in.Close()
	return false, cmd.Wait()
}

// tail keeps the beginning of what a worker says as it dies: the panic and where it was.
type tail struct{ text string }

const complaintBytes = 4000

func (t *tail) Write(p []byte) (int, error) {
	t.text += string(p[:min(len(p), max(0, complaintBytes-len(t.text)))])
	return len(p), nil
}
