package segment

import (
	"math"

	"github.com/ringmill/ringmill/wire"
)

// Cleanable says how much of a log compaction has to do (Kafka's LogToClean).
//
//	LogStartOffset        FirstDirty              FirstUncleanable      LogEndOffset
//	|= cleaned before =====|== may be cleaned ======|== stays as it is ===|
type Cleanable struct {
	FirstDirty       wire.Offset // where the last cleaning ended
	FirstUncleanable wire.Offset // a segment's base: not above what is stable and on disk, nor what min.compaction.lag.ms protects
	CleanBytes       int64
	CleanableBytes   int64
	Overdue          bool // a record has been dirty for longer than max.compaction.lag.ms
}

// Ratio is the dirty part of what would be read, from 0 to 1.
func (c Cleanable) Ratio() float64 {
	if total := c.CleanBytes + c.CleanableBytes; total > 0 {
		return float64(c.CleanableBytes) / float64(total)
	}
	return 0
}

// CleanerOffset is where the last cleaning ended, the log's entry in cleaner-offset-checkpoint; below it every key comes once,
// and offsets may be missing.
func (l *Log) CleanerOffset() wire.Offset { return l.cleaned }

// Cleanable measures the log. It is for a log with cleanup.policy=compact.
func (l *Log) Cleanable(now wire.Timestamp, highWatermark wire.Offset) Cleanable {
	c := Cleanable{FirstDirty: l.cleaned}
	if c.FirstDirty < l.start || c.FirstDirty > l.LogEndOffset() {
		c.FirstDirty = l.start // the checkpoint is of another log than this one has become
	}
	bound := l.firstUncleanable(c.FirstDirty, now, highWatermark)
	c.FirstUncleanable = l.segments[bound].baseOffset
	cleanUntil := int64(now) - max(l.config.MaxCompactionLagMS, 0)
	for _, s := range l.segments[:bound] {
		if s.nextOffset <= c.FirstDirty {
			c.CleanBytes += int64(s.size)
			continue
		}
		c.CleanableBytes += int64(s.size)
		first := s.firstTimestamp
		if first < 0 {
			first = s.max.Timestamp // of a log that was opened before its policy was compact
		}
		c.Overdue = c.Overdue || first > 0 && int64(first) < cleanUntil
	}
	return c
}

// firstUncleanable is the index of the first segment that may not be cleaned. What is not on disk yet may not: an old value would
// go because of a new one that a power cut takes.
func (l *Log) firstUncleanable(firstDirty wire.Offset, now wire.Timestamp, highWatermark wire.Offset) int {
	bound := l.segmentAt(min(l.LastStableOffset(highWatermark), l.recoveryPoint))
	lag := max(l.config.MinCompactionLagMS, 0)
	for i := l.segmentAt(firstDirty); i < bound && lag > 0; i++ {
		if int64(l.segments[i].max.Timestamp) > int64(now)-lag {
			bound = i
		}
	}
	return bound
}

// Due says whether the log is to be cleaned: more of it is dirty than min.cleanable.dirty.ratio, or a record is overdue.
func (c Cleanable) Due(minRatio float64) bool {
	return c.CleanableBytes > 0 && (c.Overdue || c.Ratio() > minRatio)
}

// CleanPlan is a cleaning of a log, with all that it needs to know as values; Start begins it.
type CleanPlan struct {
	Cleanable

	dir             string
	now             wire.Timestamp
	segments        []cleanSource // from the log's first to the last that may be cleaned
	aborted         AbortedPlan
	producers       map[wire.ProducerID]lastRecord
	segmentBytes    int64
	indexBytes      int
	indexInterval   int
	deleteRetention int64
}

// cleanSource is a segment as a CleanPlan knows it.
type cleanSource struct {
	segment    *Segment // its identity; nothing of it is read
	base, next wire.Offset
	size       wire.Position
	offsets    int // bytes of the .index
	times      int // bytes of the .timeindex
	created    wire.Timestamp
	aborted    bool // it has a .txnindex
}

// lastRecord is what must stay of a producer, so that recovery finds its sequence number or at least its epoch.
type lastRecord struct {
	dataOffset wire.Offset // last offset of its newest batch; NoOffset: only a marker is left of its epoch
	epoch      wire.ProducerEpoch
}

// PlanClean plans to clean what may be cleaned now. Only one plan of a log may be under way; PlanClean, Start, Next, PlanSwap,
// Run, Cleaned and CleanDone follow each other as doc.go shows.
func (l *Log) PlanClean(now wire.Timestamp, highWatermark wire.Offset) CleanPlan {
	c := l.Cleanable(now, highWatermark)
	p := CleanPlan{
		Cleanable: c, dir: l.dir, now: now, aborted: l.PlanAborted(0, c.FirstUncleanable),
		producers:    make(map[wire.ProducerID]lastRecord, len(l.producers.producers)),
		segmentBytes: min(l.config.SegmentBytes, math.MaxInt32), indexBytes: l.config.IndexBytes,
		indexInterval: l.config.IndexIntervalBytes, deleteRetention: l.config.DeleteRetentionMS,
	}
	for _, s := range l.segments {
		if s.baseOffset >= c.FirstUncleanable {
			break
		}
		p.segments = append(p.segments, cleanSource{
			segment: s, base: s.baseOffset, next: s.nextOffset, size: s.size, created: s.created,
			offsets: s.index.Count() * offsetEntrySize, times: s.timeIndex.Count() * timeEntrySize, aborted: s.txn.Count() > 0 || s.txn.stale,
		})
	}
	for id, s := range l.producers.producers {
		r := lastRecord{dataOffset: wire.NoOffset, epoch: s.epoch}
		if s.count > 0 {
			r.dataOffset = s.batches[s.count-1].lastOffset
		}
		p.producers[id] = r
	}
	return p
}

// groups says which segments become one: as many as stay within segment.bytes and the index sizes, and whose offsets can be
// written relative to the first (LogCleaner.groupSegmentsBySize). end bounds the segments that are cleaned.
func (p *CleanPlan) groups(end wire.Offset) (groups [][]cleanSource) {
	segs := p.segments
	for len(segs) > 0 && segs[0].base < end {
		n, size, offsets, times := 1, int64(segs[0].size), segs[0].offsets, segs[0].times
		for ; n < len(segs) && segs[n].base < end; n++ {
			s := &segs[n]
			size, offsets, times = size+int64(s.size), offsets+s.offsets, times+s.times
			// an empty segment before a wide gap has no offset to write
			if size > p.segmentBytes || offsets > p.indexBytes || times > p.indexBytes || s.size > 0 && !canHold(segs[0].base, s.next-1) {
				break
			}
		}
		groups, segs = append(groups, segs[:n]), segs[n:]
	}
	return groups
}
