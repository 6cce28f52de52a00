package segment

import "github.com/ringmill/ringmill/wire"

// A producer snapshot, in Kafka's format, has the newest batch of each producer alone. A client that was cut off sends up to
// five again; after a crash those before the snapshot are found in the log, so that they are answered as duplicates and not
// refused, which makes some clients start over with a new epoch and store them twice.

const (
	// widenBytes is how far before the snapshot they are looked for: what a partition takes in the time that a produce may be
	// under way, many times over.
	widenBytes = 32 << 20
	// widenAgeMS: older producers have given up by now (delivery.timeout.ms is 2 minutes in Kafka's own clients).
	widenAgeMS = 15 * 60 * 1000
)

// widenWindows completes the windows of the producers that a snapshot at from restored. A clean stop answered what was under
// way, and its logs are opened without reading them.
func (o *opener) widenWindows(from wire.Offset) error {
	l := o.log
	if o.opt.Clean || from <= l.start || !o.hasRecentProducer() {
		return nil
	}
	older := ProducerStateTable{}
	var ignored producerUndo
	for _, part := range o.partsBefore(from) {
		err := o.walkFrom(part.segment, part.start, func(b wire.RecordBatch) {
			if b.LastOffset() < from && !b.IsControl() {
				older.update(b, &ignored)
			}
		})
		if err != nil {
			return err
		}
	}
	for id, s := range l.producers.producers {
		if was := older.producers[id]; was != nil {
			s.widen(was)
		}
	}
	return nil
}

func (o *opener) hasRecentProducer() bool {
	for _, s := range o.log.producers.producers {
		if int64(o.opt.NowMS-s.lastTimestamp) <= widenAgeMS {
			return true
		}
	}
	return false
}

// segmentPart is a segment from a batch's position on.
type segmentPart struct {
	segment *Segment
	start   wire.Position
}

// partsBefore is the last widenBytes of log before an offset, in order, rounded up to an index entry.
func (o *opener) partsBefore(from wire.Offset) []segmentPart {
	l := o.log
	first := l.segmentAt(from - 1)
	left := wire.Position(widenBytes)
	for ; first > 0 && l.segments[first].size < left; first-- {
		left -= l.segments[first].size
	}
	parts := make([]segmentPart, 0, len(l.segments)-first)
	for i := first; i <= l.segmentAt(from-1); i++ {
		parts = append(parts, segmentPart{segment: l.segments[i]})
	}
	if s := parts[0].segment; s.size > left {
		parts[0].start = o.indexedBefore(s, s.size-left)
	}
	return parts
}

// indexedBefore is the last position at or before pos that the segment's index file names; 0 without one.
func (o *opener) indexedBefore(s *Segment, pos wire.Position) wire.Position {
	data, err := o.readIndex(s, indexSuffix)
	if err != nil {
		return 0 // walking more than is needed does no harm
	}
	data = soundOffsetEntries(s.baseOffset, data, s.size)
	at := wire.Position(0)
	for i := range len(data) / offsetEntrySize {
		e := readOffsetEntry(s.baseOffset, data, i)
		if e.Position > pos {
			break
		}
		at = e.Position
	}
	return at
}

// widen takes over the window of was, which the log gave, if both end in the same batch.
func (s *producerState) widen(was *producerState) {
	if s.count != 1 || was.count == 0 || s.epoch != was.epoch {
		return
	}
	if was.batches[was.count-1].lastOffset == s.batches[0].lastOffset {
		s.batches, s.count = was.batches, was.count
	}
}
