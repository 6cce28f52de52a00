package quorum

import "testing"

// Voters of a new cluster that are told so elect within a fraction of the election timeout, each at its turn. Told so while there is a
// leader, they keep it.
func TestHastenedElection(t *testing.T) {
	for seed := range uint64(20) {
		c := newCluster(t, seed, 3, Config{ElectionTicks: 20})
		hasten := func() {
			for _, m := range c.members {
				m.q.Hasten()
			}
		}
		hasten()
		ticks := 0
		for ; c.leader() == nil; ticks++ {
			c.tick()
		}
		if ticks > 10 {
			t.Errorf("seed %d: %d ticks without a leader", seed, ticks)
		}
		first := c.elect()
		for range 50 {
			hasten()
			if c.tick(); c.leader() != first {
				t.Fatalf("seed %d: a leader that lives was replaced", seed)
			}
		}
	}
}
