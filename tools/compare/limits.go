package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringmill/ringmill/bench/limits"
)

// limit is an item of bench/limits that a case cannot do better than, in the unit of the case's first figure; none without a name.
type limit struct {
	name string
	rate func(limits.Limit) float64
}

func megabytes(l limits.Limit) float64          { return l.BytesPerSecond / 1e6 }
func thousandOperations(l limits.Limit) float64 { return l.OperationsPerSecond / 1e3 }

// toSocket bounds a fetch of what is in the page cache.
var toSocket = limit{"page cache to socket, sendfile", megabytes}

// crowded bounds what many connections ask: a loop that answers with what it was sent, and does nothing else.
var crowded = limit{"request and answer of 100 bytes, 64 out, ringmill's uring engine", thousandOperations}

// limitsOf bound the produces of each durability: large batches, and single records of one connection and of several. A sync that
// several share is none of each, so that beside several connections the loopback stands.
var limitsOf = map[durability]struct{ large, single, several limit }{
	durable: {
		large:   limit{"append of 1 MiB, one sync at the end", megabytes},
		single:  limit{"4 KiB over what is there, then fdatasync", thousandOperations},
		several: crowded,
	},
	cache: {
		large:   limit{"page cache to socket, pread and write", megabytes}, // as many copies, the other way round
		single:  limit{"request and answer of 100 bytes, 1 out, blocking calls", thousandOperations},
		several: crowded,
	},
}

// limitEach is how long an item of bench/limits runs in a round.
const limitEach = 500 * time.Millisecond

// measureLimits measures what the chosen cases are bounded by, anew in each round as the servers are.
func measureLimits(ctx context.Context, dir string, chosen []benchCase) (map[string]limits.Limit, error) {
	names := []string{} // not nil: none would be all
	for _, c := range chosen {
		if c.limit.name != "" && !slices.Contains(names, c.limit.name) {
			names = append(names, c.limit.name)
		}
	}
	o := limits.Options{Dir: dir, Each: limitEach, Only: names}
	disk, err := limits.Disk(ctx, o)
	if err != nil {
		return nil, err
	}
	loop, err := limits.Loop(ctx, o)
	if err != nil {
		return nil, err
	}
	all := map[string]limits.Limit{}
	for _, l := range slices.Concat(disk, loop) {
		if l.Missing != "" {
			return nil, errors.New(l.Name + ": " + l.Missing)
		}
		all[l.Name] = l
	}
	return all, nil
}

// share is how much of what the machine allows the first of a case's figures is, if the case has a limit.
func (c *benchCase) share(figures []figure, measured map[string]limits.Limit) []figure {
	if c.limit.name == "" {
		return nil
	}
	return []figure{{"share of: " + c.limit.name, "%", 100 * figures[0].value / c.limit.rate(measured[c.limit.name]), true}}
}
