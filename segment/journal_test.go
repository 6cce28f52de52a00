package segment

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// memory is a file's bytes for tests that need no crash.
type memory struct{ bytes []byte }

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.bytes).ReadAt(p, off)
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) {
	if grow := int(off) + len(p) - len(m.bytes); grow > 0 {
		m.bytes = append(m.bytes, make([]byte, grow)...)
	}
	return copy(m.bytes[off:], p), nil
}

func (m *memory) Truncate(size int64) error { m.bytes = m.bytes[:size]; return nil }
func (m *memory) Sync() error               { return nil }
func (m *memory) Size() (int64, error)      { return int64(len(m.bytes)), nil }
func (m *memory) Close() error              { return nil }
func (m *memory) Fd() int                   { return -1 }

// newTestJournal gives a journal in memory with tracks of a page.
func newTestJournal(t testing.TB, tracks int) (*Journal, *memory) {
	t.Helper()
	m := &memory{bytes: make([]byte, journalHeadBytes+tracks*journalTrackBytesMin)}
	slot := journalSlot{serial: 1, incarnation: 1, salt: 0x5a17, trackBytes: journalTrackBytesMin, floor: 1}
	if err := writeJournalSlot(m, slot); err != nil {
		t.Fatal(err)
	}
	return newJournal(slot, tracks, int64(tracks)*journalTrackBytesMin), m
}

func entryOf(offset int, batch string) JournalEntry {
	return JournalEntry{TopicID: wire.TopicID{15: 7}, Partition: 3, BaseOffset: wire.Offset(offset), LeaderEpoch: 5, Batch: wire.RecordBatch(batch)}
}

// appendAll plans and writes entries; it gives how many found room.
func appendAll(j *Journal, m *memory, entries ...JournalEntry) int {
	done := 0
	for done < len(entries) {
		plan, n := j.PlanAppend(entries[done:])
		if n == 0 {
			return done
		}
		m.WriteAt(slices.Concat(plan.Bufs...), int64(plan.Position))
		j.Written(plan)
		done += n
	}
	return done
}

func sync(j *Journal) { j.Synced(j.BeginSync()) }

// readAll gives the batches that a reader finds and what ended it.
func readAll(t testing.TB, m *memory) ([]string, error) {
	t.Helper()
	r, err := ReadJournal(m, int64(len(m.bytes)))
	if err != nil {
		return nil, err
	}
	var got []string
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		got = append(got, string(e.Batch))
	}
	return got, r.Err()
}

func wantEntries(t *testing.T, m *memory, want ...string) {
	t.Helper()
	got, err := readAll(t, m)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("read %q (%v), want %q", short(got), err, short(want))
	}
}

func short(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, s[:min(len(s), 8)])
	}
	return out
}

// TestJournalGolden pins the bytes: a change here is a new version of the format.
func TestJournalGolden(t *testing.T) {
	slot := journalSlot{serial: 2, incarnation: 3, salt: 0x1122334455667788, trackBytes: 8 << 20, floor: 9}
	const wantSlot = "524d4a48" + "7c0d3e63" + "00000001" + "00000003" + "0000000000000002" + "0000000000800000" +
		"0000000000000009" + "1122334455667788" + "00000000"
	if got := hex.EncodeToString(slot.appendTo(nil)); got != wantSlot {
		t.Errorf("head\n %s, want\n %s", got, wantSlot)
	}
	e := JournalEntry{TopicID: wire.TopicID{0: 0xa0, 15: 0xaf}, Partition: 4, BaseOffset: 1000, LeaderEpoch: 6, Batch: wire.RecordBatch("abc")}
	const wantEntry = "524d4a45" + "15c5cc28" + "00000003" + "00000001" + "00000003" + "00000006" + "000000000000000a" +
		"0000000000000008" + "a00000000000000000000000000000af" + "00000000000003e8" + "1122334455667788" + "00000004" + "00000000"
	header := appendJournalHeader(nil, &slot, 10, 8, &e)
	if got := hex.EncodeToString(header); got != wantEntry {
		t.Errorf("entry\n %s, want\n %s", got, wantEntry)
	}
	read, err := readJournalSlot(slot.appendTo(nil))
	if err != nil || read != slot {
		t.Errorf("head read as %+v (%v)", read, err)
	}
	rec, size, err := readJournalEntry(append(header, "abc"...), &slot)
	if err != nil || size != 88 || rec.sequence != 10 || rec.synced != 8 || rec.entry.TopicID != e.TopicID || rec.entry.Partition != 4 ||
		rec.entry.BaseOffset != 1000 || rec.entry.LeaderEpoch != 6 || string(rec.entry.Batch) != "abc" {
		t.Errorf("entry read as %+v, size %d (%v)", rec, size, err)
	}
}

// TestJournalTruncationGolden pins the bytes of version 2.
func TestJournalTruncationGolden(t *testing.T) {
	slot := journalSlot{serial: 2, incarnation: 3, salt: 0x1122334455667788, trackBytes: 8 << 20, floor: 9, truncations: true}
	const wantSlot = "524d4a48" + "b3db6682" + "00000002" + "00000003" + "0000000000000002" + "0000000000800000" +
		"0000000000000009" + "1122334455667788" + "00000000"
	if got := hex.EncodeToString(slot.appendTo(nil)); got != wantSlot {
		t.Errorf("head\n %s, want\n %s", got, wantSlot)
	}
	e := JournalTruncation(wire.TopicID{0: 0xa0, 15: 0xaf}, 4, 1000)
	const wantEntry = "524d4a45" + "799c3a12" + "00000000" + "00000002" + "00000003" + "ffffffff" + "000000000000000a" +
		"0000000000000008" + "a00000000000000000000000000000af" + "00000000000003e8" + "1122334455667788" + "00000004" + "00000000"
	raw := appendJournalHeader(nil, &slot, 10, 8, &e)
	if got := hex.EncodeToString(raw); got != wantEntry {
		t.Errorf("entry\n %s, want\n %s", got, wantEntry)
	}
	read, err := readJournalSlot(slot.appendTo(nil))
	if err != nil || read != slot {
		t.Errorf("head read as %+v (%v)", read, err)
	}
	rec, size, err := readJournalEntry(raw, &slot)
	if err != nil || size != 80 || !rec.entry.Truncation || rec.entry.BaseOffset != 1000 {
		t.Errorf("entry read as %+v, size %d (%v)", rec, size, err)
	}
	slot.truncations = false
	if _, _, err := readJournalEntry(raw, &slot); err == nil {
		t.Error("a journal of version 1 has a truncation")
	}
}

// TestJournalTruncationsVoid: a truncation says of earlier entries of its partition, wherever they are, whether they are replayed.
func TestJournalTruncationsVoid(t *testing.T) {
	j, m := newTestJournal(t, 3)
	j.slot.truncations = true
	if err := writeJournalSlot(m, j.slot); err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("\x00", 1800) // a last offset delta of 0
	other := entryOf(10, "other")
	other.Partition = 9
	cut := func(from wire.Offset) JournalEntry {
		e := entryOf(0, "")
		return JournalTruncation(e.TopicID, e.Partition, from)
	}
	appendAll(j, m, entryOf(10, "a"), other, entryOf(12, filler), entryOf(13, filler), cut(12), entryOf(12, filler), entryOf(13, "b"), cut(13),
		entryOf(13, "c"), entryOf(14, "d"))
	r, err := ReadJournal(m, int64(len(m.bytes)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, ok := r.Next(); ok; e, ok = r.Next() {
		got = append(got, fmt.Sprint(e.BaseOffset, e.Truncation, e.Void))
	}
	want := []string{
		"10 false false", "10 false false", "12 false true", "13 false true", "12 true false", "12 false false", "13 false true",
		"13 true false", "13 false false", "14 false false",
	}
	if r.Err() != nil || !slices.Equal(got, want) {
		t.Fatalf("%q (%v), want %q", got, r.Err(), want)
	}
}

func TestJournalNextVersionIsRefused(t *testing.T) {
	_, m := newTestJournal(t, 2)
	slot := journalSlot{serial: 1, incarnation: 1, trackBytes: journalTrackBytesMin, floor: 1}
	raw := slot.appendTo(nil)
	raw[11] = 3
	resealSlot(raw)
	copy(m.bytes[slot.position():], raw)
	if _, err := ReadJournal(m, int64(len(m.bytes))); !errors.Is(err, ErrJournalVersion) {
		t.Fatalf("read: %v", err)
	}
}

func TestJournalReadsWhatWasWritten(t *testing.T) {
	j, m := newTestJournal(t, 2)
	wantEntries(t, m)
	appendAll(j, m, entryOf(0, "one"), entryOf(1, "two22222222"), entryOf(2, ""))
	appendAll(j, m, entryOf(3, "four"))
	wantEntries(t, m, "one", "two22222222", "", "four")
}

func TestJournalFullUntilCheckpoint(t *testing.T) {
	j, m := newTestJournal(t, 2)
	big := strings.Repeat("x", 1200) // three fit into a track
	n := appendAll(j, m, slices.Repeat([]JournalEntry{entryOf(0, big)}, 10)...)
	if n != 6 || j.Fits(len(big)) || j.Full() {
		t.Fatalf("%d entries of 10 fitted into two tracks of three; full %v, room for another %v", n, j.Full(), j.Fits(len(big)))
	}
	for appendAll(j, m, entryOf(6, "")) == 1 { // what is left of the last track
	}
	if !j.Full() {
		t.Fatal("not full without a byte left")
	}
	if !j.NeedsCheckpoint() {
		t.Fatal("a full journal needs no checkpoint")
	}
	c := j.PlanCheckpoint()
	if c.Through < 6 || j.NeedsCheckpoint() {
		t.Fatalf("checkpoint through %d, another one needed: %v", c.Through, j.NeedsCheckpoint())
	}
	if err := c.Run(m); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, m)
	j.Checkpointed(c)
	if n := appendAll(j, m, entryOf(6, "next"), entryOf(7, big)); n != 2 || j.SyncedUpTo() != c.Through {
		t.Fatalf("%d entries fitted after the checkpoint, synced up to %d", n, j.SyncedUpTo())
	}
	wantEntries(t, m, "next", big)
}

func TestJournalAppendsGoOnDuringCheckpoint(t *testing.T) {
	j, m := newTestJournal(t, 4)
	big := strings.Repeat("x", 3000) // one a track
	appendAll(j, m, entryOf(0, big+"0"), entryOf(1, big+"1"), entryOf(2, big+"2"))
	c := j.PlanCheckpoint()
	if n := appendAll(j, m, entryOf(3, big+"3"), entryOf(4, big)); n != 1 {
		t.Fatalf("%d entries fitted behind the checkpoint, want 1", n)
	}
	if err := c.Run(m); err != nil {
		t.Fatal(err)
	}
	j.Checkpointed(c)
	if n := appendAll(j, m, entryOf(4, big+"4")); n != 1 {
		t.Fatal("a freed track takes nothing")
	}
	wantEntries(t, m, big+"3", big+"4")
}

func TestJournalOversizedEntry(t *testing.T) {
	j, m := newTestJournal(t, 2)
	if n := appendAll(j, m, entryOf(0, strings.Repeat("x", j.EntryMax()))); n != 1 {
		t.Fatal("an entry of EntryMax bytes does not fit")
	}
	if n := appendAll(j, m, entryOf(0, strings.Repeat("x", j.EntryMax()+1))); n != 0 || j.Fits(j.EntryMax()+1) {
		t.Fatal("an entry of more than EntryMax bytes fits")
	}
	if n := appendAll(j, m, entryOf(1, "small")); n != 1 {
		t.Fatal("a refused entry blocks the next one")
	}
}

func TestJournalSyncCoversWhatWasWrittenBefore(t *testing.T) {
	j, m := newTestJournal(t, 2)
	appendAll(j, m, entryOf(0, "a"))
	if !j.NeedsSync() {
		t.Fatal("a written entry needs no sync")
	}
	upTo := j.BeginSync()
	appendAll(j, m, entryOf(1, "b"))
	if j.NeedsSync() {
		t.Fatal("a second sync is wanted while one is in flight")
	}
	j.Synced(upTo)
	if j.SyncedUpTo() != 1 || !j.NeedsSync() {
		t.Fatalf("synced up to %d, want 1; needs sync %v", j.SyncedUpTo(), j.NeedsSync())
	}
	sync(j)
	if j.SyncedUpTo() != 2 || j.NeedsSync() {
		t.Fatalf("synced up to %d, want 2", j.SyncedUpTo())
	}
}

// TestJournalTornOrDamaged: the same flipped bit is a torn end if nothing says that the entry was on disk, and damage if a
// later entry does.
func TestJournalTornOrDamaged(t *testing.T) {
	for _, synced := range []bool{false, true} {
		j, m := newTestJournal(t, 2)
		plan, _ := j.PlanAppend([]JournalEntry{entryOf(0, "aaaa"), entryOf(1, "bbbb")})
		m.WriteAt(slices.Concat(plan.Bufs...), int64(plan.Position))
		j.Written(plan)
		if synced {
			sync(j)
		}
		appendAll(j, m, entryOf(2, "cccc"))
		at := bytes.Index(m.bytes, []byte("bbbb"))
		m.bytes[at] ^= 1
		got, err := readAll(t, m)
		var damage *JournalError
		if !slices.Equal(got, []string{"aaaa"}) || errors.As(err, &damage) != synced {
			t.Fatalf("synced %v: read %q, %v", synced, got, err)
		}
		if synced && (damage.Sequence != 2 || damage.Position != int64(at-journalEntryOverhead)) {
			t.Fatalf("damage reported at entry %d, byte %d", damage.Sequence, damage.Position)
		}
	}
}

// TestJournalDamageAccepted: a node whose partitions have other replicas starts with what can be read.
func TestJournalDamageAccepted(t *testing.T) {
	j, m := newTestJournal(t, 2)
	appendAll(j, m, entryOf(0, "aaaa"), entryOf(1, "bbbb"))
	sync(j)
	appendAll(j, m, entryOf(2, "cccc"))
	m.bytes[bytes.Index(m.bytes, []byte("bbbb"))] ^= 1
	var got []string
	var damage *JournalError
	cfg := JournalConfig{TrackBytes: journalTrackBytesMin, Bytes: 2 * journalTrackBytesMin, Salt: 5}
	j, err := openJournal(m, cfg, func(r *JournalReader) error {
		r.AcceptDamage()
		for e, ok := r.Next(); ok; e, ok = r.Next() {
			got = append(got, string(e.Batch))
		}
		damage = r.Damage()
		return r.Err()
	})
	if err != nil || !slices.Equal(got, []string{"aaaa"}) || damage == nil || damage.Sequence != 2 {
		t.Fatalf("read %q, damage %v, %v", got, damage, err)
	}
	appendAll(j, m, entryOf(7, "new"))
	wantEntries(t, m, "new")
}

// TestJournalEarlierIncarnationIsVoid puts the very bytes of an old entry where the next one would be.
func TestJournalEarlierIncarnationIsVoid(t *testing.T) {
	old, m := newTestJournal(t, 2)
	appendAll(old, m, entryOf(0, "old0"), entryOf(1, "old1"), entryOf(2, "old2"))
	cfg := JournalConfig{TrackBytes: journalTrackBytesMin, Bytes: 2 * journalTrackBytesMin, Salt: 0x5a17}
	j, err := openJournal(m, cfg, func(r *JournalReader) error { return r.drain() })
	if err != nil {
		t.Fatal(err)
	}
	wantEntries(t, m)
	appendAll(j, m, entryOf(3, "new0"))
	wantEntries(t, m, "new0")
}

// TestJournalEntryInBatchIsNotRead: a client that sends a journal entry as a record, right down to incarnation and sequence
// number, lacks the salt.
func TestJournalEntryInBatchIsNotRead(t *testing.T) {
	j, m := newTestJournal(t, 2)
	forged := journalSlot{incarnation: 1, salt: 0xbad}
	evil := entryOf(99, "evil")
	payload := append(appendJournalHeader(nil, &forged, 2, 1, &evil), "evil"...)
	appendAll(j, m, entryOf(0, string(payload)))
	m.WriteAt(payload, journalHeadBytes+int64(journalEntrySize(len(payload)))) // where entry 2 belongs
	wantEntries(t, m, string(payload))
}

func TestOpenJournalRefusesToLoseEntries(t *testing.T) {
	j, m := newTestJournal(t, 2)
	appendAll(j, m, entryOf(0, "a"))
	before := slices.Clone(m.bytes)
	if _, err := openJournal(m, JournalConfig{}.withDefaults(), nil); !errors.Is(err, errJournalNotEmpty) {
		t.Fatalf("open: %v", err)
	}
	failure := errors.New("no")
	if _, err := openJournal(m, JournalConfig{}.withDefaults(), func(*JournalReader) error { return failure }); !errors.Is(err, failure) {
		t.Fatalf("open: %v", err)
	}
	if !bytes.Equal(before, m.bytes) {
		t.Fatal("a refused open changed the file")
	}
}

func TestJournalGrowth(t *testing.T) {
	j, m := newTestJournal(t, 2)
	j.maxBytes = 3 * journalTrackBytesMin
	if j.NeedsGrowth() {
		t.Fatal("an empty journal wants to grow")
	}
	big := strings.Repeat("x", 3000)
	appendAll(j, m, entryOf(0, big+"0"), entryOf(1, big+"1"))
	if !j.NeedsGrowth() {
		t.Fatal("a full journal does not want to grow")
	}
	g := j.PlanGrowth()
	if err := g.Run(m); err != nil {
		t.Fatal(err)
	}
	j.Grown(g)
	if n := appendAll(j, m, entryOf(2, big+"2"), entryOf(3, big+"3")); n != 1 || j.NeedsGrowth() {
		t.Fatalf("%d entries fitted into the new track; more growth %v", n, j.NeedsGrowth())
	}
	wantEntries(t, m, big+"0", big+"1", big+"2")
}

// TestJournalCutShort: a journal always has its first two tracks; what a cut took from it is not taken for empty.
func TestJournalCutShort(t *testing.T) {
	j, m := newTestJournal(t, 2)
	appendAll(j, m, entryOf(0, "a"))
	sync(j)
	for _, size := range []int{journalHeadBytes, journalHeadBytes + 200, len(m.bytes) - 1} {
		cut := &memory{bytes: slices.Clone(m.bytes[:size])}
		var damage *JournalError
		if _, err := readAll(t, cut); !errors.As(err, &damage) {
			t.Errorf("%d of %d bytes: %v", size, len(m.bytes), err)
		}
	}
}

func TestOpenJournalResizes(t *testing.T) {
	for _, bytes := range []int64{2, 5, 3} {
		_, m := newTestJournal(t, 4)
		cfg := JournalConfig{TrackBytes: 2 * journalTrackBytesMin, Bytes: bytes * 2 * journalTrackBytesMin, Salt: 1}
		j, err := openJournal(m, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := j.trackStart(len(j.tracks)); int64(len(m.bytes)) != want || len(j.tracks) != 2 {
			t.Fatalf("%d tracks and %d bytes, want 2 and %d", len(j.tracks), len(m.bytes), want)
		}
		appendAll(j, m, entryOf(0, "a"))
		wantEntries(t, m, "a")
	}
}

func TestJournalPlanIsBounded(t *testing.T) {
	m := &memory{}
	slot := journalSlot{serial: 1, incarnation: 1, trackBytes: 1 << 20, floor: 1}
	j := newJournal(slot, 2, 2<<20)
	plan, n := j.PlanAppend(slices.Repeat([]JournalEntry{entryOf(0, "abc")}, 2000))
	if n != journalPlanEntriesMax || len(plan.Bufs) > 1024 {
		t.Fatalf("%d entries in %d buffers: more than IOV_MAX", n, len(plan.Bufs))
	}
	if raw := slices.Concat(plan.Bufs...); int64(len(raw)) != plan.Length {
		t.Fatalf("plan of %d bytes says %d", len(raw), plan.Length)
	}
	m.WriteAt(slices.Concat(plan.Bufs...), int64(plan.Position))
	j.Written(plan)
	writeJournalSlot(m, slot)
	m.bytes = append(m.bytes, make([]byte, journalHeadBytes+2<<20-len(m.bytes))...)
	if got, err := readAll(t, m); len(got) != n || err != nil {
		t.Fatalf("read %d entries (%v), want %d", len(got), err, n)
	}
}

func TestJournalMisuseIsABug(t *testing.T) {
	for name, misuse := range map[string]func(j *Journal){
		"two plans": func(j *Journal) {
			j.PlanAppend([]JournalEntry{entryOf(0, "a")})
			j.PlanAppend([]JournalEntry{entryOf(0, "a")})
		},
		"two syncs":       func(j *Journal) { j.Written(first(j)); j.BeginSync(); j.BeginSync() },
		"other sync":      func(j *Journal) { j.Written(first(j)); j.BeginSync(); j.Synced(7) },
		"two checkpoints": func(j *Journal) { j.PlanCheckpoint(); j.PlanCheckpoint() },
		"plan out":        func(j *Journal) { first(j); j.PlanCheckpoint() },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(r.(string), "BUG: ") {
					t.Errorf("panicked with %v", r)
				}
			}()
			j, _ := newTestJournal(t, 2)
			misuse(j)
		})
	}
}

func first(j *Journal) JournalPlan {
	plan, _ := j.PlanAppend([]JournalEntry{entryOf(0, "a")})
	return plan
}

func TestPlanAppendAllocatesNothing(t *testing.T) {
	j, _ := newTestJournal(t, 2)
	entries := slices.Repeat([]JournalEntry{entryOf(0, "abcdefg")}, 8)
	if allocs := testing.AllocsPerRun(100, func() {
		plan, n := j.PlanAppend(entries)
		if n > 0 {
			j.Written(plan)
			return
		}
		j.Checkpointed(j.PlanCheckpoint())
	}); allocs != 0 {
		t.Errorf("%v allocations a plan", allocs)
	}
}

// failing is a file that cannot be read.
type failing struct{ memory }

func (f *failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestReadJournalPassesErrorsOn(t *testing.T) {
	if _, err := ReadJournal(&failing{}, 1<<20); err != io.ErrUnexpectedEOF {
		t.Fatalf("read: %v", err)
	}
}
