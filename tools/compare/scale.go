package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/bench"
)

// scaleTopicPartitions is how the partitions of the scale case are spread: over topics of a thousand each.
const scaleTopicPartitions = 1000

// idleWindow is how long the idle server is watched: ticks of /proc are 10 ms, so 20 s see 0.05 % of a core.
const idleWindow = 20 * time.Second

// measureScale times both servers with o.partitions partitions that have a record each: made, idle, killed, and up again.
func measureScale(ctx context.Context, o options, t *table, progress io.Writer) error {
	title := fmt.Sprintf("scale: %d partitions with a record each", o.partitions)
	if !o.only.MatchString(title) {
		return nil
	}
	ringmill, kafka, err := newServers(o, filepath.Join(o.dir, "scale"))
	if err != nil {
		return err
	}
	pair := []*server{ringmill, kafka}
	for _, s := range pair {
		defer s.stop(syscall.SIGKILL)
		if err := s.fillScale(ctx, o.partitions, title, t); err != nil {
			return err
		}
		fmt.Fprintf(progress, "%s has %d partitions\n", s.name, o.partitions)
	}
	for round := range o.pairs {
		for _, s := range turned(pair, round) {
			if err := s.restartScale(ctx, o.partitions, title, t); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(progress, "scale measured")
	return nil
}

func scaleTopics(partitions int) map[string]int {
	topics := make(map[string]int)
	for i := 0; partitions > 0; i++ {
		n := min(partitions, scaleTopicPartitions)
		topics[fmt.Sprintf("scale-%04d", i)] = n
		partitions -= n
	}
	return topics
}

// fillScale makes the partitions, writes a record to each, and kills the server.
func (s *server) fillScale(ctx context.Context, partitions int, title string, t *table) error {
	if _, err := s.start(ctx, "", 0); err != nil {
		return err
	}
	began := bench.Now()
	topics := scaleTopics(partitions)
	for name, n := range topics {
		if err := bench.CreateTopic(ctx, s.address, name, n, nil); err != nil {
			return err
		}
	}
	t.note(title, s.name, []figure{{"making them", "s", bench.Now().Sub(began).Seconds(), false}})
	if err := s.touch(ctx, topics); err != nil {
		return err
	}
	s.stop(syscall.SIGKILL)
	return nil
}

// touch writes one record to each partition.
func (s *server) touch(ctx context.Context, topics map[string]int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	failed := make(chan error, 1)
	for name, n := range topics {
		for p := range n {
			client.Produce(ctx, &kgo.Record{Topic: name, Partition: int32(p), Value: []byte("a record")}, func(_ *kgo.Record, err error) {
				if err != nil {
					select {
					case failed <- err:
					default: // one says it
					}
				}
			})
		}
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return fmt.Errorf("a record for each partition of %s: %w", s.name, err)
	default:
		return nil
	}
}

// restartScale times a start until every partition is served, watches the idle server, writes a record to each partition again,
// so that there is something to recover, and kills it.
func (s *server) restartScale(ctx context.Context, partitions int, title string, t *table) error {
	topics := scaleTopics(partitions)
	began := bench.Now()
	if _, err := s.start(ctx, "", 0); err != nil {
		return err
	}
	for name, n := range topics {
		for !bench.Ready(ctx, s.address, name, n) {
			if err := ctx.Err(); err != nil {
				return err
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	ready := bench.Now().Sub(began)
	if err := s.noteIdle(ctx, title, ready, t); err != nil {
		return err
	}
	if err := s.touch(ctx, topics); err != nil {
		return err
	}
	s.stop(syscall.SIGKILL)
	return nil
}

// noteIdle lets a start's background work end, and notes what the server takes while nobody asks it anything.
func (s *server) noteIdle(ctx context.Context, title string, ready time.Duration, t *table) error {
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	before, err := bench.ReadUsage(s.pid())
	if err != nil {
		return err
	}
	if err := pause(ctx, idleWindow); err != nil {
		return err
	}
	after, err := bench.ReadUsage(s.pid())
	if err != nil {
		return err
	}
	t.note(title, s.name, []figure{
		{"ready after kill -9", "s", ready.Seconds(), false},
		{"idle CPU", "% of a core", 100 * after.Since(before).CPU().Seconds() / idleWindow.Seconds(), false},
		{"resident", "MiB", float64(after.ResidentBytes) / (1 << 20), false},
		{"descriptors", "", float64(entries(s.pid(), "fd")), false},
		{"threads", "", float64(entries(s.pid(), "task")), false},
	})
	return nil
}

// entries counts the files in a folder of /proc/PID.
func entries(pid int, folder string) int {
	list, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), folder)) // none is 0
	return len(list)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
