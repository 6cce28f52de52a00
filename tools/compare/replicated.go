package main

import (
	"context"
	"fmt"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/bench"
)

// measureReplicated puts the same loads on topics of three replicas; CPU is all three nodes'. The raw generator knows one node, so node 1
// leads all that it writes to; a client's partitions are led by all in turn.
func measureReplicated(ctx context.Context, o options, title string, pair []*cluster, t *table, progress io.Writer) error {
	base := bench.Workload{Partitions: 8, Acks: -1, WarmUp: o.window / 2, Duration: o.window}
	for round := range o.pairs + 1 {
		for i, at := range []durability{durable, cache} {
			for _, load := range []struct {
				name  string
				leads func(int) int32
				load  bench.Workload
				run   func(context.Context, *server, bench.Workload) (outcome, error)
			}{
				{"produce 1 KiB records, 256 KiB batches", firstLeads, large(base, 1024, 250), produceCapacity},
				{"end to end, 1,000/s of 1 KiB, franz-go", eachLeads, paced(base, 1000, 0), endToEnd},
			} {
				name := fmt.Sprintf("%s, %s: %s", title, at, load.name)
				for _, c := range turned(pair, round+i) {
					got, err := c.run(ctx, load.load, load.leads, c.policy[at], load.run)
					if err != nil {
						return fmt.Errorf("%s on %s: %w", name, c.name, err)
					}
					if round > 0 { // the first warms up
						t.note(name, c.name, got.figures)
						t.doubt(name, c.name, got.doubt)
					}
				}
			}
		}
		fmt.Fprintf(progress, "%s: %d of %d\n", title, round, o.pairs)
	}
	return nil
}

// run puts a load on a topic of its own.
func (c *cluster) run(ctx context.Context, w bench.Workload, leads func(int) int32, properties map[string]string,
	load func(context.Context, *server, bench.Workload) (outcome, error)) (outcome, error) {
	w.Topic, w.NodePIDs = fmt.Sprintf("compare-%d", bench.Now()), c.pids()
	if err := c.create(ctx, w.Topic, w.Partitions, leads, properties); err != nil {
		return outcome{}, err
	}
	unix.Sync()
	got, err := load(ctx, c.nodes[0], w)
	if err != nil {
		return outcome{}, err
	}
	return got, bench.DeleteTopic(ctx, c.nodes[0].address, w.Topic)
}

// measureRejoin kills node 2, which leads nothing, writes a gigabyte, and times from the start of its process until it is in sync again.
func measureRejoin(ctx context.Context, o options, title string, pair []*cluster, t *table, progress io.Writer) error {
	for round := range o.pairs {
		for _, c := range turned(pair, round) {
			if err := c.rejoin(ctx, title, t); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		fmt.Fprintf(progress, "%s: %d of %d\n", title, round+1, o.pairs)
	}
	return nil
}

func (c *cluster) rejoin(ctx context.Context, title string, t *table) error {
	w := large(bench.Workload{Partitions: filledPartitions, Acks: -1, Duration: 200 * time.Millisecond}, 1024, 250)
	w.Topic = fmt.Sprintf("compare-%d", bench.Now())
	if err := c.create(ctx, w.Topic, w.Partitions, firstLeads, c.policy[cache]); err != nil {
		return err
	}
	absent := c.nodes[1]
	absent.stop(syscall.SIGKILL)
	for written := int64(0); written < filledBytes; {
		r, err := w.Produce(ctx, c.nodes[0].address)
		if err != nil {
			return err
		}
		written += r.Bytes
	}
	unix.Sync()
	began := bench.Now()
	if err := absent.launch(); err != nil {
		return err
	}
	if err := c.awaitInSync(ctx, w.Topic); err != nil {
		return err
	}
	took := bench.Now().Sub(began)
	used, err := bench.ReadUsage(absent.pid())
	if err != nil {
		return err
	}
	t.note(title, c.name, []figure{{"until it is in sync", "s", took.Seconds(), false}, {"its CPU", "s", used.CPU().Seconds(), false}})
	return bench.DeleteTopic(ctx, c.nodes[0].address, w.Topic)
}
