package member

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"time"
)

// seek asks the addresses for ever: as long as no other node is seen, and again when the last one is gone. It is not waited
// for at the end: a call that hangs in a connect ends by itself.
func (a *Agent) seek(ctx context.Context, addresses []string) {
	for wait := time.Duration(0); ; {
		if a.alone() {
			a.join(addresses)
			wait = min(max(2*wait, seekFirst), seekMost)
		} else {
			wait = seekFirst
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(jittered(wait)):
		}
	}
}

// join asks all the addresses at once. One of them may be the node's own, which answers and says nothing: only alone tells.
func (a *Agent) join(addresses []string) {
	if _, err := a.serf.Join(addresses, true); err != nil {
		a.log.told(slog.LevelInfo, "no seed answers; it is tried again", "seeds", "seeds", strings.Join(addresses, ","), "error", oneLine(err))
	}
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
