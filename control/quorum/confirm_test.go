package quorum

import (
	"errors"
	"testing"
)

// TestConfirm: a leader that a majority follows is confirmed by one round of messages; one that is cut off never is, though it goes on
// to believe that it leads, and the others have decided more.
func TestConfirm(t *testing.T) {
	c := newCluster(t, 1, 3, Config{ElectionTicks: 20})
	old := c.elect()
	confirmed := uint64(0)
	c.ready = func(_ *member, eff Effects) { confirmed = max(confirmed, eff.Confirmed) }
	must(t, old.q.Confirm(1))
	must(t, old.q.Confirm(2))
	if c.settle(); confirmed != 2 {
		t.Fatalf("without a tick, up to %d is confirmed, not 2", confirmed)
	}
	for _, m := range c.members {
		if m != old {
			if err := m.q.Confirm(3); !errors.Is(err, ErrNotLeader) {
				t.Errorf("a follower: %v", err)
			}
		}
	}
	c.lose = func(m Message) bool { return m.To == old.q.self || m.From == old.q.self }
	must(t, old.q.Confirm(4))
	led := 0
	for ; c.leader() == old; led++ { // the others look at their clocks more often
		for _, m := range c.members {
			if m != old {
				m.q.Tick()
			}
		}
		if led%4 == 0 {
			old.q.Tick()
		}
		c.settle()
	}
	must(t, c.leader().q.Propose(9, []byte("decided elsewhere")))
	c.settle()
	if err := old.q.Confirm(5); err != nil || !old.last.LeaderReady || confirmed != 2 {
		t.Fatalf("%d ticks after it was cut off the old leader is confirmed up to %d; asked once more: %v, ready: %v", led, confirmed, err, old.last.LeaderReady)
	}
	for range 100 {
		c.tick()
	}
	if err := old.q.Confirm(6); !errors.Is(err, ErrNotLeader) || confirmed != 2 {
		t.Errorf("later: %v, confirmed up to %d", err, confirmed)
	}
	c.lose = nil
	for range 50 {
		c.tick()
	}
	if now := c.elect(); confirmed != 2 || now == nil {
		t.Errorf("healed: confirmed up to %d, leader %v", confirmed, now)
	}
}

// TestConfirmAlone: a single voter needs nobody.
func TestConfirmAlone(t *testing.T) {
	c := newCluster(t, 1, 1, Config{})
	if err := c.members[0].q.Confirm(1); !errors.Is(err, ErrNotLeader) {
		t.Errorf("before it leads: %v", err)
	}
	m, confirmed := c.elect(), uint64(0)
	c.ready = func(_ *member, eff Effects) { confirmed = max(confirmed, eff.Confirmed) }
	must(t, m.q.Confirm(2))
	if c.settle(); confirmed != 2 {
		t.Errorf("confirmed: %d", confirmed)
	}
}
