package segment

import (
	"errors"
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// ReplayError says that a journal entry does not fit the log that it belongs to: the two are not from the same life of the
// node, or one is damaged. Nothing of the entry was appended.
type ReplayError struct {
	Dir          string      // the partition's directory
	BaseOffset   wire.Offset // the entry's
	LogEndOffset wire.Offset // the log's
	Reason       string
	Err          error // cause; may be nil
}

func (e *ReplayError) Error() string {
	s := fmt.Sprintf("segment: journal entry at offset %d of %s, which ends at %d: %s", e.BaseOffset, e.Dir, e.LogEndOffset, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *ReplayError) Unwrap() error { return e.Err }

// Replay brings one log up to date from the journal, after OpenLog and before the node serves:
//
//	r := log.Replay(fsys, now)
//	err := r.Append(entry)     // for each entry of the log, in the journal's order
//	err = r.Finish()           // and only then may the journal be begun anew
//
// It blocks on the file system. After an error the log is not to be used.
type Replay struct {
	log      *Log
	fs       FS
	now      wire.Timestamp
	file     File // the active segment's .log; nil until the first append
	epochs   bool // the epoch cache changed
	appended int
}

// Replay begins a replay; now is the wall clock.
func (l *Log) Replay(fsys FS, now wire.Timestamp) *Replay { return &Replay{log: l, fs: fsys, now: now} }

// Appended counts the entries that the log had lost.
func (r *Replay) Appended() int { return r.appended }

// Append appends an entry that begins at the log end offset and skips one that ends below it. Any other, and one that is no
// sound batch with the numbers that the entry names, is a *ReplayError.
func (r *Replay) Append(e JournalEntry) error {
	if err := r.check(&e); err != nil {
		return err
	}
	if e.Batch.LastOffset() < r.log.LogEndOffset() {
		return nil
	}
	if err := r.open(e.Batch); err != nil {
		return fmt.Errorf("segment: replay offset %d of %s: %w", e.BaseOffset, r.log.dir, err)
	}
	plan := r.log.AppendReplicated(e.Batch, r.now)
	if _, err := r.file.WriteAt(plan.Bytes, int64(plan.Position)); err != nil {
		r.log.Undo(plan)
		return fmt.Errorf("segment: replay offset %d of %s: %w", e.BaseOffset, r.log.dir, err)
	}
	r.epochs = r.epochs || plan.EpochChanged
	r.appended++
	return nil
}

func (r *Replay) check(e *JournalEntry) error {
	batch, tail, err := wire.ReadRecordBatch(e.Batch)
	if err == nil {
		err = batch.Check()
	}
	switch end := r.log.LogEndOffset(); {
	case err != nil:
		return r.refuse(e, "its batch is damaged", err)
	case len(tail) > 0 || batch.BaseOffset() != e.BaseOffset || batch.PartitionLeaderEpoch() != e.LeaderEpoch:
		return r.refuse(e, "its batch has another length, offset or leader epoch than it says", nil)
	case e.BaseOffset > end:
		return r.refuse(e, "there is a gap between the two", nil)
	case e.BaseOffset < end && batch.LastOffset() >= end:
		return r.refuse(e, fmt.Sprintf("the log ends inside its batch, which ends at %d", batch.LastOffset()), nil)
	}
	return nil
}

func (r *Replay) refuse(e *JournalEntry, reason string, err error) error {
	return &ReplayError{Dir: r.log.dir, BaseOffset: e.BaseOffset, LogEndOffset: r.log.LogEndOffset(), Reason: reason, Err: err}
}

// open sees to it that the active segment can take the batch and that its .log is open.
func (r *Replay) open(b wire.RecordBatch) (err error) {
	if r.log.NeedsRollReplicated(b, r.now) {
		if err := r.close(); err != nil {
			return err
		}
		plan := r.log.PlanRoll()
		if r.file, err = plan.Run(r.fs, true); err != nil {
			r.log.RollAbandoned(plan)
			return err
		}
		r.log.Rolled(plan)
	}
	if r.file == nil {
		r.file, err = r.fs.OpenFile(r.log.ActiveSegment().LogName(), ReadWrite, 0)
	}
	return err
}

func (r *Replay) close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file = nil
	return f.Close()
}

// Finish makes the log durable up to its end, also where all entries were skipped: what they hold may so far be in the page
// cache alone, and the journal will forget them.
func (r *Replay) Finish() error {
	plan := r.log.PlanFlush()
	err := errors.Join(r.close(), plan.Run(r.fs))
	if err == nil && r.epochs {
		err = r.fs.WriteFileAtomic(r.log.dir+"/"+LeaderEpochCheckpoint, r.log.EpochCheckpoint())
	}
	if err != nil {
		return fmt.Errorf("segment: finish the replay of %s: %w", r.log.dir, err)
	}
	r.log.Flushed(plan)
	return nil
}
