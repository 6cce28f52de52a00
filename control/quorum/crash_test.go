package quorum

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment/segmenttest"
)

// crashWorld plays a script in which a member does all that touches its disk: votes, appends, conflicts, rolls, snapshots made
// and received, changes of members. When the victim's power goes, so does everybody's.
type crashWorld struct {
	*cluster
	committed []string // what anybody has applied, in order
	cut       bool
}

func newCrashWorld(t *testing.T) *crashWorld {
	w := &crashWorld{cluster: newCluster(t, 7, 3, Config{SegmentBytes: 700, SnapshotBytes: 1500, CacheBytes: 300, TrailingEntries: -1})}
	w.add(4, nil)
	w.applied = func(m *member, e Entry) {
		if n := len(m.machine.lines); e.Change == nil && n > len(w.committed) {
			w.committed = append(w.committed, m.machine.lines[n-1])
		}
	}
	w.failed = func(m *member, err error) {
		if !errors.Is(err, segmenttest.ErrPowerCut) {
			t.Fatal(err)
		}
		m.q, m.last, w.cut = nil, Effects{}, true
	}
	return w
}

// propose lets whoever leads propose, and waits for it.
func (w *crashWorld) propose(n int) {
	for i := range n {
		if leader := w.leader(); leader != nil && !w.cut {
			_ = leader.q.Propose(uint64(i), fmt.Appendf(nil, "%d%s", len(w.committed), strings.Repeat(".", 100)))
			w.pass(1)
		}
	}
}

func (w *crashWorld) pass(ticks int) {
	for range ticks {
		if !w.cut {
			w.tick()
		}
	}
}

// lead makes member n the leader.
func (w *crashWorld) lead(n int) {
	for range 10 {
		w.pass(5)
		if leader := w.leader(); leader != nil && leader.n != n && !w.cut {
			_ = leader.q.TransferLeadership(testKey(n))
		}
	}
}

// script stops at the victim's power cut.
func (w *crashWorld) script(victim int) {
	w.lead(victim)
	w.propose(8)
	if leader := w.leader(); leader != nil && !w.cut {
		_ = leader.q.AddLearner(100, testMember(4))
		w.pass(5)
	}
	w.lose = func(m Message) bool { return m.From == uint64(victim) || m.To == uint64(victim) }
	w.propose(3) // which only the victim has, if it leads
	w.pass(40)
	w.propose(14)
	w.lose = nil
	w.pass(30)
	w.lead(victim)
	if leader := w.leader(); leader != nil && !w.cut {
		_ = leader.q.AddVoter(101, testKey(4))
		w.pass(5)
	}
	w.propose(6)
	for _, m := range w.members {
		if m.n == victim && m.q != nil {
			if err := m.q.Close(); err != nil {
				w.failed(m, err)
			}
		}
	}
}

// TestPowerCutEverywhere cuts the power at each of the victim's file operations, of all members at once, and lets them come
// back with what was synced: whatever anybody had applied is there, in its order, and the cluster works.
func TestPowerCutEverywhere(t *testing.T) {
	for _, victim := range []int{1, 4} { // a voter, and a learner that becomes one
		whole := newCrashWorld(t)
		start := whole.members[victim-1].fs.Ops()
		whole.script(victim)
		end := whole.members[victim-1].fs.Ops()
		t.Logf("victim %d: %d operations, %d entries", victim, end-start, len(whole.committed))
		if end-start < 50 || len(whole.committed) < 25 {
			t.Errorf("the script does not do what it is for")
		}
		step := 1
		if testing.Short() {
			step = 7
		}
		for cut := start; cut < end; cut += step {
			w := newCrashWorld(t)
			m := w.members[victim-1]
			m.fs.CutAt(cut)
			w.script(victim)
			if !w.cut {
				t.Fatalf("the cut at %d never came", cut)
			}
			w.comeBack(t, cut)
		}
	}
}

func (w *crashWorld) comeBack(t *testing.T, cut int) {
	acked := append([]string(nil), w.committed...)
	w.failed, w.lose, w.wire, w.cut, w.committed = nil, nil, nil, false, nil
	for _, m := range w.members {
		m.fs = m.fs.Crash()
		if err := w.tryOpen(m); err != nil {
			t.Fatalf("cut at %d: member %d: %v", cut, m.n, err)
		}
	}
	w.settle()
	leader := w.elect()
	must(t, leader.q.Propose(1, []byte("after")))
	w.pass(40)
	leader = w.elect()
	got := leader.machine.lines
	if len(got) <= len(acked) || strings.Join(got[:len(acked)], "\n") != strings.Join(acked, "\n") || got[len(got)-1] != "after" {
		t.Fatalf("cut at %d: of %d committed entries the cluster has\n%q\nwant to begin\n%q", cut, len(acked), got, acked)
	}
	for _, member := range leader.q.Members() {
		if m := w.members[member.NodeID-1]; strings.Join(m.machine.lines, "\n") != strings.Join(got, "\n") {
			t.Fatalf("cut at %d: member %d has %d entries, member %d %d", cut, m.n, len(m.machine.lines), leader.n, len(got))
		}
	}
}

// TestFailureIsFinal: after the first operation that fails nothing is sent, applied or written.
func TestFailureIsFinal(t *testing.T) {
	broken := errors.New("broken")
	for _, kind := range []segmenttest.OpKind{segmenttest.OpWrite, segmenttest.OpSync} {
		c := newCluster(t, 3, 3, Config{})
		m := c.elect()
		m.fs.Inject(segmenttest.FailNth(kind, logSuffix, 0, false, broken))
		must(t, m.q.Propose(1, []byte("a")))
		eff, err := m.q.Ready()
		if !errors.Is(err, broken) || len(eff.Messages)+len(eff.Applied) > 0 {
			t.Fatalf("a failed operation of kind %d: %v, %+v", kind, err, eff)
		}
		ops := m.fs.Ops()
		m.q.Tick()
		if !m.q.HasReady() {
			t.Error("HasReady hides the failure")
		}
		_, readyErr := m.q.Ready()
		for what, err := range map[string]error{
			"ready": readyErr, "propose": m.q.Propose(2, nil), "compact": m.q.Compact(2, nil), "step": m.q.Step(Message{}), "err": m.q.Err(),
			"change": m.q.AddLearner(3, testMember(4)), "close": m.q.Close(),
		} {
			if !errors.Is(err, broken) {
				t.Errorf("%s after a failure: %v", what, err)
			}
		}
		if m.fs.Ops() != ops {
			t.Error("something was written after a failure")
		}
	}
}
