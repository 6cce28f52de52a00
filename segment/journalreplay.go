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
	Void     int // of them, truncations, and batches that those have cut off
	Refused  int // of them, of an earlier leader epoch than the log has reached: no part of it
	Behind   int // of them, for replicated logs that lack batches before them: see Log.Damage
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
	seen   map[*Log]bool
	logs   []*Log // those with entries, in the order of the first
	report JournalReplayReport
}

// ReplayJournal gives each entry to its log (Log.Replay) and has all logs made durable that have entries: those too that lacked
// none, because what they hold may be in the page cache alone, and the journal is about to forget it. It belongs between
// OpenLog and service, as the recover function of OpenJournal. find gives nil for a partition that is no more; now is the
// wall clock; flush runs the plans, in any order or side by side: a disk syncs hundreds of small files at once in little more
// time than one.
//
// Errors: *ReplayError, what Log.Replay returns, the reader's, the file system's. After an error the logs are not to be used.
func ReplayJournal(fsys FS, jr *JournalReader, now wire.Timestamp, find func(wire.TopicID, wire.PartitionIndex) *Log,
	flush func([]FlushPlan) error) (JournalReplayReport, error) {
	r := &journalReplay{fs: fsys, find: find, now: now, seen: map[*Log]bool{}}
	for e, ok := jr.Next(); ok; e, ok = jr.Next() {
		if err := r.entry(e); err != nil {
			return r.report, err
		}
	}
	if err := jr.Err(); err != nil {
		return r.report, err
	}
	return r.report, r.finish(flush)
}

func (r *journalReplay) entry(e JournalEntry) error {
	r.report.Entries++
	if e.Truncation || e.Void {
		r.report.Void++
		return nil
	}
	if err := checkReplay(e); err != nil {
		return err
	}
	l := r.find(e.TopicID, e.Partition)
	if l == nil {
		r.report.Orphans++
		return nil
	}
	if !r.seen[l] {
		r.seen[l] = true
		r.logs = append(r.logs, l)
	}
	outcome, err := l.Replay(r.fs, e, r.now)
	switch outcome {
	case ReplayAppended:
		r.report.Replayed++
	case ReplayRefused:
		r.report.Refused++
	case ReplayBehind:
		r.report.Behind++
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

func (r *journalReplay) finish(flush func([]FlushPlan) error) error {
	plans := make([]FlushPlan, len(r.logs))
	for i, l := range r.logs {
		plans[i] = l.PlanFlush()
	}
	if err := flush(plans); err != nil {
		return err
	}
	for i, l := range r.logs {
		l.Flushed(plans[i])
	}
	r.report.Logs = len(r.logs)
	return nil
}
