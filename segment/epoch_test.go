package segment

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func cacheOf(entries ...EpochEntry) *LeaderEpochCache { return &LeaderEpochCache{entries: entries} }

func TestLeaderEpochAssign(t *testing.T) {
	for _, test := range []struct {
		name    string
		have    []EpochEntry
		epoch   wire.LeaderEpoch
		start   wire.Offset
		want    []EpochEntry
		changed bool
	}{
		{"first", nil, 0, 0, []EpochEntry{{0, 0}}, true},
		{"next", []EpochEntry{{0, 0}}, 2, 10, []EpochEntry{{0, 0}, {2, 10}}, true},
		{"same, later offset", []EpochEntry{{2, 10}}, 2, 15, []EpochEntry{{2, 10}}, false},
		{"same, same offset", []EpochEntry{{2, 10}}, 2, 10, []EpochEntry{{2, 10}}, false},
		{"same, earlier offset", []EpochEntry{{1, 3}, {2, 10}}, 2, 7, []EpochEntry{{1, 3}, {2, 7}}, true},
		{"same start: no record was written in between", []EpochEntry{{1, 3}, {2, 10}}, 3, 10, []EpochEntry{{1, 3}, {3, 10}}, true},
		{"start below entries", []EpochEntry{{1, 3}, {2, 10}, {4, 20}}, 5, 9, []EpochEntry{{1, 3}, {5, 9}}, true},
		{"epoch below entries", []EpochEntry{{1, 3}, {4, 10}, {6, 20}}, 2, 30, []EpochEntry{{1, 3}, {2, 30}}, true},
		{"none", []EpochEntry{{1, 3}}, -1, 30, []EpochEntry{{1, 3}}, false},
	} {
		c := cacheOf(slices.Clone(test.have)...)
		if changed := c.Assign(test.epoch, test.start); changed != test.changed || !slices.Equal(c.Entries(), test.want) {
			t.Errorf("%s: %v, changed %v, want %v, %v", test.name, c.Entries(), changed, test.want, test.changed)
		}
	}
}

// TestLeaderEpochEndOffset has the cases of KIP-101 and KIP-279 as Kafka's LeaderEpochFileCache answers them.
func TestLeaderEpochEndOffset(t *testing.T) {
	c := cacheOf(EpochEntry{2, 5}, EpochEntry{4, 11}, EpochEntry{7, 20})
	for _, test := range []struct {
		requested, epoch wire.LeaderEpoch
		end              wire.Offset
	}{
		{-1, -1, -1}, // nothing is known
		{1, 1, 5},    // older than all: where the oldest that is left begins
		{2, 2, 11},
		{3, 2, 11}, // between two: the one before
		{4, 4, 20},
		{6, 4, 20},
		{7, 7, 33}, // the newest ends where the log does
		{8, -1, -1},
	} {
		if epoch, end := c.EndOffsetFor(test.requested, 33); epoch != test.epoch || end != test.end {
			t.Errorf("end of epoch %d: (%d, %d), want (%d, %d)", test.requested, epoch, end, test.epoch, test.end)
		}
	}
	if epoch, end := cacheOf().EndOffsetFor(0, 33); epoch != -1 || end != -1 {
		t.Errorf("end of epoch 0 in an empty cache: (%d, %d)", epoch, end)
	}
}

func TestLeaderEpochAt(t *testing.T) {
	c := cacheOf(EpochEntry{2, 5}, EpochEntry{4, 11})
	for off, want := range map[wire.Offset]wire.LeaderEpoch{0: -1, 4: -1, 5: 2, 10: 2, 11: 4, 1000: 4} {
		if got := c.EpochAt(off); got != want {
			t.Errorf("epoch at %d: %d, want %d", off, got, want)
		}
	}
}

func TestLeaderEpochTruncate(t *testing.T) {
	have := []EpochEntry{{2, 5}, {4, 11}, {7, 20}}
	for _, test := range []struct {
		end  wire.Offset
		want []EpochEntry
	}{{21, have}, {20, have[:2]}, {12, have[:2]}, {11, have[:1]}, {5, nil}, {0, nil}} {
		c := cacheOf(slices.Clone(have)...)
		changed := c.TruncateFromEnd(test.end)
		if !slices.Equal(c.Entries(), test.want) || changed != (len(test.want) < len(have)) {
			t.Errorf("truncated to %d: %v, changed %v", test.end, c.Entries(), changed)
		}
	}
	for _, test := range []struct {
		start   wire.Offset
		want    []EpochEntry
		changed bool
	}{
		{0, have, false},
		{5, have, false},
		{6, []EpochEntry{{2, 6}, {4, 11}, {7, 20}}, true},
		{11, []EpochEntry{{4, 11}, {7, 20}}, true},
		{19, []EpochEntry{{4, 19}, {7, 20}}, true},
		{90, []EpochEntry{{7, 90}}, true},
	} {
		c := cacheOf(slices.Clone(have)...)
		if changed := c.TruncateFromStart(test.start); changed != test.changed || !slices.Equal(c.Entries(), test.want) {
			t.Errorf("log starts at %d: %v, changed %v", test.start, c.Entries(), changed)
		}
	}
}

func TestLeaderEpochCheckpointFile(t *testing.T) {
	c := cacheOf(EpochEntry{0, 0}, EpochEntry{5, 123456789012})
	const file = "0\n2\n0 0\n5 123456789012\n"
	if got := string(c.AppendTo(nil)); got != file {
		t.Errorf("written %q, want %q", got, file)
	}
	for _, s := range []string{file, "0\r\n2\r\n0   0\r\n5\t123456789012"} {
		read, err := ReadLeaderEpochCache([]byte(s))
		if err != nil || !slices.Equal(read.Entries(), c.Entries()) {
			t.Errorf("%q read as %v (%v)", s, read.Entries(), err)
		}
	}
	for _, s := range []string{"1\n0\n", "0\nx\n", "0\n2\n0 0\n", "0\n1\n0\n", "0\n1\n0 0 0\n", "0\n1\n-1 0\n", "0\n1\n0 -1\n", "0\n1\n 0 0\n", "0\n1\n0 0\n\n"} {
		var bad *CheckpointError
		if _, err := ReadLeaderEpochCache([]byte(s)); !errors.As(err, &bad) {
			t.Errorf("%q read: %v", s, err)
		}
	}
}

func FuzzReadLeaderEpochCache(f *testing.F) {
	for _, s := range []string{"", "0\n", "0\n0\n", "0\n2\n0 0\n5 12\n", "0\n2\n5 12\n0 0\n", "0\n1\n-1 -1\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ReadLeaderEpochCache(raw)
		if err != nil {
			return
		}
		for i, e := range c.Entries() {
			if i > 0 && (e.Epoch <= c.Entries()[i-1].Epoch || e.Start <= c.Entries()[i-1].Start) {
				t.Fatalf("entries do not rise: %v", c.Entries())
			}
		}
		again, err := ReadLeaderEpochCache(c.AppendTo(nil))
		if err != nil || !slices.Equal(again.Entries(), c.Entries()) {
			t.Fatalf("%v written and read again: %v (%v)", c.Entries(), again.Entries(), err)
		}
	})
}

func TestCheckpointErrorIsShort(t *testing.T) {
	_, err := ReadLeaderEpochCache([]byte("0\n1\n" + strings.Repeat("x", 1<<20)))
	if err == nil || len(err.Error()) > 200 {
		t.Fatalf("error of %d bytes", len(err.Error()))
	}
}
