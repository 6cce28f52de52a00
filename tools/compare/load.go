package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/limits"
)

// measureLoad runs all cases on both servers, which stay up throughout.
func measureLoad(ctx context.Context, o options, t *table, progress io.Writer) error {
	var chosen []benchCase
	for _, c := range cases(o.window) {
		if o.only.MatchString(c.title()) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	ringmill, kafka, err := newServers(o, filepath.Join(o.dir, "load"))
	if err != nil {
		return err
	}
	pair := []*server{ringmill, kafka}
	for _, s := range pair {
		defer s.stop(syscall.SIGTERM)
		if _, err := s.start(ctx, "", 0); err != nil {
			return err
		}
	}
	for round := range o.pairs + 1 {
		allowed, err := measureLimits(ctx, o.dir, chosen)
		if err != nil {
			return err
		}
		for i := range chosen {
			if err := measurePair(ctx, &chosen[i], turned(pair, round+i), allowed, t, round); err != nil {
				return err
			}
		}
		fmt.Fprintf(progress, "round %d of %d\n", round, o.pairs)
	}
	return peaks(pair, t)
}

// turned is the pair, or the pair the other way round.
func turned[T any](pair []T, n int) []T {
	if n%2 == 0 {
		return pair
	}
	return []T{pair[1], pair[0]}
}

func (c *benchCase) title() string { return string(c.at) + ": " + c.name }

// measurePair runs c on both. Round 0 warms up and is not noted.
func measurePair(ctx context.Context, c *benchCase, pair []*server, allowed map[string]limits.Limit, t *table, round int) error {
	for _, s := range pair {
		got, err := c.runOn(ctx, s)
		if err != nil {
			return fmt.Errorf("%s on %s: %w", c.title(), s.name, err)
		}
		if round > 0 {
			t.note(c.title(), s.name, slices.Concat(got.figures, c.share(got.figures, allowed)))
			t.doubt(c.title(), s.name, got.doubt)
		}
	}
	return nil
}

func (c *benchCase) runOn(ctx context.Context, s *server) (outcome, error) {
	w := c.load
	w.Topic, w.NodePIDs = fmt.Sprintf("compare-%d", bench.Now()), []int{s.pid()}
	if err := bench.CreateTopic(ctx, s.address, w.Topic, w.Partitions, s.policy[c.at]); err != nil {
		return outcome{}, err
	}
	unix.Sync()
	got, err := c.measure(ctx, s, w)
	if err != nil {
		return outcome{}, err
	}
	return got, bench.DeleteTopic(ctx, s.address, w.Topic)
}

// peaks notes the most memory that each server had over the whole run.
func peaks(pair []*server, t *table) error {
	for _, s := range pair {
		u, err := bench.ReadUsage(s.pid())
		if err != nil {
			return err
		}
		t.note("over all of the above", s.name, []figure{{"peak memory (VmHWM)", "MiB", float64(u.PeakBytes) / (1 << 20), false}})
	}
	return nil
}
