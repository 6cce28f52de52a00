package quorum

import (
	"errors"
	"fmt"
	"hash/fnv"
	"syscall"
	"testing"

	"github.com/ringmill/ringmill/segment/segmenttest"
)

// world is a cluster in a bad place: messages are lost, doubled and late, links break, processes are killed and power is cut
// at any operation, disks refuse a sync. It checks all the while that what raft promises holds.
type world struct {
	*cluster
	step     int
	flight   []flying
	broken   map[[2]uint64]bool // links from, to
	apart    *member            // nobody hears it nor is heard by it, and its clock is slow; nil: none
	downTill map[*member]int
	newest   uint64            // the greatest index that any member has applied
	asked    map[uint64]uint64 // what newest was at a Confirm, by number
	history  map[uint64]string // what was committed at an index, as the first member that applied it saw it
	leaders  map[uint64]int    // of each term
	terms    map[int]uint64    // the greatest term that a member has told of
	proposal uint64
	calm     bool
	lost     *member // its log has lost what it had acknowledged, and it does not start any more; nil: none
	trace    uint64
	counts   map[string]int
}

// flying is a message on its way.
type flying struct {
	at  int // step at which it arrives
	msg Message
}

func newWorld(tb testing.TB, seed uint64, voters, learners int) *world {
	cfg := Config{
		SegmentBytes: 2000, SnapshotBytes: 3000, CacheBytes: 600, TrailingEntries: 5, SnapshotTicks: 30, MessageBytes: 300, InflightMessages: 4,
	}
	w := &world{
		broken: map[[2]uint64]bool{}, downTill: map[*member]int{}, history: map[uint64]string{}, leaders: map[uint64]int{},
		terms: map[int]uint64{}, counts: map[string]int{}, asked: map[uint64]uint64{},
	}
	w.cluster = newCluster(tb, seed, voters, cfg)
	for n := voters + 1; n <= voters+learners; n++ {
		w.add(n, nil)
	}
	w.applied, w.ready, w.failed = w.checkApplied, w.checkReady, w.crashed
	return w
}

func (w *world) checkApplied(m *member, e Entry) {
	what := fmt.Sprintf("%d %d/%d %q", e.Term, e.Origin, e.Proposal, e.Data)
	if e.Change != nil {
		what += fmt.Sprintf(" %s %s", e.Change.Kind, e.Change.Member.ReplicaKey)
	}
	if was, known := w.history[e.Index]; known && was != what {
		w.tb.Fatalf("step %d: member %d applies %s at %d, but %s was committed there", w.step, m.n, what, e.Index, was)
	}
	w.history[e.Index] = what
	w.newest = max(w.newest, e.Index)
	w.note(m.n, e.Index, what)
}

func (w *world) checkReady(m *member, eff Effects) {
	if eff.Term < w.terms[m.n] {
		w.tb.Fatalf("step %d: member %d falls back from term %d to %d", w.step, m.n, w.terms[m.n], eff.Term)
	}
	w.terms[m.n] = eff.Term
	if eff.Confirmed != 0 {
		w.counts["confirmed"]++
		if newest := w.asked[eff.Confirmed]; eff.AppliedIndex < newest {
			w.tb.Fatalf("step %d: member %d is confirmed with entry %d as its last, and %d had been applied elsewhere when it asked", w.step, m.n, eff.AppliedIndex, newest)
		}
	}
	if !eff.IsLeader {
		return
	}
	if n, known := w.leaders[eff.Term]; known && n != m.n {
		w.tb.Fatalf("step %d: members %d and %d lead in term %d", w.step, n, m.n, eff.Term)
	}
	w.leaders[eff.Term] = m.n
}

func (w *world) note(v ...any) {
	h := fnv.New64a()
	fmt.Fprint(h, w.trace, v)
	w.trace = h.Sum64()
}

// crashed takes a member down whose disk has failed: its power went, or an operation failed and it stopped itself.
func (w *world) crashed(m *member, err error) {
	power := errors.Is(err, segmenttest.ErrPowerCut)
	if !power && !errors.Is(err, syscall.EIO) {
		w.tb.Fatalf("step %d: member %d: %v", w.step, m.n, err)
	}
	w.down(m, power)
}

// down ends a member's process, or its machine.
func (w *world) down(m *member, power bool) {
	m.q, m.last = nil, Effects{}
	if power {
		w.counts["power"]++
		m.fs = m.fs.Crash()
	} else {
		w.counts["kill"]++
		m.fs.Kill()
	}
	w.downTill[m] = w.step + w.rng.IntN(60)
}

// restart opens a member again; the power may go in the middle of that.
func (w *world) restart(m *member) {
	if !w.calm && w.rng.IntN(4) == 0 {
		m.fs.CutAt(m.fs.Ops() + w.rng.IntN(8))
	}
	err := w.tryOpen(m)
	if m == w.lost && (err == nil || lostForGood(err)) {
		if err == nil {
			w.tb.Fatalf("step %d: member %d starts again with a log that has lost entries", w.step, m.n)
		}
		w.down(m, w.rng.IntN(2) == 0)
		return
	}
	if errors.Is(err, segmenttest.ErrPowerCut) || errors.Is(err, syscall.EIO) {
		w.down(m, errors.Is(err, segmenttest.ErrPowerCut))
		return
	}
	if err != nil {
		w.tb.Fatalf("step %d: member %d does not start again: %v", w.step, m.n, err)
	}
	w.counts["restart"]++
}

// run plays some steps.
func (w *world) run(steps int) {
	for range steps {
		w.step++
		for _, m := range w.members {
			switch {
			case m.q == nil && w.step >= w.downTill[m]:
				w.restart(m)
			case m.q != nil && w.rng.IntN(3) == 0 && (m != w.apart || w.rng.IntN(5) == 0):
				m.q.Tick()
			}
		}
		if !w.calm {
			w.misfortune()
		}
		w.work()
		w.fly()
	}
}

// misfortune is what may happen to a member or a link in a step.
func (w *world) misfortune() {
	m := w.members[w.rng.IntN(len(w.members))]
	switch w.rng.IntN(120) {
	case 0:
		m.fs.CutAt(m.fs.Ops() + w.rng.IntN(20))
	case 1:
		if m.q != nil {
			w.down(m, w.rng.IntN(2) == 0)
		}
	case 2:
		kind := []segmenttest.OpKind{segmenttest.OpSync, segmenttest.OpWrite, segmenttest.OpSyncDir, segmenttest.OpRename}[w.rng.IntN(4)]
		m.fs.Inject(segmenttest.FailNth(kind, "", w.rng.IntN(3), false, syscall.EIO))
	case 3, 4:
		a, b := w.members[w.rng.IntN(len(w.members))], m
		w.broken[[2]uint64{uint64(a.n), uint64(b.n)}] = true
	case 5:
		clear(w.broken)
		w.apart = nil
	case 6:
		w.forget(m)
	case 7:
		w.apart = m
		for _, other := range w.members {
			w.broken[[2]uint64{uint64(other.n), uint64(m.n)}] = true
			w.broken[[2]uint64{uint64(m.n), uint64(other.n)}] = true
		}
	}
}

// work lets leaders propose.
func (w *world) work() {
	for _, m := range w.members {
		if m.q == nil || !m.last.IsLeader || w.rng.IntN(6) != 0 {
			continue
		}
		w.proposal++
		var err error
		if w.rng.IntN(8) == 0 && (w.lost == nil || !knows(m, w.lost)) {
			err = w.change(m)
		} else if w.lost != nil && knows(m, w.lost) && w.rng.IntN(4) == 0 {
			err = m.q.Remove(w.proposal, testKey(w.lost.n))
		} else if w.rng.IntN(4) == 0 {
			w.asked[w.proposal] = w.newest
			err = m.q.Confirm(w.proposal)
		} else {
			err = m.q.Propose(w.proposal, fmt.Appendf(nil, "%d.%d%s", m.n, w.proposal, make([]byte, w.rng.IntN(200))))
		}
		for _, expected := range []error{ErrNotLeader, ErrNotReady, ErrChangePending, ErrMember, ErrBusy, ErrNotCaughtUp, ErrLeader} {
			if errors.Is(err, expected) {
				w.counts[expected.Error()]++
				err = nil
			}
		}
		if err != nil {
			w.failed(m, err)
		}
	}
}

// change proposes a change of members or of the leadership, sensible or not.
func (w *world) change(m *member) error {
	key := testKey(1 + w.rng.IntN(len(w.members)))
	if w.lost != nil && key == testKey(w.lost.n) {
		return nil
	}
	switch w.rng.IntN(10) {
	case 0, 1, 2:
		return m.q.AddLearner(w.proposal, testMember(int(key.NodeID)))
	case 3, 4, 5:
		return m.q.AddVoter(w.proposal, key)
	case 6:
		return m.q.RemoveVoter(w.proposal, key)
	case 7:
		return m.q.Remove(w.proposal, key)
	case 8:
		return m.q.Update(w.proposal, key, []Endpoint{{Listener: "SSL", Host: "h", Port: uint16(w.proposal)}})
	}
	return m.q.TransferLeadership(key)
}

// fly drains all members and lets messages arrive.
func (w *world) fly() {
	for _, m := range w.members {
		w.drain(m)
	}
	for _, msg := range w.wire {
		w.launch(msg)
	}
	w.wire = nil
	w.rng.Shuffle(len(w.flight), func(i, j int) { w.flight[i], w.flight[j] = w.flight[j], w.flight[i] })
	var still []flying
	for _, f := range w.flight {
		if f.at > w.step {
			still = append(still, f)
		} else if !w.broken[[2]uint64{f.msg.From, f.msg.To}] {
			w.deliver(f.msg)
		}
	}
	w.flight = still
}

func (w *world) launch(msg Message) {
	copies := 1
	if !w.calm {
		switch w.rng.IntN(20) {
		case 0:
			copies = 0
		case 1:
			copies = 2
		}
	}
	for range copies {
		delay := w.rng.IntN(3)
		if !w.calm && w.rng.IntN(20) == 0 {
			delay = w.rng.IntN(60)
		}
		w.flight = append(w.flight, flying{w.step + delay, msg})
	}
}

// heal ends all misfortune and waits until the cluster works and agrees.
func (w *world) heal() {
	w.calm = true
	clear(w.broken)
	w.apart = nil
	for _, m := range w.members {
		m.fs.CutAt(-1)
		m.fs.Inject(nil)
		w.downTill[m] = 0
	}
	for range 100 {
		w.run(60)
		if w.agreed() {
			return
		}
	}
	for _, m := range w.members {
		if m.q != nil {
			w.tb.Logf("member %d: %+v", m.n, m.q.Status())
		}
	}
	w.tb.Fatalf("step %d: the cluster does not come together", w.step)
}

// agreed reports whether all members of the newest leader's quorum have the same state, with something that was proposed
// after all misfortune.
func (w *world) agreed() bool {
	leader := w.leader()
	if leader == nil {
		return false
	}
	for _, member := range leader.q.Members() {
		m := w.members[member.NodeID-1]
		if m.q == nil || len(m.machine.lines) == 0 || fmt.Sprint(m.machine.lines) != fmt.Sprint(leader.machine.lines) {
			return false
		}
	}
	for index := range w.history {
		if index > leader.machine.index {
			return false
		}
	}
	return true
}

func TestRandom(t *testing.T) {
	counts := map[string]int{}
	for seed := range uint64(testSeeds(t)) {
		w := newWorld(t, seed, []int{3, 5, 1}[seed%3], 2)
		w.run(1500)
		w.heal()
		for what, n := range w.counts {
			counts[what] += n
		}
		counts["committed"] += len(w.history)
		counts["terms"] += len(w.leaders)
	}
	t.Logf("%v", counts)
	for _, what := range []string{"power", "kill", "restart", "committed", "terms", ErrNotCaughtUp.Error(), ErrChangePending.Error(), "lost", "confirmed"} {
		if counts[what] == 0 {
			t.Errorf("%s never came up", what)
		}
	}
}

func testSeeds(t *testing.T) int {
	if testing.Short() {
		return 6
	}
	return 30
}

func TestRandomIsRepeatable(t *testing.T) {
	play := func() uint64 {
		w := newWorld(t, 99, 3, 1)
		w.run(800)
		w.heal()
		return w.trace
	}
	if a, b := play(), play(); a != b {
		t.Errorf("one seed, two traces: %x, %x", a, b)
	}
}
