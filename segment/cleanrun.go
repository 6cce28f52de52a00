package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// CleanOptions bounds a cleaning.
type CleanOptions struct {
	DedupeBytes int64   // memory of the map of keys (log.cleaner.dedupe.buffer.size)
	LoadFactor  float64 // how full it may be (log.cleaner.io.buffer.load.factor)
	// Step is called after every piece of work with the bytes that were read and written since the last call. It may sleep, to
	// bound the rate; its error ends the cleaning. It may be nil.
	Step func(bytes int) error
}

// CleanResult counts what a cleaning has done so far.
type CleanResult struct {
	BytesRead, BytesWritten  int64 // of .log files, in the pass that writes
	RecordsRead, RecordsKept int64
	Keys                     int  // different ones in the dirty part
	Undecodable              int  // batches that stay as they are because their records cannot be decoded
	Changed                  bool // since the last group began
}

// CleanJob is a cleaning under way. It belongs to one goroutine at a time, which blocks on files; it touches nothing of the Log.
type CleanJob struct {
	plan   CleanPlan
	fs     FS
	opt    CleanOptions
	groups [][]cleanSource
	filter cleanFilter
	buf    []byte // what is to be written
	err    error
}

// cleanWriteBytes is how much is written at a time.
const cleanWriteBytes = 1 << 20

// Start reads the dirty part of the log for the newest offset of each key (Cleaner.buildOffsetMap). Next then gives the groups.
//
// Errors: *CorruptionError for bytes that are no batch: such a log cannot be cleaned. Step's. Those of the file system.
func (p CleanPlan) Start(fsys FS, opt CleanOptions) (*CleanJob, error) {
	if opt.Step == nil {
		opt.Step = func(int) error { return nil }
	}
	aborted, err := p.aborted.entries(fsys)
	if err != nil {
		return nil, err
	}
	j := &CleanJob{plan: p, fs: fsys, opt: opt}
	j.filter = cleanFilter{
		plan: &j.plan, newest: newOffsetMap(opt.DedupeBytes, opt.LoadFactor), txns: newCleanTxns(aborted), dec: new(wire.Decompressor),
	}
	if err := j.buildMap(aborted); err != nil {
		return nil, err
	}
	j.filter.result.Keys = j.filter.newest.used
	j.groups = p.groups(j.Through())
	return j, nil
}

// Through is the offset up to which the log is clean once all groups are swapped in.
func (j *CleanJob) Through() wire.Offset { return max(j.filter.newest.latest+1, j.plan.FirstDirty) }

// Result counts what was done so far.
func (j *CleanJob) Result() CleanResult { return j.filter.result }

func (j *CleanJob) buildMap(aborted []AbortedTxn) error {
	var txns *cleanTxns
	for i := range j.plan.segments {
		s := &j.plan.segments[i]
		if s.next <= j.plan.FirstDirty {
			continue
		}
		if txns == nil { // the pass begins here: markers before it are not seen
			aborted = slices.DeleteFunc(slices.Clone(aborted), func(e AbortedTxn) bool { return e.LastOffset < s.base })
			txns = newCleanTxns(aborted)
		}
		full, err := j.mapSegment(s, txns)
		if err != nil || full {
			return err
		}
		j.filter.newest.latest = s.next - 1 // beyond the last batch too: offsets may be missing
	}
	return nil
}

func (j *CleanJob) mapSegment(s *cleanSource, txns *cleanTxns) (full bool, err error) {
	r, err := j.open(s)
	if err != nil {
		return false, err
	}
	defer r.close()
	for {
		b, err := r.next()
		if b == nil || err != nil {
			return false, err
		}
		if discard := txns.read(b); !discard && !b.IsControl() && b.LastOffset() >= j.plan.FirstDirty && !j.mapBatch(b) {
			return true, nil
		}
		if b.LastOffset() >= j.plan.FirstDirty {
			j.filter.newest.latest = b.LastOffset()
		}
		if err := j.opt.Step(len(b)); err != nil {
			return false, err
		}
	}
}

// mapBatch puts the batch's keys; false if the map is full. What makes no sense has no keys: all of it stays.
func (j *CleanJob) mapBatch(b wire.RecordBatch) bool {
	it, ok := soundRecords(b, j.filter.dec)
	if !ok {
		return true
	}
	for rec, ok := it.Next(); ok; rec, ok = it.Next() {
		off := b.BaseOffset() + wire.Offset(rec.OffsetDelta)
		if rec.Key != nil && off >= j.plan.FirstDirty && !j.filter.newest.put(rec.Key, off) {
			return false
		}
	}
	return true
}

// CleanedGroup is a segment that was written to take the place of others; PlanSwap goes on with it.
type CleanedGroup struct {
	dir     string
	sources []*Segment
	next    *Segment // its files end in .cleaned
	indexed bool     // it has a .txnindex
}

// Bytes is the size of the new .log.
func (g *CleanedGroup) Bytes() int64 { return int64(g.next.size) }

// Sources is how many segments it takes the place of.
func (g *CleanedGroup) Sources() int { return len(g.sources) }

// Next cleans segments into one, under names that end in .cleaned, and makes it durable. Segments of which nothing goes stay as
// they are and are passed over. ok is false at the end. Errors as of Start; after one the job is over, and its files are gone.
func (j *CleanJob) Next() (g CleanedGroup, ok bool, err error) {
	for len(j.groups) > 0 && j.err == nil {
		sources := j.groups[0]
		j.groups = j.groups[1:]
		g, j.err = j.clean(sources)
		if j.err != nil {
			return g, false, errors.Join(j.err, g.Discard(j.fs))
		}
		if len(sources) > 1 || j.filter.result.Changed {
			return g, true, nil
		}
		if j.err = g.Discard(j.fs); j.err != nil {
			break
		}
	}
	return CleanedGroup{}, false, j.err
}

// Discard removes the files of a group that will not be swapped in.
func (g *CleanedGroup) Discard(fsys FS) error {
	for _, suffix := range cleanedSuffixes {
		name := fileName(g.dir, g.next.baseOffset, suffix+cleanedSuffix)
		if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("segment: remove %s: %w", name, err)
		}
	}
	return nil
}

// cleanedSuffixes are the files of a cleaned segment, the .log first.
var cleanedSuffixes = [...]string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix}

func (j *CleanJob) clean(sources []cleanSource) (g CleanedGroup, err error) {
	g = CleanedGroup{dir: j.plan.dir, next: newSegment(j.plan.dir, sources[0].base)}
	g.next.created = sources[0].created
	j.filter.result.Changed = false
	name := fileName(g.dir, g.next.baseOffset, logSuffix+cleanedSuffix)
	f, err := j.fs.OpenFile(name, ReadWrite|Create|Truncate, filePerm)
	if err != nil {
		return g, fmt.Errorf("segment: create %s: %w", name, err)
	}
	defer closeFile(f, &err)
	for i := range sources {
		s := &sources[i]
		g.sources, g.indexed = append(g.sources, s.segment), g.indexed || s.aborted
		if err := j.cleanInto(g.next, f, s, i == len(sources)-1); err != nil {
			return g, err
		}
	}
	if err := j.flush(g.next, f); err != nil {
		return g, err
	}
	if err := syncFile(f, name, true); err != nil {
		return g, err
	}
	g.next.nextOffset = sources[len(sources)-1].next
	return g, j.finish(&g)
}

// cleanInto appends what stays of a segment to the new one. The last batch of the last segment stays, if need be without
// records: so that the new segment ends where those did, and recovery knows which ones it replaces.
func (j *CleanJob) cleanInto(next *Segment, f File, s *cleanSource, last bool) error {
	r, err := j.open(s)
	if err != nil {
		return err
	}
	defer r.close()
	for {
		b, err := r.next()
		if b == nil || err != nil {
			return err
		}
		before := len(j.buf)
		j.buf = j.filter.batch(j.buf, b, last && r.atEnd())
		if kept := wire.RecordBatch(j.buf[before:]); len(kept) > 0 {
			if err := j.place(next, kept); err != nil {
				return err
			}
		}
		j.filter.result.BytesRead += int64(len(b))
		if err := j.opt.Step(len(b) + len(j.buf) - before); err != nil {
			return err
		}
		if len(j.buf) >= cleanWriteBytes {
			if err := j.flush(next, f); err != nil {
				return err
			}
		}
	}
}
