package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// Exit statuses: see the package's documentation.
const (
	exitHolds     = 0
	exitViolation = 1
	exitUnknown   = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("ringcheck", flag.ContinueOnError)
	flags.SetOutput(stderr)
	format := flags.String("o", "text", "output format: text or json")
	minAcked := flags.Int("min-acked", 1000, "fewer acknowledged records than this mean nothing: exit 2")
	transactional := flags.Bool("txn", false, "the histories are of transactional clients")
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 || (*format != "text" && *format != "json") {
		fmt.Fprintln(stderr, "usage: ringcheck [-txn] [-o text|json] [-min-acked N] HISTORY...")
		return exitUnknown
	}
	judge := judgeSends
	if *transactional {
		judge = judgeTransactions
	}
	f, err := judge(flags.Args())
	if err == nil {
		err = print(stdout, *format, f)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, err)
		return exitUnknown
	case len(f.violations) > 0:
		return exitViolation
	case len(f.idle) > 0:
		fmt.Fprintf(stderr, "ringcheck: no judgement: %s\n", strings.Join(f.idle, "; "))
		return exitUnknown
	case f.weight < *minAcked:
		fmt.Fprintf(stderr, "ringcheck: only %d %s, %d are needed for a judgement\n", f.weight, f.weighs, *minAcked)
		return exitUnknown
	}
	return exitHolds
}

// findings are a verdict of either kind as it is printed.
type findings struct {
	verdict    any // for JSON
	violations []Violation
	dropped    int
	summary    string
	weight     int // how much the histories prove
	weighs     string
	idle       []string // why there is no judgement although nothing is wrong
}

func judgeSends(files []string) (findings, error) {
	history := NewHistory()
	if err := readAll(files, history.Read); err != nil {
		return findings{}, err
	}
	v := Check(history)
	return findings{verdict: v, violations: v.Violations, dropped: v.Dropped, weight: v.Acked, weighs: "records were acknowledged",
		idle: v.Idle, summary: fmt.Sprintf("%d acknowledged, %d unknown, %d refused, %d in %d logs, %d retried; %d faults, %d marks, %d operations on metadata",
			v.Acked, v.Unknown, v.Failed, v.Records, v.Partitions, v.Retried, v.Faults, v.Marks, v.Admin)}, nil
}

func judgeTransactions(files []string) (findings, error) {
	history := NewTxnHistory()
	if err := readAll(files, history.Read); err != nil {
		return findings{}, err
	}
	v := CheckTxn(history)
	return findings{verdict: v, violations: v.Violations, dropped: v.Dropped, weight: v.Committed, weighs: "transactions were committed",
		summary: fmt.Sprintf("%d transactions committed, %d aborted, %d in doubt of which %d appeared; %d processes; %d records in %d logs, %d read, %d made in loops",
			v.Committed, v.Aborted, v.InDoubt, v.Appeared, v.Processes, v.Records, v.Partitions, v.Read, v.Sources)}, nil
}

func readAll(files []string, read func(name string, r io.Reader) error) error {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrHistory, err)
		}
		err = read(name, f)
		f.Close() // read only
		if err != nil {
			return err
		}
	}
	return nil
}

func print(w io.Writer, format string, f findings) error {
	if format == "json" {
		return json.NewEncoder(w).Encode(f.verdict)
	}
	for _, violation := range f.violations {
		if _, err := fmt.Fprintf(w, "%s %s: %s\n", violation.Invariant, violation.Partition, violation.Witness); err != nil {
			return err
		}
	}
	if f.dropped > 0 {
		fmt.Fprintf(w, "and %d violations more\n", f.dropped)
	}
	_, err := fmt.Fprintf(w, "%s: %d violations\n", f.summary, len(f.violations)+f.dropped)
	return err
}
