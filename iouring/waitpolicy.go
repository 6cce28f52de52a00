package iouring

import (
	"math/bits"
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
	spun  time.Duration // how much of it went by without a system call that waits, see spinner
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
	if rawLeft := rawWaitMax + s.spun - elapsed; s.raw && rawLeft > 0 {
		if d < 0 || d > rawLeft {
			d = rawLeft
		}
		return d, true, false
	}
	return d, false, false
}

// spins says whether a wait goes on without sleeping: neither it nor the budget is over.
func (s *sleep) spins(budget time.Duration) bool {
	s.spun = time.Since(s.start)
	return s.spun < budget && (s.limit < 0 || s.spun < s.limit)
}

// spinner decides which waits begin with looking again instead of sleeping. A spin is lost if nothing comes within the
// budget, so one is only made where that has been so lately: a loop that is idle, or whose events come further apart than
// the budget, makes none.
type spinner struct {
	budget time.Duration // 0: none is ever made
	// recent has a bit for each of the last eight waits, the last one's lowest: an event came soon enough for a spin.
	recent uint8
	// rest is how many waits begin without a spin, whatever came.
	rest uint8
}

const (
	// spinRecentMin of the last eight waits must have ended soon. Half of them, and not the last one alone: where a request
	// makes two waits, one short and one long, the last one tells nothing of the next. With a quarter two of three spins
	// were in vain at 1,000 requests a second (PERFORMANCE.md).
	spinRecentMin = 4
	// spinWakeCost is what a sleep adds to how long an event takes: half of what a round trip between two loops asleep
	// takes more than between two that spin (14 and 4 µs), and as much again for a P.
	spinWakeCost = 10 * time.Microsecond
	// spinRest is how many waits there are without a spin after one that kept its own event from coming: little is lost
	// by those that are tried again.
	spinRest = 64
)

func (s *spinner) worth() bool {
	if s.rest > 0 {
		s.rest--
		return false
	}
	return bits.OnesCount8(s.recent) >= spinRecentMin
}

// ended notes a wait that gave n events. One that comes as soon as a spin in vain is over most likely waited for the
// processor on which that was: two loops that spin on one processor took 100 µs for a round trip, and 11 asleep.
func (s *spinner) ended(w *sleep, n int) {
	if s.budget == 0 {
		return
	}
	soon := n > 0 && time.Since(w.start) <= s.budget+spinWakeCost
	vain := w.spun >= s.budget
	if soon && vain {
		s.rest = spinRest
	}
	s.note(soon && !vain)
}

func (s *spinner) note(soon bool) {
	s.recent <<= 1
	if soon && s.budget > 0 {
		s.recent |= 1
	}
}
