package quorum

import "testing"

// A leader whose process is known to be gone is replaced within a fraction of the election timeout. One that lives is followed
// again at its next heartbeat, even if all suspected it.
func TestSuspectedLeader(t *testing.T) {
	for seed := range uint64(20) {
		c := newCluster(t, seed, 3, Config{ElectionTicks: 20})
		first := c.elect()
		suspect := func() {
			for _, m := range c.members {
				if m.q != nil {
					m.q.Suspect(first.q.self)
				}
			}
		}
		suspect()
		c.tick()
		for range 50 {
			if c.tick(); c.leader() != first {
				t.Fatalf("seed %d: a leader that lives was replaced", seed)
			}
		}
		self := first.q.self
		must(t, first.q.Close())
		first.q = nil
		for _, m := range c.members {
			if m.q != nil {
				m.q.Suspect(self)
			}
		}
		ticks := 0
		for ; c.leader() == nil; ticks++ {
			c.tick()
		}
		if ticks > 10 {
			t.Errorf("seed %d: %d ticks without a leader", seed, ticks)
		}
	}
}
