package segment

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// JournalError says that a journal is damaged where it was on disk once: its head, or an entry that may have been
// acknowledged. (A torn end, as a power cut leaves it, is no error: nobody was told that those entries are safe.)
type JournalError struct {
	Position int64  // where in the file the reader stopped
	Sequence uint64 // the entry that is missing; 0: the head is
	Reason   string
}

func (e *JournalError) Error() string {
	if e.Sequence == 0 {
		return "segment: journal is damaged: " + e.Reason
	}
	return fmt.Sprintf("segment: journal is damaged at byte %d, entry %d: %s", e.Position, e.Sequence, e.Reason)
}

// JournalReader gives a journal's entries in the order in which they were appended.
type JournalReader struct {
	r        io.ReaderAt
	size     int64
	slot     journalSlot
	runs     []journalRun // tracks to read, in order; the first one is in buf
	buf      []byte       // the track that is being read
	at       int          // position in it
	expected uint64       // sequence number of the next entry
	voids    journalVoids // the truncations that the journal has
	done     bool
	err      error
	accepts  bool          // damage ends the reading as a torn end does
	damage   *JournalError // what was accepted
}

// journalRun is a track whose first entry is of the current incarnation.
type journalRun struct {
	first uint64 // sequence number of its first entry
	track int
}

// ReadJournal starts to read a journal of size bytes: the entries that its last checkpoint did not cover. The error is a
// *JournalError if there is no head, ErrJournalVersion, or what r returned.
func ReadJournal(r io.ReaderAt, size int64) (*JournalReader, error) {
	slot, err := readJournalHead(r, size)
	if err != nil {
		return nil, err
	}
	if whole := journalHeadBytes + journalTracksMin*slot.trackBytes; size < whole {
		return nil, &JournalError{Reason: fmt.Sprintf("the file has %d bytes and never had less than %d", size, whole)}
	}
	jr := &JournalReader{r: r, size: size, slot: slot, expected: slot.floor}
	if jr.runs, err = jr.findRuns(); err != nil {
		return nil, err
	}
	if slot.truncations {
		if jr.voids, err = jr.findVoids(); err != nil {
			return nil, err
		}
	}
	return jr, jr.start()
}

// Partial is how many bytes of the file are no whole track: not 0 where the node ended while the journal grew, which is no harm, or where
// something cut the file, and with it perhaps entries that were acknowledged.
func (jr *JournalReader) Partial() int64 { return (jr.size - journalHeadBytes) % jr.slot.trackBytes }

func readJournalHead(r io.ReaderAt, size int64) (journalSlot, error) {
	head := make([]byte, min(size, journalHeadBytes))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return journalSlot{}, err
	}
	var newest journalSlot
	var failure error = &JournalError{Reason: "no valid head"}
	for at := 0; at+journalSlotSize <= len(head); at += journalSlotBytes {
		slot, err := readJournalSlot(head[at:])
		switch {
		case err == nil && slot.serial > newest.serial && slot.position() == int64(at):
			newest = slot
		case err != nil && err != errJournalSlot:
			failure = err
		}
	}
	if newest.serial == 0 {
		return journalSlot{}, failure
	}
	return newest, nil
}

func (jr *JournalReader) tracks() int {
	return int(max(0, jr.size-journalHeadBytes) / jr.slot.trackBytes)
}

func (jr *JournalReader) load(track int) error {
	if jr.buf == nil {
		jr.buf = make([]byte, jr.slot.trackBytes)
	}
	n, err := jr.r.ReadAt(jr.buf, journalHeadBytes+int64(track)*jr.slot.trackBytes)
	clear(jr.buf[n:])
	if err == io.EOF {
		return nil
	}
	return err
}

// findRuns looks at the first entry of each track.
func (jr *JournalReader) findRuns() ([]journalRun, error) {
	var runs []journalRun
	for track := range jr.tracks() {
		if err := jr.load(track); err != nil {
			return nil, err
		}
		if rec, _, err := jr.entryAt(0); err == nil {
			runs = append(runs, journalRun{rec.sequence, track})
		}
	}
	slices.SortFunc(runs, func(a, b journalRun) int { return cmp.Compare(a.first, b.first) })
	return runs, nil
}

func (jr *JournalReader) entryAt(at int) (journalRecord, int, error) {
	return readJournalEntry(jr.buf[at:], &jr.slot)
}

// start goes to the track that holds the first entry which the checkpoint did not cover: the last one that begins at or
// before it. Earlier tracks are free and may be torn; that is what no-early-reuse allows.
func (jr *JournalReader) start() error {
	i := len(jr.runs) - 1
	for i >= 0 && jr.runs[i].first > jr.slot.floor {
		i--
	}
	if i < 0 {
		jr.runs = nil
		return nil
	}
	jr.runs, jr.expected = jr.runs[i:], jr.runs[i].first
	return jr.load(jr.runs[0].track)
}

// Next gives the next entry, whose batch is a view until the next call. ok is false at the end and after an error.
func (jr *JournalReader) Next() (e JournalEntry, ok bool) {
	for !jr.done {
		rec, more := jr.step()
		if !more {
			jr.done = true
			if jr.err == nil {
				jr.err = jr.acceptable(jr.judgeEnd())
			}
			break
		}
		if rec.sequence >= jr.slot.floor {
			rec.entry.Void = jr.voids.has(&rec)
			return rec.entry, true
		}
	}
	return JournalEntry{}, false
}

// AcceptDamage says before the first Next that entries which cannot be read are no reason not to start: other replicas have what they
// had. Reading ends before them as at a torn end, and Damage tells. Any partition may have lost what was acknowledged then, so none
// of them is to lead before it has caught up.
func (jr *JournalReader) AcceptDamage() { jr.accepts = true }

// Damage is what AcceptDamage has made of no account; nil if there was nothing.
func (jr *JournalReader) Damage() *JournalError { return jr.damage }

func (jr *JournalReader) acceptable(err error) error {
	if damage, ok := err.(*JournalError); ok && jr.accepts {
		jr.damage = damage
		return nil
	}
	return err
}

// Sequence is the sequence number of the entry that Next gave last.
func (jr *JournalReader) Sequence() uint64 { return jr.expected - 1 }

// Err gives what ended the reading: nil at the end of what was synced, else a *JournalError or what the file returned.
func (jr *JournalReader) Err() error { return jr.err }

func (jr *JournalReader) drain() error {
	for {
		if _, ok := jr.Next(); !ok {
			return jr.err
		}
	}
}

// step reads the entry with the expected sequence number: in this track, or at the start of the next one.
func (jr *JournalReader) step() (journalRecord, bool) {
	for len(jr.runs) > 0 {
		rec, size, err := jr.entryAt(min(jr.at, len(jr.buf)))
		if err == nil && rec.sequence == jr.expected {
			jr.at += size
			jr.expected++
			return rec, true
		}
		if len(jr.runs) == 1 || jr.runs[1].first != jr.expected {
			return journalRecord{}, false
		}
		jr.runs, jr.at = jr.runs[1:], 0
		if jr.err = jr.load(jr.runs[0].track); jr.err != nil {
			return journalRecord{}, false
		}
	}
	return journalRecord{}, false
}

// judgeEnd tells a torn end from damage: if any entry says that the missing one was on disk when it was planned, the missing
// one may have been acknowledged, and nobody may go on as if it had never been.
func (jr *JournalReader) judgeEnd() error {
	missing, position := max(jr.expected, jr.slot.floor), jr.position()
	for track := range jr.tracks() {
		if err := jr.load(track); err != nil {
			return err
		}
		if jr.knowsSynced(missing) {
			return &JournalError{position, missing, "it was on disk once and is no valid entry now"}
		}
	}
	return nil
}

func (jr *JournalReader) position() int64 {
	if len(jr.runs) == 0 {
		return journalHeadBytes
	}
	return journalHeadBytes + int64(jr.runs[0].track)*jr.slot.trackBytes + int64(jr.at)
}

// knowsSynced looks in the track for a whole entry that was planned when the one with that sequence number was on disk.
func (jr *JournalReader) knowsSynced(sequence uint64) bool {
	for at := 0; at+journalEntryOverhead <= len(jr.buf); {
		if binary.BigEndian.Uint32(jr.buf[at:]) != journalEntryMagic {
			at += journalAlignment
			continue
		}
		rec, size, err := jr.entryAt(at)
		if err != nil {
			at += journalAlignment
			continue
		}
		if rec.synced >= sequence {
			return true
		}
		at += size
	}
	return false
}
