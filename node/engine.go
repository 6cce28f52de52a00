package node

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ringmill/ringmill/iouring"
)

const (
	// engineWait is how long a loop waits for a ring that is refused for a passing reason: a node that took epoll for it would keep
	// it for life. After a kill -9 on two busy cores the rings of the process before were back within 0.7 s.
	engineWait  = 5 * time.Second
	enginePause = 10 * time.Millisecond
)

// newEngine makes the loop's engine, on the loop's thread. A ring that is refused for a passing reason, see
// [iouring.Probe.Transient], is asked for again until engineWait is over; what comes of that counts.
func (l *Loop) newEngine() (iouring.Engine, iouring.Probe, error) {
	cfg := l.node.Config()
	engineConfig := iouring.Config{Spin: time.Duration(cfg.LoopSpinUS) * time.Microsecond}
	for began, told := time.Now(), false; ; time.Sleep(enginePause) {
		engine, probe, err := l.node.seams.newEngine(cfg.Engine, engineConfig, l.index)
		if !probe.Transient() || time.Since(began) >= l.node.seams.engineWait {
			return engine, probe, err
		}
		if !told {
			slog.Warn("waiting for a ring", "loop", l.index, "reason", probe.Reason, "upTo", l.node.seams.engineWait)
			told = true
		}
		if engine == nil {
			continue
		}
		if err := engine.Close(); err != nil { // what would be used in its place
			return nil, probe, errors.Join(probe.Err, err)
		}
	}
}
