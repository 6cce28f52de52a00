package segment

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

func FuzzReadJournal(f *testing.F) {
	j, m := newTestJournal(f, 2)
	f.Add(slices.Clone(m.bytes))
	appendAll(j, m, entryOf(0, "abc"), entryOf(1, strings.Repeat("x", 3000)), entryOf(2, strings.Repeat("y", 3000)))
	f.Add(slices.Clone(m.bytes))
	f.Add(m.bytes[:journalHeadBytes+200])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 1<<20 {
			return
		}
		if len(raw) >= journalHeadBytes { // let the fuzzer past the checksum of the head
			resealSlot(raw[:journalSlotSize])
			resealSlot(raw[journalSlotBytes : journalSlotBytes+journalSlotSize])
		}
		r, err := ReadJournal(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		for last := uint64(0); ; last++ {
			if _, ok := r.Next(); !ok {
				break
			}
			if last > uint64(len(raw)) {
				t.Fatal("the reader gives more entries than there are bytes")
			}
		}
		if _, ok := r.Next(); ok {
			t.Fatal("an entry after the end")
		}
	})
}

func FuzzReadJournalEntry(f *testing.F) {
	slot := journalSlot{incarnation: 1, salt: 2}
	e := entryOf(0, "abc")
	f.Add(append(appendJournalHeader(nil, &slot, 1, 0, &e), "abc"...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		rec, size, err := readJournalEntry(raw, &slot)
		if err != nil {
			return
		}
		again := append(appendJournalHeader(nil, &slot, rec.sequence, rec.synced, &rec.entry), rec.entry.Batch...)
		if !bytes.Equal(again[:76], raw[:76]) || size < len(again) {
			t.Fatalf("read and written again:\n%x\n%x", raw, again)
		}
	})
}

// resealSlot sets the checksum of a head that a test has changed.
func resealSlot(slot []byte) {
	binary.BigEndian.PutUint32(slot[4:], crc32.Checksum(slot[8:journalSlotSize], castagnoli))
}
