package txn

import (
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// TestWallClockJumps: an open transaction is timed by the monotonic clock alone: an hour of the wall clock, either way, neither ends
// it nor keeps it from its end (nats-server#6999 is the report of the kind).
func TestWallClockJumps(t *testing.T) {
	const hourMS = 3_600_000
	for _, jump := range []wire.Timestamp{hourMS, -hourMS} {
		m := newMachine()
		_, owner := m.init("owner") // 1 s
		if code := m.addTo("owner", owner, 1); code != wire.None {
			t.Fatal(code)
		}
		m.wall += jump
		m.pass(500)
		if state := m.c.ids["owner"].state; state != Ongoing {
			t.Errorf("a jump of %d ms: %s, want Ongoing", jump, state)
		}
		m.pass(m.cfg.AbortIntervalMS + 1000)
		if state := m.c.ids["owner"].state; state != CompleteAbort {
			t.Errorf("a jump of %d ms, then its timeout: %s, want CompleteAbort", jump, state)
		}
	}
}
