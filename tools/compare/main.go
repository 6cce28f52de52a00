package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// options are the command line's.
type options struct {
	ringmill, kafka, dir string
	nats, redis          string // empty: left out
	pairs, kills         int
	partitions           int
	only                 *regexp.Regexp
	window               time.Duration
}

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if o.dir, err = os.MkdirTemp(o.dir, "compare-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir)
	var t, others table
	err = measureAll(ctx, o, &t, stderr)
	var names []string
	if err == nil {
		names, err = measurePeers(ctx, o, &others, stderr)
	}
	// what was measured before an error is told all the same
	if len(t.rows) > 0 {
		err = errors.Join(err, t.print(stdout))
	}
	if len(others.rows) > 0 {
		err = errors.Join(err, others.printPeers(stdout, names))
	}
	return err
}

func measureAll(ctx context.Context, o options, t *table, progress io.Writer) error {
	for _, measure := range []func(context.Context, options, *table, io.Writer) error{measureStarts, measureScale, measureLoad, measureClusters} {
		if err := measure(ctx, o, t, progress); err != nil {
			return err
		}
	}
	return nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.ringmill, "ringmill", "bin/ringmill", "the ringmill binary")
	flags.StringVar(&o.kafka, "kafka", "tests/peers/kafka-up.sh", "the script that becomes Apache Kafka")
	flags.StringVar(&o.nats, "nats", "", "the nats-server binary, for the cases of peers; empty: without")
	flags.StringVar(&o.redis, "redis", "", "the redis-server binary, likewise")
	flags.StringVar(&o.dir, "dir", "", "where both keep their data, on the disk to be measured; empty: the temporary folder")
	flags.IntVar(&o.pairs, "pairs", 6, "pairs of runs that count, of each case")
	flags.IntVar(&o.kills, "kills", 50, "endings of a leader, of each kind, on each cluster")
	flags.IntVar(&o.partitions, "partitions", 10_000, "partitions of the scale case")
	flags.DurationVar(&o.window, "window", 2*time.Second, "the measured part of one run")
	only := flags.String("only", "", "measure only cases whose name matches this regular expression")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.pairs < 1 || o.kills < 1 || o.partitions < 1 || o.window <= 0 || flags.NArg() > 0 {
		return o, errors.New("-pairs, -kills, -partitions and -window must be positive, and there are no arguments")
	}
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}
