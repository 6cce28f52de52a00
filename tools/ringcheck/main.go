package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
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
	if err := flags.Parse(args); err != nil || flags.NArg() == 0 || (*format != "text" && *format != "json") {
		fmt.Fprintln(stderr, "usage: ringcheck [-o text|json] [-min-acked N] HISTORY...")
		return exitUnknown
	}
	history, err := readAll(flags.Args())
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUnknown
	}
	verdict := Check(history)
	if err := print(stdout, *format, verdict); err != nil {
		fmt.Fprintln(stderr, err)
		return exitUnknown
	}
	switch {
	case len(verdict.Violations) > 0:
		return exitViolation
	case verdict.Acked < *minAcked:
		fmt.Fprintf(stderr, "ringcheck: only %d records were acknowledged, %d are needed for a judgement\n", verdict.Acked, *minAcked)
		return exitUnknown
	}
	return exitHolds
}

func readAll(files []string) (*History, error) {
	history := NewHistory()
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrHistory, err)
		}
		err = history.Read(name, f)
		f.Close() // read only
		if err != nil {
			return nil, err
		}
	}
	return history, nil
}

func print(w io.Writer, format string, v Verdict) error {
	if format == "json" {
		return json.NewEncoder(w).Encode(v)
	}
	for _, violation := range v.Violations {
		if _, err := fmt.Fprintf(w, "%s %s: %s\n", violation.Invariant, violation.Partition, violation.Witness); err != nil {
			return err
		}
	}
	if v.Dropped > 0 {
		fmt.Fprintf(w, "and %d violations more\n", v.Dropped)
	}
	_, err := fmt.Fprintf(w, "%d acknowledged, %d unknown, %d refused, %d in %d logs, %d retried: %d violations\n",
		v.Acked, v.Unknown, v.Failed, v.Records, v.Partitions, v.Retried, len(v.Violations)+v.Dropped)
	return err
}
