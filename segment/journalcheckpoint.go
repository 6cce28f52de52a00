package segment

import (
	"errors"
	"fmt"
)

// JournalCheckpoint is the second half of a checkpoint: what to write into the journal when the segment files are on disk.
type JournalCheckpoint struct {
	Through uint64 // all entries up to this sequence number must be in synced segment files before Run
	slot    journalSlot
}

// NeedsCheckpoint reports whether one should begin: none is under way, and a track is full. Syncs that somebody waits for come
// behind what a checkpoint puts on disk, so that it is better done little and often (PERFORMANCE.md); where one takes longer than a
// track lasts, the next one has more to do.
func (j *Journal) NeedsCheckpoint() bool { return !j.checking && j.fullTracks() > 0 }

// fullTracks counts the tracks that are in use and not written to any more.
func (j *Journal) fullTracks() int {
	n := 0
	for i, t := range j.tracks {
		if t.last != 0 && i != j.active {
			n++
		}
	}
	return n
}

// PlanCheckpoint begins a checkpoint of all that was appended so far. The owner notes which partitions have bytes that are not
// on disk; a goroutine syncs their segment files and then calls Run; the owner calls Checkpointed. Appends go on meanwhile.
func (j *Journal) PlanCheckpoint() JournalCheckpoint {
	if j.checking {
		panic("BUG: a journal checkpoint is under way already")
	}
	if j.written != j.next-1 {
		panic(fmt.Sprintf("BUG: journal checkpoint while the plan up to entry %d is out", j.next-1))
	}
	j.checking = true
	slot := j.slot
	slot.serial++
	slot.floor = j.written + 1
	return JournalCheckpoint{Through: j.written, slot: slot}
}

// Run writes the new head to the journal's file and syncs it. It touches no Journal; it blocks. After an error the log
// directory is done for.
func (c JournalCheckpoint) Run(f File) error { return writeJournalSlot(f, c.slot) }

// Checkpointed says that Run succeeded: tracks without later entries are free.
func (j *Journal) Checkpointed(c JournalCheckpoint) {
	if !j.checking || c.slot.serial != j.slot.serial+1 {
		panic(fmt.Sprintf("BUG: journal checkpoint %d ended after head %d", c.slot.serial, j.slot.serial))
	}
	j.checking = false
	j.slot = c.slot
	j.synced = max(j.synced, c.Through) // they are in segment files that are on disk
	for i := range j.tracks {
		if j.tracks[i].last <= c.Through {
			j.tracks[i].last = 0
		}
	}
}

// ErrNoGrowth is wrapped by the error of a growth that changed nothing.
var ErrNoGrowth = errors.New("segment: the journal cannot grow")

// JournalGrowth adds a track to the journal's file.
type JournalGrowth struct {
	position int64
	bytes    int64
}

// NeedsGrowth reports whether a track should be added: the file may grow, and the last free track fills up before the checkpoint
// under way frees another.
func (j *Journal) NeedsGrowth() bool {
	_, free := j.freeTrack()
	return !j.growing && !free && 2*j.offset >= j.slot.trackBytes && j.trackStart(len(j.tracks)+1) <= j.maxBytes+journalHeadBytes
}

// PlanGrowth begins the growth by a track; a goroutine calls Run, and the owner then Grown.
func (j *Journal) PlanGrowth() JournalGrowth {
	if j.growing {
		panic("BUG: the journal is growing already")
	}
	j.growing = true
	return JournalGrowth{position: j.trackStart(len(j.tracks)), bytes: j.slot.trackBytes}
}

// Run fills the new track with zeros and syncs it, so that appends change blocks that exist: an fdatasync of those commits
// nothing in the file system's own journal. It touches no Journal; it blocks.
//
// Errors: ErrNoGrowth (wrapped) if the zeros cannot be written, as on a full disk, which is no harm: call GrowthFailed. Any
// other is the sync's, and the log directory is done for: the kernel tells each error of a write-back once to an open file,
// whoever asks, so that the sync of entries beside this one may not be told of its own.
func (g JournalGrowth) Run(f File) error {
	if err := zeroFill(f, g.position, g.bytes); err != nil {
		return fmt.Errorf("%w to %d bytes: %w", ErrNoGrowth, g.position+g.bytes, err)
	}
	return f.Sync()
}

// Grown says that Run succeeded: the track is in use.
func (j *Journal) Grown(g JournalGrowth) {
	if !j.growing || g.position != j.trackStart(len(j.tracks)) {
		panic(fmt.Sprintf("BUG: journal growth at %d ended, but the file ends at %d", g.position, j.trackStart(len(j.tracks))))
	}
	j.growing = false
	j.tracks = append(j.tracks, journalTrack{})
}

// GrowthFailed says that Run failed with ErrNoGrowth: the journal stays as large as it is and tries no more.
func (j *Journal) GrowthFailed() { j.growing, j.maxBytes = false, 0 }
