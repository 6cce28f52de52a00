package iouring

import (
	"os"
	"strings"
	"time"
)

// rawWaitMax bounds a wait that the Go scheduler is not told of. Such a wait saves waking sysmon at each park (8-33 %
// of the CPU at 20 k parks a second) but holds up a stop-the-world until it ends: unbounded, two such loops turned a
// 0.4 ms collection into 41 ms. At 500 µs a busy loop almost never reaches the bound and an idle one goes on to the
// kind of wait that gives its P away.
const rawWaitMax = 500 * time.Microsecond

// rawWaitAllowed is false when goroutines can't be preempted by signals: then nothing would get a raw waiter's
// attention and the process would hang.
func rawWaitAllowed() bool { return !strings.Contains(os.Getenv("GODEBUG"), "asyncpreemptoff=1") }

// sleep is one wait of a Poll, cut into what each system call is to wait.
type sleep struct {
	start time.Time
	limit time.Duration // negative: none
	raw   bool          // raw waits are allowed at all
}

func beginSleep(limit time.Duration, raw bool) sleep {
	return sleep{start: time.Now(), limit: limit, raw: raw}
}

// next returns how long the next system call is to wait (negative: without limit), and whether it is a raw one.
// over means that the limit has passed.
func (s *sleep) next() (d time.Duration, raw, over bool) {
	elapsed := time.Since(s.start)
	d = -1
	if s.limit >= 0 {
		if d = s.limit - elapsed; d <= 0 {
			return 0, false, true
		}
	}
	if rawLeft := rawWaitMax - elapsed; s.raw && rawLeft > 0 {
		if d < 0 || d > rawLeft {
			d = rawLeft
		}
		return d, true, false
	}
	return d, false, false
}
