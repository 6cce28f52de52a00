package quorum

import (
	"path"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// TestTornBaseOffset: a batch whose first sector a power cut has kept from the disk is a torn end like any other, though its checksum,
// which does not cover the base offset, is right.
func TestTornBaseOffset(t *testing.T) {
	c := newCluster(t, 1, 1, Config{})
	m := c.members[0]
	for !m.last.LeaderReady {
		c.tick()
	}
	must(t, m.q.Propose(1, []byte("kept")))
	for m.q.HasReady() {
		_, err := m.q.Ready()
		must(t, err)
	}
	last := m.q.lastIndex()
	must(t, m.q.Propose(2, []byte("torn")))
	for m.q.HasReady() {
		_, err := m.q.Ready()
		must(t, err)
	}
	m.fs.Kill()

	name := path.Join(testDir, logName(0))
	data, err := m.fs.ReadFile(name)
	must(t, err)
	at := 0
	for rest := data; len(rest) > 0; {
		_, tail, err := wire.ReadRecordBatch(rest)
		must(t, err)
		at, rest = len(data)-len(rest), tail
	}
	f, err := m.fs.OpenFile(name, segment.ReadWrite, 0)
	must(t, err)
	_, err = f.WriteAt(make([]byte, 8), int64(at))
	must(t, err)
	must(t, f.Close())

	must(t, c.tryOpen(m))
	if got := m.q.lastIndex(); got != last {
		t.Errorf("the last entry is %d, want %d", got, last)
	}
}
