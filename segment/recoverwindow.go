package segment

import "github.com/ringmill/ringmill/wire"

// A producer snapshot, in Kafka's format, has the newest batch of each producer alone. A client that was cut off sends up to
// five again; those before the snapshot are found in the log, so that they are answered as duplicates and not refused, which makes
// some clients start over with a new epoch and store them twice.

// widening is how far before the snapshot older batches are looked for: the last firstBytes of log, and four times as much as long as
// some producer's window is not full, up to bytes. Producers that were silent for ageMS have given up.
type widening struct {
	firstBytes, bytes wire.Position
	ageMS             int64
}

var (
	// widenAfterCrash reads what a partition takes in the time that a produce may be under way, many times over.
	widenAfterCrash = widening{firstBytes: 32 << 20, bytes: 32 << 20, ageMS: 15 * 60 * 1000}
	// widenAfterStop: a clean stop answers what is under way, so that only answers that were lost on their way are asked for again, and
	// logs that were not written to of late are opened without reading them (delivery.timeout.ms is 2 minutes in Kafka's own clients).
	// Five batches of the largest common size, 1 MiB, are within bytes.
	widenAfterStop = widening{firstBytes: 128 << 10, bytes: 8 << 20, ageMS: 2 * 60 * 1000}
)

// widenWindows completes the windows of the producers that a snapshot at from restored.
func (o *opener) widenWindows(from wire.Offset) error {
	l, how := o.log, &widenAfterCrash
	if o.opt.Clean {
		how = &widenAfterStop
	}
	if from <= l.start {
		return nil
	}
	for bytes := how.firstBytes; o.hasNarrowProducer(how.ageMS); bytes *= 4 {
		whole, err := o.widenBy(from, bytes)
		if err != nil || whole || bytes >= how.bytes {
			return err
		}
	}
	return nil
}

// widenBy completes windows by the last bytes of log before an offset; whole says that there is no log before them.
func (o *opener) widenBy(from wire.Offset, bytes wire.Position) (whole bool, err error) {
	older := ProducerStateTable{}
	var ignored producerUndo
	parts := o.partsBefore(from, bytes)
	for _, part := range parts {
		err := o.walkFrom(part.segment, part.start, func(b wire.RecordBatch) {
			if b.LastOffset() < from && !b.IsControl() {
				older.update(b, &ignored)
			}
		})
		if err != nil {
			return false, err
		}
	}
	for id, s := range o.log.producers.producers {
		if was := older.producers[id]; was != nil {
			s.widen(was)
		}
	}
	return parts[0].segment == o.log.segments[0] && parts[0].start == 0, nil
}

// hasNarrowProducer says whether a producer that may still send again what is older lacks batches.
func (o *opener) hasNarrowProducer(ageMS int64) bool {
	for _, s := range o.log.producers.producers {
		if s.count > 0 && s.count < producerWindow && s.batches[0].firstSequence() != 0 && int64(o.opt.NowMS-s.lastTimestamp) <= ageMS {
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

// partsBefore is the last so many bytes of log before an offset, in order, rounded up to an index entry.
func (o *opener) partsBefore(from wire.Offset, left wire.Position) []segmentPart {
	l := o.log
	first := l.segmentAt(from - 1)
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

// widen takes over the window of was, which the log gave, if both end in the same batch and it knows more.
func (s *producerState) widen(was *producerState) {
	if was.count <= s.count || s.count == 0 || s.epoch != was.epoch {
		return
	}
	if was.batches[was.count-1].lastOffset == s.batches[s.count-1].lastOffset {
		s.batches, s.count = was.batches, was.count
	}
}
