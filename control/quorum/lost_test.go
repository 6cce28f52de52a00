package quorum

import (
	"errors"
	"path"
	"strings"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/segment/segmenttest"
)

// lostForGood reports whether Open's error says that an earlier run has found the log to lack what it had acknowledged.
func lostForGood(err error) bool {
	var damaged *CorruptionError
	return errors.As(err, &damaged) && errors.Is(err, ErrLostEntries)
}

// accused is a member of three and a message of its leader's that says that the member has acknowledged entry 100, which it does not have.
func accused(t *testing.T) (*cluster, *member, Message) {
	c := newCluster(t, 1, 3, Config{})
	leader := c.elect()
	m := c.members[leader.n%3]
	return c, m, sealedMessage(t, &pb.Message{
		Type: pb.MsgHeartbeat.Enum(), To: new(m.q.RaftID()), From: new(leader.q.RaftID()), Term: new(leader.last.Term), Commit: new(uint64(100)),
	})
}

// TestLostEntries: a member that no longer has what it told the leader of stops, and does not start again.
func TestLostEntries(t *testing.T) {
	c, m, beat := accused(t)
	if err := m.q.Step(beat); !errors.Is(err, ErrLostEntries) || !errors.Is(m.q.Err(), ErrLostEntries) {
		t.Fatalf("a commit index beyond the log: %v, then %v", err, m.q.Err())
	}
	if eff, err := m.q.Ready(); !errors.Is(err, ErrLostEntries) || len(eff.Messages) > 0 {
		t.Errorf("Ready after that: %+v, %v", eff, err)
	}
	m.fs = m.fs.Crash()
	err := c.tryOpen(m)
	if !lostForGood(err) || !strings.Contains(err.Error(), "entry 100, and the log ends at 2 (term 2, leader") ||
		!strings.Contains(err.Error(), "/lost says that no member may start here any more") || strings.Contains(err.Error(), "damaged") {
		t.Errorf("opened again: %v", err)
	}
	if err := Create(m.fs, testDir, testIdentity(9), nil, nil); !errors.Is(err, ErrExists) {
		t.Errorf("made anew over it: %v", err)
	}
	told := ""
	problems, err := Dump(m.fs, testDir, false, func(l DumpLine) { told += string(l.AppendText(nil)) })
	if must(t, err); problems != 1 || !strings.Contains(told, "problem file: lost position: 0 problem: "+ErrLostEntries.Error()) {
		t.Errorf("%d problems in the dump\n%s", problems, told)
	}
}

// TestLossIsNotedOrNot: a power cut while a loss is being noted leaves a directory that is refused or one as before, and a failure of
// the disk does not hide why the member stops.
func TestLossIsNotedOrNot(t *testing.T) {
	_, m, _ := accused(t)
	must(t, m.q.Close())
	l := loss{term: 2, leader: 1, acknowledged: 100, last: 2}
	refused := 0
	for cut := 0; ; cut++ {
		fs := m.fs.Remains()
		fs.CutAt(fs.Ops() + cut)
		noted := !errors.Is(l.stop(fs, testDir), segmenttest.ErrPowerCut)
		_, err := contents(fs.Crash())
		switch {
		case lostForGood(err):
			refused++
		case err != nil || noted:
			t.Fatalf("cut at operation %d, noted %v: %v", cut, noted, err)
		}
		if noted {
			break
		}
	}
	if refused == 0 {
		t.Error("no loss was noted")
	}
	fs := m.fs.Remains()
	fs.Inject(segmenttest.FailNth(segmenttest.OpRename, "", 0, false, errors.New("no")))
	if err := l.stop(fs, testDir); !errors.Is(err, ErrLostEntries) || !strings.Contains(err.Error(), "cannot be noted") {
		t.Errorf("on a disk that fails: %v", err)
	}
}

// TestDamagedNoteIsANote: no flipped bit, and no cut, lets the member start.
func TestDamagedNoteIsANote(t *testing.T) {
	_, m, beat := accused(t)
	_ = m.q.Step(beat)
	name := path.Join(testDir, lostName)
	data, err := m.fs.ReadFile(name)
	must(t, err)
	for at := range data {
		for bit := range 8 {
			fs := m.fs.Remains()
			must(t, fs.Damage(name, int64(at), 1<<bit))
			var damaged *CorruptionError
			if _, err := contents(fs); !lostForGood(err) || !errors.As(err, &damaged) || damaged.File != name {
				t.Fatalf("bit %d of byte %d: %v", bit, at, err)
			}
		}
	}
	for at := range data {
		must(t, m.fs.WriteFileAtomic(name, data[:at]))
		var damaged *CorruptionError
		if _, err := contents(m.fs.Remains()); !errors.As(err, &damaged) || damaged.File != name {
			t.Fatalf("cut to %d bytes: %v", at, err)
		}
	}
	newer := sealLines([]byte("version=2\n"))
	must(t, m.fs.WriteFileAtomic(name, newer))
	if _, err := contents(m.fs.Remains()); !errors.Is(err, ErrNewerFormat) {
		t.Errorf("a newer release's: %v", err)
	}
}

// forget is what a device does that has not kept what it said was durable: a voter comes back from a power cut with a log that is whole, and
// shorter than the leader knows it to be. It must stop at that leader's first word and never start again; another member comes in its place.
// One such voter a world: more than a minority may not forget.
func (w *world) forget(m *member) {
	leader := w.leader()
	if w.lost != nil || leader == nil || m == leader || m.q == nil || !w.reigns(leader) {
		return
	}
	before := leader.q.Status()
	at, known := leader.q.members.find(m.q.self)
	if !known || !leader.q.members[at].Voter || leader.q.members.voters() < 3 || leader.q.change != 0 {
		return
	}
	acknowledged := min(before.Members[at].Match, before.Commit)
	w.down(m, true)
	kept, lossy := m.fs, m.fs.Remains()
	if !shorten(w.tb, lossy, acknowledged) {
		return
	}
	m.fs = lossy
	must(w.tb, w.tryOpen(m))
	beat, beats := w.beat(leader, m)
	if m.q.lastIndex() >= acknowledged || !beats { // the snapshot has it, or the leader has just stepped down
		m.fs, m.q = kept, nil
		return
	}
	if err := m.q.Step(beat); !errors.Is(err, ErrLostEntries) {
		w.tb.Fatalf("step %d: member %d, whose log ends at %d, hears that it has acknowledged %d: %v", w.step, m.n, m.q.lastIndex(), acknowledged, err)
	}
	w.lost = m
	w.counts["lost"]++
	w.down(m, true)
	w.add(len(w.members)+1, nil)
}

// reigns reports whether nobody has heard of a term after leader's.
func (w *world) reigns(leader *member) bool {
	for _, m := range w.members {
		if w.terms[m.n] > leader.last.Term || m.q != nil && m.q.status().GetTerm() > leader.last.Term {
			return false
		}
	}
	return leader.q != nil && leader.q.status().GetTerm() == leader.last.Term
}

// beat gives what the leader next has to say to m of how much m has.
func (w *world) beat(leader, m *member) (beat Message, ok bool) {
	for range leader.q.cfg.HeartbeatTicks {
		leader.q.Tick()
	}
	w.drain(leader)
	for _, msg := range w.wire {
		if raw, err := decodeMessage(m.q.self, msg); err == nil && raw.GetType() == pb.MsgHeartbeat && msg.From == uint64(leader.n) {
			beat, ok = msg, true
		}
	}
	return beat, ok
}

// shorten cuts whole batches off the end of the log's last segment until one went that has an entry at or below index.
func shorten(tb testing.TB, fs *segmenttest.FS, index uint64) (did bool) {
	f, err := list(fs, testDir)
	must(tb, err)
	name := path.Join(testDir, logName(f.bases[len(f.bases)-1]))
	data, err := fs.ReadFile(name)
	must(tb, err)
	size := int64(-1)
	for pos := int64(0); pos < int64(len(data)) && size < 0; {
		raw, err := soundBatch(data[pos:])
		if err != nil {
			break // torn: nobody was told of it
		}
		b, err := readWalBatch(raw)
		must(tb, err)
		if n := len(b.entries); pos > 0 && n > 0 && b.entries[0].GetIndex() <= index && b.entries[n-1].GetIndex() >= index {
			size = pos
		}
		pos += int64(len(raw))
	}
	if size < 0 {
		return false
	}
	file, err := fs.OpenFile(name, segment.ReadWrite, 0)
	must(tb, err)
	defer file.Close()
	must(tb, errors.Join(file.Truncate(size), file.Sync()))
	return true
}

// knows reports whether a member has another one among its quorum's members.
func knows(m, other *member) bool {
	_, known := m.q.Member(testKey(other.n).RaftID())
	return known
}
