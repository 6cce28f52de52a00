package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// Cases of starting; measured on servers of their own, one at a time.
const (
	startEmpty  = "start: nothing stored"
	startKilled = "start: after kill -9 with 1 GB in 8 partitions"
)

// filledTopic holds the gigabyte.
const (
	filledTopic      = "filled"
	filledPartitions = 8
	filledBytes      = 1_000_000_000
)

// measureStarts times both servers from the start of the process until a client can work.
func measureStarts(ctx context.Context, o options, t *table, progress io.Writer) error {
	if !o.only.MatchString(startEmpty) && !o.only.MatchString(startKilled) {
		return nil
	}
	ringmill, kafka, err := newServers(o, filepath.Join(o.dir, "starts"))
	if err != nil {
		return err
	}
	pair := []*server{ringmill, kafka}
	for _, s := range pair {
		defer s.stop(syscall.SIGKILL)
		if _, err := s.start(ctx, "", 0); err != nil { // lays out, or formats, the directory
			return err
		}
		s.stop(syscall.SIGTERM)
	}
	if o.only.MatchString(startEmpty) {
		if err := startsEmpty(ctx, o, pair, t); err != nil {
			return err
		}
	}
	if o.only.MatchString(startKilled) {
		if err := startsKilled(ctx, o, pair, t); err != nil {
			return err
		}
	}
	fmt.Fprintln(progress, "starts measured")
	return nil
}

func startsEmpty(ctx context.Context, o options, pair []*server, t *table) error {
	for round := range o.pairs {
		for _, s := range turned(pair, round) {
			took, err := s.start(ctx, "", 0)
			if err != nil {
				return err
			}
			if err := noteStart(t, startEmpty, s, took); err != nil {
				return err
			}
			s.stop(syscall.SIGTERM)
		}
	}
	return nil
}

// startsKilled adds records before each kill, so that there is something to recover each time.
func startsKilled(ctx context.Context, o options, pair []*server, t *table) error {
	for _, s := range pair {
		if err := s.fill(ctx); err != nil {
			return err
		}
	}
	for round := range o.pairs {
		for _, s := range turned(pair, round) {
			took, err := s.start(ctx, filledTopic, filledPartitions)
			if err != nil {
				return err
			}
			if err := noteStart(t, startKilled, s, took); err != nil {
				return err
			}
			if err := s.produceFor(ctx, 100*time.Millisecond); err != nil {
				return err
			}
			s.stop(syscall.SIGKILL)
		}
	}
	return nil
}

func noteStart(t *table, title string, s *server, took time.Duration) error {
	u, err := bench.ReadUsage(s.pid())
	t.note(title, s.name, []figure{
		{"ready", "s", took.Seconds(), false},
		{"resident then", "MiB", float64(u.ResidentBytes) / (1 << 20), false},
	})
	return err
}

// fill starts the server, stores a gigabyte as each one does by default, and kills it.
func (s *server) fill(ctx context.Context) error {
	if _, err := s.start(ctx, "", 0); err != nil {
		return err
	}
	if err := bench.CreateTopic(ctx, s.address, filledTopic, filledPartitions, nil); err != nil {
		return err
	}
	for stored := int64(0); stored < filledBytes; {
		n, err := s.produced(ctx, 200*time.Millisecond)
		if err != nil {
			return err
		}
		stored += n
	}
	s.stop(syscall.SIGKILL)
	return nil
}

func (s *server) produceFor(ctx context.Context, d time.Duration) error {
	_, err := s.produced(ctx, d)
	return err
}

func (s *server) produced(ctx context.Context, d time.Duration) (int64, error) {
	w := large(bench.Workload{Topic: filledTopic, Partitions: filledPartitions, Acks: -1, Duration: d}, 1024, 250)
	r, err := w.Produce(ctx, s.address)
	return r.Bytes, err
}
