package quorum

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// TestFullDiskPasses: a member whose disk is full says and applies nothing, and goes on where it was when there is room: with the entry that it
// had no room for, with a segment that could not begin, and with a snapshot.
func TestFullDiskPasses(t *testing.T) {
	c := newCluster(t, 7, 1, Config{SegmentBytes: 600, SnapshotBytes: 1 << 30, TrailingEntries: 3, NoRoom: func(err error) bool { return errors.Is(err, syscall.ENOSPC) }})
	m := c.elect()
	want := m.machine.lines
	for i := range 20 {
		line := fmt.Sprintf("%d%s", i, strings.Repeat("-", 60))
		want = append(want, line)
		m.fs.SetCapacity(1)
		must(t, m.q.Propose(uint64(i), []byte(line)))
		for range 3 {
			if _, err := m.q.Ready(); !errors.Is(err, ErrFull) || m.q.Err() != nil || !m.q.HasReady() {
				t.Fatalf("entry %d: %v, final %v", i, err, m.q.Err())
			}
		}
		if i == 10 {
			if err := m.q.Compact(m.last.AppliedIndex, m.machine.encode()); !errors.Is(err, ErrFull) || m.q.Err() != nil {
				t.Fatalf("a snapshot: %v, final %v", err, m.q.Err())
			}
		}
		m.fs.SetCapacity(0)
		c.settle()
		if i == 10 {
			must(t, m.q.Compact(m.last.AppliedIndex, m.machine.encode()))
		}
	}
	if fmt.Sprint(m.machine.lines) != fmt.Sprint(want) {
		t.Fatalf("applied %q\nwant %q", m.machine.lines, want)
	}
	must(t, m.q.Close())
	if _, err := contents(m.fs.Remains()); err != nil {
		t.Fatal(err)
	}
}
