package segment

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// JournalReplayReport says what ReplayJournal did.
type JournalReplayReport struct {
	Entries  int // that the journal held since its last checkpoint
	Replayed int // of them, appended because the log had lost them
	Orphans  int // of them, for logs that are no more: their topics were deleted
	Logs     int // that were made durable
}

// ReplayError says that a journal entry is not what it says it is. The log was not changed by it.
type ReplayError struct {
	Entry  JournalEntry // without its batch
	Reason string
	Err    error // cause; may be nil
}

func (e *ReplayError) Error() string {
	s := fmt.Sprintf("segment: journal entry of topic %s partition %d offset %d: %s",
		e.Entry.TopicID, e.Entry.Partition, e.Entry.BaseOffset, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *ReplayError) Unwrap() error { return e.Err }

// journalReplay carries a ReplayJournal.
type journalReplay struct {
	fs     FS
	find   func(wire.TopicID, wire.PartitionIndex) *Log
	now    wire.Timestamp
	epochs map[*Log]wire.LeaderEpoch // logs with entries → their latest epoch before the replay
	order  []*Log                    // the same, in the order of their first entries
	report JournalReplayReport
}

// ReplayJournal gives each entry to its log (Log.Replay) and makes all logs durable that have entries: those too that lacked
// none, because what they hold may be in the page cache alone, and the journal is about to forget it. It belongs between
// OpenLog and service, as the recover function of OpenJournal. find gives nil for a partition that is no more; now is the
// wall clock.
//
// Errors: *ReplayError, what Log.Replay returns, the reader's, the file system's. After an error the logs are not to be used.
func ReplayJournal(fsys FS, jr *JournalReader, now wire.Timestamp, find func(wire.TopicID, wire.PartitionIndex) *Log) (JournalReplayReport, error) {
	r := &journalReplay{fs: fsys, find: find, now: now, epochs: map[*Log]wire.LeaderEpoch{}}
	for e, ok := jr.Next(); ok; e, ok = jr.Next() {
		if err := r.entry(e); err != nil {
			return r.report, err
		}
	}
	if err := jr.Err(); err != nil {
		return r.report, err
	}
	for _, l := range r.order {
		if err := r.finish(l); err != nil {
			return r.report, err
		}
	}
	return r.report, nil
}

func (r *journalReplay) entry(e JournalEntry) error {
	r.report.Entries++
	if err := checkReplay(e); err != nil {
		return err
	}
	l := r.find(e.TopicID, e.Partition)
	if l == nil {
		r.report.Orphans++
		return nil
	}
	if _, ok := r.epochs[l]; !ok {
		r.epochs[l] = l.LatestEpoch()
		r.order = append(r.order, l)
	}
	replayed, err := l.Replay(r.fs, e, r.now)
	if replayed {
		r.report.Replayed++
	}
	return err
}

// checkReplay compares the entry with the batch that it carries.
func checkReplay(e JournalEntry) error {
	b, tail, err := wire.ReadRecordBatch(e.Batch)
	if err == nil {
		err = b.Check()
	}
	reason := "its batch is damaged"
	if err == nil {
		if len(tail) == 0 && b.BaseOffset() == e.BaseOffset && b.PartitionLeaderEpoch() == e.LeaderEpoch {
			return nil
		}
		reason = "its batch has another length, offset or leader epoch than it says"
	}
	e.Batch = nil
	return &ReplayError{Entry: e, Reason: reason, Err: err}
}

func (r *journalReplay) finish(l *Log) error {
	plan := l.PlanFlush()
	if err := plan.Run(r.fs); err != nil {
		return err
	}
	if l.LatestEpoch() != r.epochs[l] {
		if err := r.fs.WriteFileAtomic(l.dir+"/"+LeaderEpochCheckpoint, l.EpochCheckpoint()); err != nil {
			return fmt.Errorf("segment: leader epochs of %s after replay: %w", l.dir, err)
		}
	}
	l.Flushed(plan)
	r.report.Logs++
	return nil
}
