package limits

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ringmill/ringmill/bench"
)

// SyncBytes are the sizes of the groups whose syncs Node measures.
var SyncBytes = []int{4 << 10, 64 << 10, 1 << 20}

// NodeLimits are what one node's load is held against. Each is measured with as many streams at once as the node, or its clients, have.
type NodeLimits struct {
	// Append is bytes that the disk writes while more come, Syncs are syncs of groups of each of SyncBytes, Stream bytes over the loopback.
	Append, Stream Limit
	Syncs          []Limit
}

// Node measures what a node on this machine could do at most: files are written in o.Dir by so many writers at once, and so many connections
// of the loopback are filled at once.
func Node(ctx context.Context, o Options, writers, connections int) (NodeLimits, error) {
	items := []item{
		{"append of 1 MiB, written back at once, one sync at the end" + times(writers, "files"), atOnce(writers, appended(1<<20, writeBack))},
		{"page cache to socket, pread and write" + times(connections, "connections"), atOnce(connections, streamed(copied))},
	}
	for _, size := range SyncBytes {
		items = append(items, item{fmt.Sprintf("%d KiB over what is there, then fdatasync", size>>10) + times(writers, "files"), atOnce(writers, overwritten(size))})
	}
	all, err := measure(ctx, o, items)
	if err != nil {
		return NodeLimits{}, err
	}
	return NodeLimits{Append: all[0], Stream: all[1], Syncs: all[2:]}, nil
}

// All are the limits in the order in which they were measured.
func (n *NodeLimits) All() []Limit { return append([]Limit{n.Append, n.Stream}, n.Syncs...) }

// DiskBytesPerSecond is the most that the disk was seen to take: appending, or over what was there.
func (n *NodeLimits) DiskBytesPerSecond() float64 {
	most := n.Append.BytesPerSecond
	for _, s := range n.Syncs {
		most = max(most, s.BytesPerSecond)
	}
	return most
}

// SyncsPerSecond is how many syncs of groups of so many bytes the disk does: the time that one takes is taken to grow evenly from each measured
// size to the next, and beyond the greatest as the bytes do.
func (n *NodeLimits) SyncsPerSecond(bytes float64) float64 {
	seconds := func(i int) float64 { return 1 / n.Syncs[i].OperationsPerSecond }
	last := len(SyncBytes) - 1
	if greatest := float64(SyncBytes[last]); bytes >= greatest {
		return greatest / bytes / seconds(last)
	}
	for i := last - 1; i >= 0; i-- {
		if from, to := float64(SyncBytes[i]), float64(SyncBytes[i+1]); bytes >= from {
			return 1 / (seconds(i) + (seconds(i+1)-seconds(i))*(bytes-from)/(to-from))
		}
	}
	return 1 / seconds(0)
}

func times(n int, what string) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(", %d %s at once", n, what)
}

// atOnce does the same so often at once, and adds up what was done since the first of them began.
func atOnce(n int, run func(context.Context, Options, *count) error) func(context.Context, Options, *count) error {
	return func(ctx context.Context, o Options, sum *count) error {
		var mu sync.Mutex
		workers, ctx := errgroup.WithContext(ctx)
		for range n {
			workers.Go(func() error {
				c := count{each: sum.each}
				err := run(ctx, o, &c)
				mu.Lock()
				defer mu.Unlock()
				sum.add(&c)
				return err
			})
		}
		return workers.Wait()
	}
}

// add takes in what another one has counted.
func (c *count) add(other *count) {
	if c.began == 0 || other.began < c.began {
		c.began, c.cpu = other.began, other.cpu
	}
	c.operations += other.operations
	c.bytes += other.bytes
	if other.latency != nil {
		if c.latency == nil {
			c.latency = bench.NewHistogram()
		}
		c.latency.Merge(other.latency)
	}
}
