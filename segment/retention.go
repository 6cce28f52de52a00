package segment

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ringmill/ringmill/wire"
)

// PlanRetention gives the segments that may go, oldest first: below the log start offset always; by retention.ms and
// retention.bytes if cleanup.policy has delete. None reaches above the high watermark. The active segment may be the last of
// them if it has records: it is rolled before it is dropped (UnifiedLog.deleteOldSegments). While a
// cleaned segment is swapped in or the log is truncated there are none.
func (l *Log) PlanRetention(now wire.Timestamp, highWatermark wire.Offset) []*Segment {
	excess := int64(-1)
	if l.config.Delete && l.config.RetentionBytes >= 0 {
		excess = l.size - l.config.RetentionBytes
	}
	if l.swapping || l.truncating {
		return nil
	}
	n := 0
	for i, s := range l.segments {
		if s.nextOffset > highWatermark || s == l.ActiveSegment() && s.size == 0 {
			break
		}
		switch bySize := excess-int64(s.size) >= 0; {
		case bySize || s.nextOffset <= l.start || l.expired(s, now):
			n = i + 1
			excess -= int64(s.size)
			continue
		case s.retentionTimestamp() >= 0:
			return append([]*Segment(nil), l.segments[:n]...)
		}
		excess = -1 // compaction has left no time in it: it goes with what follows it, by time alone
	}
	return append([]*Segment(nil), l.segments[:n]...)
}

func (l *Log) expired(s *Segment, now wire.Timestamp) bool {
	at := s.retentionTimestamp()
	return l.config.Delete && l.config.RetentionMS >= 0 && at >= 0 && int64(now-at) > l.config.RetentionMS
}

// BlockedByFuture gives the segment that would keep retention by time from ever going on, since a record in it claims a time that is
// yet to come; nil if there is none, or retention is not by time. Kafka warns of it as well (KAFKA-18929).
func (l *Log) BlockedByFuture(now wire.Timestamp) *Segment {
	if s := l.segments[0]; l.config.Delete && l.config.RetentionMS >= 0 && s.max.Timestamp > now {
		return s
	}
	return nil
}

// DropSegments forgets segments that PlanRetention gave, or that lie below the log start offset: the oldest ones, never the
// active one. The log start offset rises to the first that stays. Their files are DeleteSegments' to remove.
func (l *Log) DropSegments(segs []*Segment) {
	if len(segs) >= len(l.segments) {
		panic("BUG: the active segment dropped")
	}
	for i, s := range segs {
		if l.segments[i] != s {
			panic("BUG: segments dropped out of order")
		}
		l.size -= int64(s.size)
	}
	l.segments = append([]*Segment(nil), l.segments[len(segs):]...)
	l.AdvanceStart(l.segments[0].baseOffset)
}

// AdvanceStart raises the log start offset, and says whether it did; the epoch cache follows. It never goes beyond the log end
// offset.
func (l *Log) AdvanceStart(off wire.Offset) bool {
	off = min(off, l.LogEndOffset())
	if off <= l.start {
		return false
	}
	l.start = off
	l.epochsDirty = l.epochs.TruncateFromStart(off) || l.epochsDirty
	return true
}

// segmentSuffixes are those of a segment's files. The .log comes first: what a crash leaves of the others without it, recovery
// knows as orphans.
var segmentSuffixes = [...]string{logSuffix, indexSuffix, timeIndexSuffix, txnIndexSuffix, snapshotSuffix}

// DeleteSegments removes the files of dropped segments, oldest first, with the producer snapshots of the same name. A file that
// is not there is no error. Each .log is durably gone before the next goes, so that no crash leaves a hole in the log.
func DeleteSegments(fsys FS, segs []*Segment) error {
	for i, s := range segs {
		for _, suffix := range segmentSuffixes {
			name := fileName(s.dir, s.baseOffset, suffix)
			if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("segment: remove %s: %w", name, err)
			}
		}
		if i == len(segs)-1 {
			break
		}
		if err := fsys.SyncDir(s.dir); err != nil {
			return fmt.Errorf("segment: sync directory %s: %w", s.dir, err)
		}
	}
	return nil
}
