package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// OpenOptions is what the log directory's checkpoint files say about a partition.
type OpenOptions struct {
	RecoveryPoint  wire.Offset    // below it everything was synced (recovery-point-offset-checkpoint)
	LogStartOffset wire.Offset    // log-start-offset-checkpoint
	CleanerOffset  wire.Offset    // cleaner-offset-checkpoint; NoOffset or 0: never cleaned
	Clean          bool           // the clean shutdown mark was there
	NowMS          wire.Timestamp // wall clock, for the expiry of producers
	Replicated     bool           // other replicas have the log: what it lacks of the journal's entries before it is no error (Log.Replay)
}

// RecoveryReport says what OpenLog found and did.
type RecoveryReport struct {
	Dir            string
	ScannedBytes   int64            // of .log files, for batches, producers and indexes
	TruncatedBytes int64            // of .log files: the torn tail, and segments after it
	TruncatedAt    wire.Offset      // the log end offset that the cut left; NoOffset if nothing was cut
	TruncatedWhy   string           // what was wrong with the first bytes that were cut
	RebuiltIndexes []string         // names of .index and .timeindex files, and of leader-epoch-checkpoint
	RemovedFiles   []string         // names of leftovers, orphans, stale snapshots, cut segments
	Damage         *CorruptionError // the first damage below the recovery point; its bytes are kept
}

// Remarkable says that there is something to tell of: more than producer snapshots that a newer one has made superfluous.
func (r *RecoveryReport) Remarkable() bool {
	return len(r.RebuiltIndexes) > 0 || slices.ContainsFunc(r.RemovedFiles, func(name string) bool { return !strings.HasSuffix(name, snapshotSuffix) })
}

// opener carries an OpenLog through its steps.
type opener struct {
	fs      FS
	dir     string
	opt     OpenOptions
	log     *Log
	report  RecoveryReport
	walker  walker
	badTail bool // damage reaches the end of the last segment
	renamed bool // names changed: the directory is synced at the end
	uncut   bool // leader-epoch-checkpoint has epochs that began at the log's end or after it, or that are not the batches'
	doubted bool // leader-epoch-checkpoint is not as it was written, or says otherwise than a batch that was scanned

	listed   bool // the list below is the directory's
	numbered []dirFile
	others   []string
}

// OpenLog reads a partition's directory, Kafka's or our own, and repairs what a crash left. It blocks on the file system.
//
// Below the recovery point nothing is scanned unless an index is missing or senseless, and nothing is ever cut: bytes that
// are no batch are kept and reported as Damage, and no offset below the recovery point is given out again. From the recovery
// point on every batch is checked; the first bytes that are none, and all after them, are a torn tail and are cut. After a
// clean shutdown the scan begins at the last index entry.
//
// The error is one of the file system, or ErrOldFormat, ErrTopicID or *CheckpointError: then the log cannot be used, and its
// batches were not touched.
func OpenLog(fsys FS, dir string, cfg Config, opt OpenOptions) (*Log, RecoveryReport, error) {
	o := newOpener(fsys, dir, cfg, opt)
	return o.open(o.checkEpochs, o.loadProducers)
}

func newOpener(fsys FS, dir string, cfg Config, opt OpenOptions) *opener {
	o := &opener{fs: fsys, dir: dir, opt: opt, log: newLog(dir, cfg)}
	o.log.cleaned = opt.CleanerOffset
	o.report = RecoveryReport{Dir: dir, TruncatedAt: wire.NoOffset}
	return o
}

// open is OpenLog with other ways to know what is not in the segments' ends: epochs and producers.
func (o *opener) open(known ...func() error) (*Log, RecoveryReport, error) {
	steps := append([]func() error{o.removeLeftovers, o.readIdentity, o.findSegments, o.openSegments, o.bound}, known...)
	for _, step := range append(steps, o.finish) {
		if err := step(); err != nil {
			return nil, o.report, err
		}
	}
	return o.log, o.report, nil
}

// readIdentity reads partition.metadata and leader-epoch-checkpoint. Either may be missing: Kafka had them later than logs.
func (o *opener) readIdentity() error {
	data, err := o.readFile(PartitionMetadataFile)
	if err == nil && data != nil {
		o.log.topicID, err = ReadPartitionMetadata(data)
	}
	if err != nil {
		return fmt.Errorf("segment: open %s: %w", o.dir, err)
	}
	data, err = o.readFile(LeaderEpochCheckpoint)
	if err == nil && data != nil {
		o.log.epochs, err = ReadLeaderEpochCache(data)
		o.doubted = !bytes.Equal(o.log.EpochCheckpoint(), data) // nobody writes entries that do not rise
	}
	if err != nil {
		return fmt.Errorf("segment: open %s: %w", o.dir, err)
	}
	return nil
}

// readFile gives a file's content, nil if it is not there.
func (o *opener) readFile(name string) ([]byte, error) {
	data, err := o.fs.ReadFile(o.dir + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// findSegments makes a Segment of each .log and removes indexes that belong to none.
func (o *opener) findSegments() error {
	files, _, err := o.list()
	if err != nil {
		return err
	}
	bases := make(map[wire.Offset]bool)
	for _, f := range files {
		if f.suffix == logSuffix {
			bases[f.base] = true
			o.log.segments = append(o.log.segments, newSegment(o.dir, f.base))
		}
	}
	for _, f := range files {
		isIndex := f.suffix == indexSuffix || f.suffix == timeIndexSuffix || f.suffix == txnIndexSuffix
		if isIndex && !bases[f.base] {
			if err := o.removeFile(f.name); err != nil {
				return err
			}
		}
	}
	for i, s := range o.log.segments[:max(0, len(o.log.segments)-1)] {
		s.nextOffset = o.log.segments[i+1].baseOffset
	}
	return nil
}

// openSegments opens the segments, oldest first, until one has a torn tail.
func (o *opener) openSegments() error {
	l := o.log
	for i := 0; i < len(l.segments); i++ {
		s, last := l.segments[i], i == len(l.segments)-1
		torn, err := o.openSegment(s, last)
		if err != nil {
			return err
		}
		if torn {
			if err := o.cutAfter(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// openSegment opens one. torn says that the log ends in it.
func (o *opener) openSegment(s *Segment, last bool) (torn bool, err error) {
	f, size, err := o.openFile(fileName("", s.baseOffset, logSuffix)[1:])
	if err != nil {
		return false, err
	}
	defer f.Close()
	s.size = size
	if !last && (o.opt.Clean || s.nextOffset <= o.opt.RecoveryPoint) {
		if o.takeIndexes(s, f) {
			return false, o.readFirstIfDated(s, f)
		}
		o.noteRebuilt(s)
		return false, o.rebuild(s, f)
	}
	return o.recoverSegment(s, f, last)
}

// cutAfter removes the segments after the i-th.
func (o *opener) cutAfter(i int) error {
	l := o.log
	cut := l.segments[i+1:]
	for _, s := range cut {
		size, err := o.fs.Stat(s.LogName())
		if err != nil {
			return fmt.Errorf("segment: size of %s: %w", s.LogName(), err)
		}
		o.report.TruncatedBytes += size
	}
	l.segments = l.segments[:i+1]
	return o.removeSegments(cut)
}

// removeSegments removes files of segments that are no longer in the log, the newest first, and each durably before the next: a
// crash in between leaves a log without a hole.
func (o *opener) removeSegments(segs []*Segment) error {
	for i := len(segs) - 1; i >= 0; i-- {
		for _, suffix := range segmentSuffixes {
			name := fileName("", segs[i].baseOffset, suffix)[1:]
			if _, err := o.fs.Stat(o.dir + "/" + name); errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err := o.removeFile(name); err != nil {
				return err
			}
		}
		if err := o.fs.SyncDir(o.dir); err != nil {
			return fmt.Errorf("segment: sync directory %s: %w", o.dir, err)
		}
	}
	return nil
}

// bound settles where the log begins and ends, and that there is a segment to append to.
func (o *opener) bound() error {
	l := o.log
	if len(l.segments) > 0 && l.LogEndOffset() < o.opt.LogStartOffset {
		if o.opt.Clean { // nothing can have been lost: all would be deleted for a number that nobody wrote
			return fmt.Errorf("segment: open %s: %w", o.dir, checkpointError(0, "",
				fmt.Sprintf("%s has %d, and the log ends at %d", LogStartCheckpoint, o.opt.LogStartOffset, l.LogEndOffset())))
		}
		gone := l.segments
		l.segments = nil
		if err := o.removeSegments(gone); err != nil {
			return err
		}
	}
	if len(l.segments) == 0 { // the epochs are of records that are gone
		o.uncut, l.epochs = len(l.epochs.entries) > 0, LeaderEpochCache{}
	}
	l.start = o.opt.LogStartOffset
	if len(l.segments) > 0 {
		l.start = max(l.start, l.segments[0].baseOffset)
	}
	if err := o.fillHole(); err != nil {
		return err
	}
	end := l.LogEndOffset()
	l.recoveryPoint = min(o.opt.RecoveryPoint, end)
	if o.opt.Clean && o.report.Damage == nil {
		l.recoveryPoint = end
	}
	l.cleaned = min(l.cleaned, end) // a truncation may have cut what was cleaned
	for _, s := range l.segments {
		l.size += int64(s.size)
	}
	o.uncut = l.epochs.TruncateFromEnd(end) || o.uncut
	l.epochsDirty = l.epochs.TruncateFromStart(l.start) || l.epochsDirty
	return nil
}

// fillHole starts a new segment where the log's last one cannot go on: there is none, damage reaches its end, or the log ends
// below the recovery point, so that offsets are missing which were given out. In the latter two the next offset is the
// recovery point at least.
func (o *opener) fillHole() error {
	l := o.log
	base := l.start
	if n := len(l.segments); n > 0 {
		s := l.segments[n-1]
		if s.nextOffset >= o.opt.RecoveryPoint && !o.badTail {
			return nil
		}
		base = s.nextOffset
	}
	if base < o.opt.RecoveryPoint {
		o.noteMissing(base)
		base = o.opt.RecoveryPoint
	}
	return o.startSegment(base)
}

// noteMissing reports offsets that end too early, unless damaged bytes explain it.
func (o *opener) noteMissing(end wire.Offset) {
	if o.report.Damage != nil {
		return
	}
	d := &CorruptionError{
		Dir: o.dir, Offset: end, Segment: o.log.start,
		Reason: fmt.Sprintf("the log ends before the recovery point %d", o.opt.RecoveryPoint),
	}
	if n := len(o.log.segments); n > 0 {
		s := o.log.segments[n-1]
		d.Segment, d.Position, d.End = s.baseOffset, s.size, s.size
	}
	o.report.Damage = d
}

func (o *opener) startSegment(base wire.Offset) error {
	s := newSegment(o.dir, base)
	f, err := s.createFiles(o.fs, true)
	if err != nil {
		return err
	}
	if n := len(o.log.segments); n > 0 {
		o.log.segments[n-1].nextOffset = base
	}
	o.log.segments = append(o.log.segments, s)
	o.namesChanged()
	return f.Close()
}

// finish makes the changes of names durable, and leaves no memory with the log that an idle one does not need. Epochs that were cut
// off are durably gone before anything is appended: what a follower appends there may be of an earlier epoch.
func (o *opener) finish() error {
	l := o.log
	o.report.ScannedBytes = o.walker.bytes
	l.damage = o.report.Damage
	l.SetReplicated(o.opt.Replicated)
	l.ReleaseMemory()
	if o.uncut {
		if err := o.fs.WriteFileAtomic(o.dir+"/"+LeaderEpochCheckpoint, l.EpochCheckpoint()); err != nil {
			return fmt.Errorf("segment: write %s of %s: %w", LeaderEpochCheckpoint, o.dir, err)
		}
		l.epochsDirty = false
	}
	if !o.renamed {
		return nil
	}
	if err := o.fs.SyncDir(o.dir); err != nil {
		return fmt.Errorf("segment: sync directory %s: %w", o.dir, err)
	}
	return nil
}

// keepAll is a trust or a durable bound above every offset.
const keepAll wire.Offset = math.MaxInt64
