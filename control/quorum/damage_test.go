package quorum

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/segment/segmenttest"
)

// grownMember is a voter with several segments, a snapshot with entries below and above it, and a change of members.
func grownMember(tb testing.TB) *member {
	c := newCluster(tb, 5, 3, Config{SegmentBytes: 600, SnapshotBytes: 1 << 30, TrailingEntries: 3})
	c.add(4, nil)
	m := c.elect()
	for i := range 16 {
		must(tb, m.q.Propose(uint64(i), fmt.Appendf(nil, "%d%s", i, strings.Repeat("-", 60))))
		c.settle()
		if i == 7 {
			must(tb, m.q.AddLearner(9, testMember(4)))
			c.settle() // the learner needs a snapshot
		}
	}
	must(tb, m.q.Close()) // leaves a witness of the last record
	return m
}

// contents is all that a directory says, as a member that opens it would take it.
func contents(fs *segmenttest.FS) (string, error) {
	q, err := Open(fs, testDir, Config{Rand: rand.New(rand.NewPCG(1, 1))})
	if err != nil {
		return "", err
	}
	defer q.Close()
	out := fmt.Sprintf("%+v term %d vote %x", q.Identity(), q.store.hard.GetTerm(), q.store.hard.GetVote())
	if q.install != nil {
		out += fmt.Sprintf(" snapshot %v %v %q", q.store.snap, q.store.members, q.install.data)
	}
	entries, err := q.store.Entries(max(q.store.base.index, q.store.snap.index)+1, q.store.lastIndex()+1, 1<<30)
	return out + fmt.Sprint(entries), err
}

// TestEveryFlippedBit flips a bit of each byte of a member's directory. None goes unnoticed, and none makes the member
// start with less than it had.
func TestEveryFlippedBit(t *testing.T) {
	m := grownMember(t)
	want, err := contents(m.fs.Remains())
	must(t, err)
	entries, err := m.fs.ReadDir(testDir)
	must(t, err)
	if len(entries) < 5 {
		t.Fatalf("%d files: the directory is too simple", len(entries))
	}
	step := int64(1)
	if testing.Short() {
		step = 11
	}
	for _, e := range entries {
		name := path.Join(testDir, e.Name)
		size, err := m.fs.Stat(name)
		must(t, err)
		for at := int64(0); at < size; at += step {
			fs := m.fs.Remains()
			must(t, fs.Damage(name, at, 1<<(at%8)))
			got, err := contents(fs)
			var corrupt *CorruptionError
			switch {
			case err == nil && got != want:
				t.Fatalf("%s, byte %d: a damaged member starts with\n%s\nnot\n%s", name, at, got, want)
			case err != nil && !errors.As(err, &corrupt):
				t.Fatalf("%s, byte %d: %v", name, at, err)
			case err == nil && !lastBatch(t, m.fs, name, at):
				t.Fatalf("%s, byte %d: nobody noticed", name, at)
			}
		}
	}
}

// lastBatch reports whether a byte is in the log's last batch, the witness, which holds nothing that could be lost.
func lastBatch(t *testing.T, fs *segmenttest.FS, name string, at int64) bool {
	if !strings.HasSuffix(name, logSuffix) {
		return false
	}
	data, err := fs.ReadFile(name)
	must(t, err)
	last := int64(0)
	for pos := int64(0); pos < int64(len(data)); {
		b, err := soundBatch(data[pos:])
		must(t, err)
		last, pos = pos, pos+int64(len(b))
	}
	return at >= last && logIsLast(t, fs, name)
}

func logIsLast(t *testing.T, fs *segmenttest.FS, name string) bool {
	f, err := list(fs, testDir)
	must(t, err)
	return path.Base(name) == logName(f.bases[len(f.bases)-1])
}

// TestMissingFiles: a directory that lacks a file is damaged, and none is not there.
func TestMissingFiles(t *testing.T) {
	m := grownMember(t)
	entries, err := m.fs.ReadDir(testDir)
	must(t, err)
	f, err := list(m.fs, testDir)
	must(t, err)
	for _, e := range entries {
		if e.Name == logName(f.bases[0]) || e.Name == logName(f.bases[len(f.bases)-1]) {
			continue // the first one may be below the snapshot; that the last one is gone can look like its never having been
		}
		fs := m.fs.Remains()
		must(t, fs.Remove(path.Join(testDir, e.Name)))
		_, err := contents(fs)
		var corrupt *CorruptionError
		if !errors.As(err, &corrupt) {
			t.Errorf("without %s: %v", e.Name, err)
		}
	}
	fs := m.fs.Remains()
	must(t, fs.RemoveAll(testDir))
	if _, err := contents(fs); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("without a directory: %v", err)
	}
	if exists, err := Exists(fs, testDir); exists || err != nil {
		t.Errorf("exists: %v %v", exists, err)
	}

	if err := Create(m.fs, testDir, testIdentity(1), nil, nil); !errors.Is(err, ErrExists) {
		t.Errorf("create over a directory: %v", err)
	}
}

// TestDamageWhileRunning: an entry that is read from disk and is damaged is the end, not something to send.
func TestDamageWhileRunning(t *testing.T) {
	c := newCluster(t, 5, 3, Config{CacheBytes: 1, SnapshotBytes: 1 << 30})
	m := c.elect()
	behind := uint64(m.n%3 + 1)
	c.lose = func(msg Message) bool { return msg.To == behind }
	for i := range 10 {
		must(t, m.q.Propose(uint64(i), []byte(strings.Repeat("x", 100))))
		c.tick()
	}
	at := m.q.store.meta(m.q.lastIndex() - 4).at
	must(t, m.fs.Damage(m.q.store.wal.path(at.segment), at.pos+80, 4))
	var failure error
	c.failed = func(_ *member, err error) { failure = err; m.q = nil }
	c.lose = nil
	for range 20 {
		c.tick()
	}
	var corrupt *CorruptionError
	if !errors.As(failure, &corrupt) || corrupt.Position != at.pos {
		t.Fatalf("after a read of a damaged entry: %v", failure)
	}
}
