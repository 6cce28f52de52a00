package segment

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// ReplayOutcome says what Log.Replay did with a batch.
type ReplayOutcome uint8

// The outcomes of Log.Replay.
const (
	ReplaySkipped  ReplayOutcome = iota // the log has those offsets
	ReplayAppended                      // the log had lost it
	ReplayRefused                       // the log has gone on under a later leader epoch
	ReplayBehind                        // batches before it are missing: see Log.Damage
)

// Replay brings a journalled batch back that the log has lost; ReplayJournal calls it for all of a journal. It is for the time
// between OpenLog and service: it writes through fsys, rolls where that is due, and syncs nothing but what a roll seals. A
// batch below the log end offset is skipped; that is not told from one whose place another batch has taken. A batch of an earlier
// leader epoch than the log's newest is refused: it was never part of what the log holds before it.
//
// Where offsets are missing between the log's end and the batch, or the log ends inside it, that is ReplayBehind if the log is
// replicated: it is Log.Damage then, and no later batch is taken either.
//
// Errors: *CorruptionError if it is not replicated; the file system's. The log is then as it was before.
func (l *Log) Replay(fsys FS, e JournalEntry, now wire.Timestamp) (ReplayOutcome, error) {
	b, end := e.Batch, l.LogEndOffset()
	switch {
	case l.behind:
		return ReplayBehind, nil
	case b.LastOffset() < end:
		return ReplaySkipped, nil
	case l.fallsBack(b):
		return ReplayRefused, nil
	case b.BaseOffset() < end:
		return l.fallBehind(fmt.Sprintf("the journal has a batch of offsets %d to %d", b.BaseOffset(), b.LastOffset()))
	case b.BaseOffset() > end && !l.config.Compact: // a follower's compacted log may have gaps
		return l.fallBehind(fmt.Sprintf("the journal goes on at offset %d", b.BaseOffset()))
	}
	if l.NeedsRollReplicated(b, now) {
		if err := l.rollNow(fsys, b); err != nil {
			return ReplaySkipped, err
		}
	}
	p := l.AppendReplicated(b, now)
	if err := p.write(fsys); err != nil {
		l.Undo(p)
		return ReplaySkipped, err
	}
	return ReplayAppended, nil
}

// fallBehind is what becomes of a log that lacks batches before one that the journal has.
func (l *Log) fallBehind(reason string) (ReplayOutcome, error) {
	s := l.ActiveSegment()
	d := &CorruptionError{Dir: l.dir, Segment: s.baseOffset, Position: s.size, End: s.size, Offset: l.LogEndOffset(), Reason: reason}
	if !l.replicated {
		return ReplaySkipped, d
	}
	l.behind = true
	l.noteDamage(d)
	return ReplayBehind, nil
}

func (l *Log) rollNow(fsys FS, b wire.RecordBatch) error {
	p := l.PlanRollReplicated(b)
	f, err := p.Run(fsys, true)
	if err != nil {
		l.RollAbandoned(p)
		return err
	}
	l.Rolled(p)
	return f.Close()
}

// write puts the plan's bytes in their place.
func (p *AppendPlan) write(fsys FS) (err error) {
	name := p.Segment.LogName()
	f, err := fsys.OpenFile(name, ReadWrite, 0)
	if err != nil {
		return fmt.Errorf("segment: open %s: %w", name, err)
	}
	defer closeFile(f, &err)
	if _, err := f.WriteAt(p.Bytes, int64(p.Position)); err != nil {
		return fmt.Errorf("segment: write %d bytes at %d of %s: %w", len(p.Bytes), p.Position, name, err)
	}
	return nil
}
