package segment

import (
	"fmt"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// ScrubPlan checks batches of one segment that are on disk: the checksum of each, and that offsets go on. It is a value.
type ScrubPlan struct {
	segment *Segment // its identity; nothing of it is read
	dir     string
	config  Config
	base    wire.Offset
	size    wire.Position
	limit   wire.Offset // batches stay below it
	From    wire.Offset // batches that reach it are checked ...
	UpTo    wire.Offset // ... up to the first that begins at it or later
}

// ScrubReport is what a ScrubPlan has read and found good.
type ScrubReport struct {
	Batches int
	Bytes   int64
}

// PlanScrub plans to check the batches from an offset on, to the end of its segment or the recovery point: what is above that may be on
// its way to the file. ok is false if there is nothing to check. The next plan begins at the plan's UpTo.
func (l *Log) PlanScrub(from wire.Offset) (p ScrubPlan, ok bool) {
	from = max(from, l.start)
	if from >= l.recoveryPoint || l.truncating {
		return p, false
	}
	s := l.segments[l.segmentAt(from)]
	p = ScrubPlan{segment: s, dir: l.dir, config: l.config, base: s.baseOffset, size: s.size, limit: keepAll, From: from}
	if p.UpTo = min(s.nextOffset, l.recoveryPoint); s != l.ActiveSegment() {
		p.limit = s.nextOffset
	}
	return p, true
}

// Run reads and checks. step is told of the bytes of each batch and sets the pace; what it returns ends the run. It blocks on files and
// touches nothing of the Log.
//
// Errors: *CorruptionError for the first damage, of which Scrubbed says whether it counts; step's; the file system's, fs.ErrNotExist
// too, if retention or compaction has taken the file.
func (p *ScrubPlan) Run(fsys FS, step func(bytes int) error) (r ScrubReport, err error) {
	o := &opener{fs: fsys, dir: p.dir, log: newLog(p.dir, p.config)}
	f, size, err := o.openFile(fileName("", p.base, logSuffix)[1:])
	if err != nil {
		return r, err
	}
	defer closeFile(f, &err)
	s := newSegment(p.dir, p.base)
	s.size = min(size, p.size)
	position, expected, err := o.batchBelow(s, f, p.From)
	if err != nil {
		return r, err
	}
	w := &o.walker
	w.start(p.dir, p.base, f, s.size)
	w.verify, w.durable, w.limit = true, p.UpTo, p.limit
	w.position, w.expected = position, expected
	return r, p.walk(w, &r, step)
}

func (p *ScrubPlan) walk(w *walker, r *ScrubReport, step func(bytes int) error) error {
	for {
		before := w.expected
		b, _, ok, err := w.next()
		switch {
		case err != nil:
			return err
		case w.damage != nil:
			return w.damage
		case !ok:
			return p.ended(w)
		case b.BaseOffset() >= p.UpTo: // it stays to be seen whether all below that was there
			w.expected = before
			return p.ended(w)
		}
		r.Batches++
		r.Bytes += int64(b.Length())
		if err := step(b.Length()); err != nil {
			return err
		}
	}
}

// ended judges the end of the file: of a log that is not compacted it has all that is on disk.
func (p *ScrubPlan) ended(w *walker) error {
	if p.config.Compact || w.expected >= p.UpTo {
		return nil
	}
	return &CorruptionError{
		Dir: p.dir, Segment: p.base, Position: w.position, End: w.position, Offset: w.expected,
		Reason: fmt.Sprintf("the batches end before offset %d", p.UpTo),
	}
}

// Scrubbed says whether what the plan's Run has found is the log's: not if its segment was dropped, replaced by compaction or
// truncated meanwhile. Damage that is the log's is its Damage from now on, if it had none before it.
func (l *Log) Scrubbed(p ScrubPlan, found *CorruptionError) bool {
	if l.truncating || !slices.Contains(l.segments, p.segment) {
		return false
	}
	l.noteDamage(found)
	return true
}
