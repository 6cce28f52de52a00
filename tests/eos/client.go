package eos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// clientMark is the first argument of a test binary that is started as a client.
const clientMark = "eos-client"

// RunIfClient ends the process as a client if it was started as one. A test binary that has a World calls it first.
func RunIfClient() {
	if len(os.Args) > 1 && os.Args[1] == clientMark {
		os.Exit(runClient(os.Args[2:]))
	}
}

// Roles of a client process.
const (
	roleSecond = "tv2"    // franz-go, partitions are added implicitly (KIP-890)
	roleFirst  = "tv1"    // franz-go, AddPartitionsToTxn and EndTxn v4
	roleRaw    = "raw"    // requests of librdkafka's versions, one at a time
	roleLoop   = "loop"   // consume, transform, produce, with the second protocol
	roleLoop1  = "loop-1" // the same with the first
	roleReader = "reader"
)

// client is what a client process is told on its command line.
type client struct {
	role            string
	addresses       string // of the nodes, with commas between them
	number          uint32 // of the process, unlike any other's of the run
	transactionalID string
	in, out         string // topics
	partitions      int32
	timeout         time.Duration // of a transaction
	history         *history
	random          *rand.Rand
}

// arguments are what runClient reads; c.history is given by its path.
func (c *client) arguments(path string, seed uint64) []string {
	return []string{clientMark, "-role", c.role, "-addresses", c.addresses, "-number", strconv.Itoa(int(c.number)), "-id", c.transactionalID,
		"-in", c.in, "-out", c.out, "-partitions", strconv.Itoa(int(c.partitions)), "-timeout", c.timeout.String(),
		"-history", path, "-seed", strconv.FormatUint(seed, 10)}
}

func runClient(args []string) int {
	var c client
	flags := flag.NewFlagSet(clientMark, flag.ExitOnError)
	flags.StringVar(&c.role, "role", "", "")
	flags.StringVar(&c.addresses, "addresses", "", "")
	number := flags.Uint("number", 0, "")
	flags.StringVar(&c.transactionalID, "id", "", "")
	flags.StringVar(&c.in, "in", "", "")
	flags.StringVar(&c.out, "out", "", "")
	partitions := flags.Int("partitions", 1, "")
	flags.DurationVar(&c.timeout, "timeout", time.Second, "")
	path := flags.String("history", "", "")
	seed := flags.Uint64("seed", 0, "")
	_ = flags.Parse(args) // exits
	c.number, c.partitions = uint32(*number), int32(*partitions)
	c.random = rand.New(rand.NewPCG(*seed, uint64(*number)))
	var err error
	if c.history, err = appendHistory(*path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return c.run(ctx)
}

func (c *client) run(ctx context.Context) int {
	switch c.role {
	case roleSecond, roleFirst, roleRaw:
		newProducer(c).run(ctx)
	case roleLoop, roleLoop1:
		newLoop(c).run(ctx)
	case roleReader:
		c.read(ctx)
	default:
		fmt.Fprintf(os.Stderr, "unknown role %q\n", c.role)
		return 2
	}
	return 0
}

// pause sleeps up to most, or until ctx ends.
func (c *client) pause(ctx context.Context, most time.Duration) {
	select {
	case <-time.After(time.Duration(c.random.Int64N(int64(most)))):
	case <-ctx.Done():
	}
}
