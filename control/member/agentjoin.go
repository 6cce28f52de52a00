package member

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// seek asks, for ever, every seed until it has answered once, and all addresses as long as no other node is seen, and again
// when the last one is gone. Any other node in sight is not enough: of nodes that are each other's seeds in a row, a later one
// may be found first, and two circles would never meet. It is not waited for at the end: a call that hangs in a connect ends
// by itself.
func (a *Agent) seek(ctx context.Context, seeds, known []string) {
	all, unmet := slices.Concat(seeds, known), seeds
	for wait := time.Duration(0); ; {
		switch alone := a.alone(); {
		case alone:
			silent := a.join(ctx, all)
			unmet = slices.DeleteFunc(slices.Clone(unmet), func(seed string) bool { return !slices.Contains(silent, seed) })
		case len(unmet) > 0:
			unmet = a.join(ctx, unmet)
		default:
			wait = 0
		}
		wait = min(max(2*wait, seekFirst), seekMost)
		select {
		case <-ctx.Done():
			return
		case <-time.After(jittered(wait)):
		}
	}
}

// join asks addresses, and gives those that did not answer. One of them may be the node's own, which answers and says nothing. After
// ctx serf refuses to ask.
func (a *Agent) join(ctx context.Context, addresses []string) (silent []string) {
	var errs []error
	for _, address := range addresses {
		if _, err := a.serf.Join([]string{address}, true); err != nil {
			silent, errs = append(silent, address), append(errs, err)
		}
	}
	if len(silent) > 0 && ctx.Err() == nil {
		a.log.told(slog.LevelInfo, "seeds do not answer; they are tried again", "seeds", "seeds", strings.Join(silent, ","), "error", oneLine(errors.Join(errs...)))
	}
	return silent
}

func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// oneLine writes an error that has several lines, as memberlist's of several seeds, on one.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// snapshotAddresses reads the addresses of nodes that were there last from serf's snapshot. Serf asks each of them once at
// start; they are seeds as well, for nodes that start together.
func snapshotAddresses(path, self string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return parseSnapshot(string(text), self), nil
}
