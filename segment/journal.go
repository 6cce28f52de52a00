package segment

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

const (
	// DefaultJournalTrackBytes is the default track: what a checkpoint puts on disk at once, and the next syncs wait for, is about
	// as much; and there is room for any batch that is worth journalling (a larger one costs its own fdatasync little).
	DefaultJournalTrackBytes = 4 << 20
	// DefaultJournalBytes is the size that a journal grows to where checkpoints take longer than a track lasts.
	DefaultJournalBytes = 64 << 20
	// journalTracksMin: one is written to while the other one's batches are checkpointed.
	journalTracksMin = 2

	journalTrackBytesMin = 4096
	journalTrackBytesMax = 1 << 30
	// journalPlanEntriesMax bounds a plan to two buffers an entry and 1024 in all, which is IOV_MAX of pwritev(2).
	journalPlanEntriesMax = 512
)

// Journal is the bookkeeping of one loop's journal under the flush policy commit: the batches of all the loop's partitions go
// into one file, one fdatasync covers them, and the segment files may be written back later. It does no I/O.
//
// The file is a head and tracks of equal size. Batches fill a track, then the next free one; a track is free again when a
// checkpoint has found all its batches in synced segment files. A turn of the loop is
//
//	plan, n := j.PlanAppend(entries)   // n == 0: no room, sync the segment files themselves
//	pwritev(plan.Bufs, plan.Position)  // one plan at a time; its buffers hold until the next PlanAppend
//	j.Written(plan)
//	upTo := j.BeginSync()              // if none is in flight; fdatasync; then
//	j.Synced(upTo)                     // all entries up to upTo may be acknowledged
//
// Invariants: sequences-rise (every entry of an incarnation has its own sequence number, one above the last, wherever in the
// file it lies); no-early-reuse (a track is overwritten only after a head that is on disk says that its entries are not
// needed); one-sync (at most one sync is in flight, and it covers what was written before it began). The caller keeps one
// more, no-gaps: from a log's recovery point on, all its batches are in the journal. A partition whose batches went another
// way, because of its flush policy or because PlanAppend had no room, is synced before it comes back (FORMAT.md, Gaps).
type Journal struct {
	slot     journalSlot // the newest head on disk
	tracks   []journalTrack
	active   int    // index of the track that is written to
	offset   int64  // bytes used in it
	next     uint64 // sequence number of the next entry; the first one of an incarnation is 1
	written  uint64 // all entries up to it are in the page cache
	syncing  uint64 // what the sync in flight covers; 0: none is
	synced   uint64 // all entries up to it are on disk
	checking bool   // a checkpoint is under way
	growing  bool   // a PlanGrowth is under way
	maxBytes int64  // size that the file may grow to

	headers []byte   // backs the headers of the plan that is out
	bufs    [][]byte // backs its Bufs
}

// journalTrack is one stretch of the file; last is 0 while it is free.
type journalTrack struct{ last uint64 }

// JournalPlan is one write to the journal.
type JournalPlan struct {
	Position wire.Position
	Bufs     [][]byte // headers (the Journal's) and batches (the caller's); held until the next PlanAppend
	Length   int64    // sum of Bufs
	Last     uint64   // sequence number of the last entry in it: acknowledge when Synced has reached it
}

func newJournal(slot journalSlot, tracks int, maxBytes int64) *Journal {
	return &Journal{
		slot: slot, tracks: make([]journalTrack, tracks), next: 1, maxBytes: maxBytes,
		headers: make([]byte, 0, journalPlanEntriesMax*(journalEntryOverhead+journalAlignment)),
		bufs:    make([][]byte, 0, 2*journalPlanEntriesMax),
	}
}

// PlanAppend plans one write of the first n entries, as many as fit into the track that it goes to and into one pwritev. The
// caller writes it and plans the rest. n is 0 if no track is free (see Full) or the first entry is larger than EntryMax: then
// the caller syncs the segment files instead. The batches are not copied and must not change until the write is done.
func (j *Journal) PlanAppend(entries []JournalEntry) (plan JournalPlan, n int) {
	if j.written != j.next-1 {
		panic(fmt.Sprintf("BUG: journal plan up to entry %d is still out", j.next-1))
	}
	if len(entries) == 0 || !j.room(len(entries[0].Batch)) {
		return JournalPlan{}, 0
	}
	plan.Position = wire.Position(j.trackStart(j.active) + j.offset)
	j.headers, j.bufs = j.headers[:0], j.bufs[:0]
	used := int64(0)
	for n < len(entries) && n < journalPlanEntriesMax && j.fits(used, len(entries[n].Batch)) {
		used += j.add(used, &entries[n])
		n++
	}
	plan.Bufs, plan.Length, plan.Last = j.bufs, used, j.next-1
	j.offset = alignJournal(j.offset + used)
	j.tracks[j.active].last = plan.Last
	return plan, n
}

// add puts one entry into the plan that has used bytes so far, with the padding of the one before it, and gives the bytes added.
func (j *Journal) add(used int64, e *JournalEntry) int64 {
	if e.Truncation && (!j.slot.truncations || len(e.Batch) > 0) {
		panic("BUG: a truncation with a batch, or in a journal that takes none")
	}
	padding := alignJournal(used) - used
	start := len(j.headers)
	j.headers = append(j.headers, make([]byte, padding)...)
	j.headers = appendJournalHeader(j.headers, &j.slot, j.next, j.synced, e)
	j.bufs = append(j.bufs, j.headers[start:], e.Batch)
	j.next++
	return padding + journalEntryOverhead + int64(len(e.Batch))
}

// fits reports whether a batch fits into the active track behind a plan of used bytes.
func (j *Journal) fits(used int64, length int) bool {
	return j.offset+alignJournal(used)+int64(journalEntrySize(length)) <= j.slot.trackBytes
}

// room makes the active track one that has room for a batch, if there is one.
func (j *Journal) room(length int) bool {
	if j.fits(0, length) {
		return true
	}
	free, ok := j.freeTrack()
	if !ok || length > j.EntryMax() {
		return false
	}
	j.active, j.offset = free, 0
	return true
}

// freeTrack gives the next free track behind the active one.
func (j *Journal) freeTrack() (int, bool) {
	for i := 1; i < len(j.tracks); i++ {
		if t := (j.active + i) % len(j.tracks); j.tracks[t].last == 0 {
			return t, true
		}
	}
	return 0, false
}

// EntryMax is the length in bytes of the largest batch that a track can hold.
func (j *Journal) EntryMax() int { return int(j.slot.trackBytes) - journalEntryOverhead }

// Fits reports whether PlanAppend would take a batch of that many bytes now.
func (j *Journal) Fits(length int) bool {
	_, free := j.freeTrack()
	return j.fits(0, length) || free && length <= j.EntryMax()
}

// Written says that a plan's bytes are in the page cache, all of them. A write that failed or fell short has no such call:
// the log directory is done for.
func (j *Journal) Written(p JournalPlan) {
	if p.Last != j.next-1 {
		panic(fmt.Sprintf("BUG: journal plan up to entry %d written, but %d is out", p.Last, j.next-1))
	}
	j.written = p.Last
}

// NeedsSync reports whether something is written and not on disk, and no sync is in flight.
func (j *Journal) NeedsSync() bool { return j.syncing == 0 && j.written > j.synced }

// BeginSync says that an fdatasync of the file is being submitted, and gives the sequence number that it covers up to.
func (j *Journal) BeginSync() uint64 {
	if j.syncing != 0 {
		panic("BUG: a journal sync is in flight already")
	}
	j.syncing = j.written
	return j.syncing
}

// Synced says that the sync in flight succeeded. A failed one has no such call: the log directory is done for.
func (j *Journal) Synced(upTo uint64) {
	if upTo != j.syncing {
		panic(fmt.Sprintf("BUG: journal sync up to entry %d ended, but %d is in flight", upTo, j.syncing))
	}
	j.synced, j.syncing = max(j.synced, upTo), 0
}

func (j *Journal) trackStart(track int) int64 {
	return journalHeadBytes + int64(track)*j.slot.trackBytes
}

func alignJournal(n int64) int64 { return (n + journalAlignment - 1) &^ (journalAlignment - 1) }
