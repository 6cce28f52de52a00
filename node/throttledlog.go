package node

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// throttledLog writes warnings that clients can cause: each kind at most a few times in an interval, so that no client
// floods the log, with a count of those left out.
type throttledLog struct {
	mu    sync.Mutex
	kinds map[string]*throttle
	log   *slog.Logger
}

type throttle struct {
	since      time.Time
	count, out int
}

const (
	throttleInterval = 10 * time.Second
	throttleBurst    = 5
	// throttleKinds bounds the kinds that are remembered; messages are constants of this package, so a handful.
	throttleKinds = 256
)

func newThrottledLog(log *slog.Logger) *throttledLog {
	return &throttledLog{kinds: make(map[string]*throttle), log: log}
}

// throttled logs a warning of the kind that message names, unless there were too many of late. Strings in args, which may
// be a client's, are cut (clip); quoting them is the slog handler's.
func (t *throttledLog) throttled(message string, args ...any) {
	left, ok := t.admit(message, time.Now())
	if ok {
		t.write(slog.LevelWarn, message, left, args...)
	}
}

// write logs what was admitted, with the count of what was left out.
func (t *throttledLog) write(level slog.Level, message string, left int, args ...any) {
	for i := 1; i < len(args); i += 2 {
		args[i] = clip(args[i])
	}
	if left > 0 {
		args = append(args, "leftOut", left)
	}
	t.log.Log(context.Background(), level, message, args...)
}

func (t *throttledLog) admit(kind string, now time.Time) (left int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kinds[kind]
	if k == nil {
		if len(t.kinds) >= throttleKinds {
			clear(t.kinds)
		}
		k = &throttle{since: now}
		t.kinds[kind] = k
	}
	if now.Sub(k.since) > throttleInterval {
		left = k.out
		*k = throttle{since: now}
	}
	if k.count++; k.count > throttleBurst {
		k.out++
		return 0, false
	}
	return left, true
}

// logStringMax bounds what a client's string may take in a log line.
const logStringMax = 256

func clip(v any) any {
	if s, ok := v.(string); ok && len(s) > logStringMax {
		return s[:logStringMax] + "…"
	}
	return v
}
