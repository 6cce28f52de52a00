package node

import (
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// fetchShare is the part of a gather that one owner does. It goes to the owner as a message, and comes back as one.
type fetchShare struct {
	request *fetchRequest
	owner   *Loop
	// next is the part to plan next: a share that meets a segment whose file or index is not at hand is parked there
	// and goes on when it is.
	next int
	// located is the range of part next that a goroutine found, if it did.
	located *locatedRange
	done    bool
}

func (s *fetchShare) handle(*Loop) {
	if s.done {
		s.request.gathered()
		return
	}
	s.plan()
}

// plan fills in the owner's parts and sends the share back.
func (s *fetchShare) plan() {
	for ; s.next < len(s.request.parts); s.next++ {
		p := &s.request.parts[s.next]
		if p.part == nil || p.part.loop != s.owner {
			continue
		}
		if !s.owner.planPart(s, p) {
			return
		}
		s.located = nil
	}
	s.done = true
	if to := s.request.conn.loop; to != s.owner {
		s.owner.post(to, s)
	} else {
		s.request.gathered()
	}
}

// planPart finds one part's range; false if the share is parked until a file or an index is there.
func (l *Loop) planPart(s *fetchShare, p *fetchPart) bool {
	part := p.part
	if s.located != nil && s.located.err != nil {
		p.code, p.highWatermark, p.logStart = wire.KafkaStorageError, wire.NoOffset, wire.NoOffset
		l.node.log.throttled("a fetch could not be planned", "partition", part.name(), "error", s.located.err)
		return true
	}
	p.code, p.file, p.length, p.first, p.diverging = part.stopped, nil, 0, 0, wire.EpochEndOffset{}
	p.highWatermark, p.logStart = part.replica.HighWatermark(), part.log().LogStartOffset()
	if p.code == wire.None {
		p.code = part.checkEpoch(p)
	}
	if p.code != wire.None {
		p.highWatermark, p.logStart = wire.NoOffset, wire.NoOffset
		return true
	}
	if p.diverging.Set {
		return true
	}
	plan := part.log().PlanFetch(p.ask.FetchOffset, p.highWatermark)
	switch plan.Status {
	case segment.FetchEmpty:
		return true
	case segment.FetchOutOfRange:
		p.code, p.highWatermark, p.logStart = wire.OffsetOutOfRange, wire.NoOffset, wire.NoOffset
		return true
	case segment.FetchNeedIndex:
		l.loadIndex(s, part, plan)
		return false
	}
	file := l.fileOf(part, plan.Segment)
	if file == nil {
		part.parked = append(part.parked, s)
		return false
	}
	return l.locate(s, p, plan, file)
}

// checkEpoch applies KIP-320: a client that knows another leader than this one is told so, and one whose last record
// this log does not have, where they part.
func (part *partition) checkEpoch(p *fetchPart) wire.ErrorCode {
	mine := part.replica.LeaderEpoch()
	switch asked := p.ask.CurrentLeaderEpoch; {
	case asked >= 0 && asked < mine:
		return wire.FencedLeaderEpoch
	case asked > mine:
		return wire.UnknownLeaderEpoch
	}
	if last := p.ask.LastFetchedEpoch; last >= 0 {
		epoch, end := part.log().EndOffsetForEpoch(last)
		if end < 0 {
			return wire.OffsetOutOfRange
		}
		if epoch < last || end < p.ask.FetchOffset {
			p.diverging = wire.EpochEndOffset{Set: true, Epoch: epoch, EndOffset: end}
		}
	}
	return wire.None
}

// locatedRange is an exact range of a segment, with the size of its first batch.
type locatedRange struct {
	segment    *segment.Segment
	start, end wire.Position
	first      int32
	err        error
}

// locate makes a plan's range exact: from memory, else by reading batch headers from the page cache, else in the
// background.
func (l *Loop) locate(s *fetchShare, p *fetchPart, plan segment.FetchPlan, file *segmentFile) bool {
	at := locatedRange{segment: plan.Segment, start: plan.Start, end: plan.End, first: plan.FirstSize}
	switch exact := plan.StartExact && plan.EndExact && plan.FirstSize > 0; {
	case exact:
		p.hot = true
	case s.located != nil && s.located.segment == plan.Segment:
		at, p.hot = *s.located, false
	default:
		p.hot = false
		if at = findRange(noWaitReader{file.fd}, plan); errors.Is(at.err, segment.ErrWouldBlock) {
			l.locateCold(s, plan, file.retain())
			return false
		}
	}
	if at.err != nil {
		l.node.log.throttled("damage met by a fetch", "partition", p.part.name(), "error", at.err)
		p.code, p.highWatermark, p.logStart = wire.KafkaStorageError, wire.NoOffset, wire.NoOffset
		return true
	}
	if at.start < at.end {
		p.file, p.position, p.length, p.first = file.retain(), int64(at.start), int64(at.end-at.start), at.first
	}
	return true
}

// findRange makes a plan's bounds exact by reading headers through r.
func findRange(r io.ReaderAt, plan segment.FetchPlan) locatedRange {
	at := locatedRange{segment: plan.Segment, start: plan.Start, end: plan.End}
	at.start, at.first, at.err = segment.FindBatch(r, plan.From, plan.Start, plan.End)
	if at.err == nil && !plan.EndExact {
		var end wire.Position
		if end, _, at.err = segment.FindBatch(r, plan.Bound, at.start, plan.End); at.err == nil {
			at.end = end
		}
	}
	if errors.Is(at.err, segment.ErrNoBatch) {
		at.err = nil
		if at.first == 0 { // nothing from plan.From on: a gap at the end of a segment
			at.start = at.end
		}
	}
	return at
}

func (l *Loop) locateCold(s *fetchShare, plan segment.FetchPlan, file *segmentFile) {
	l.metrics.coldLookups.Inc()
	l.background(func() Message {
		at := findRange(file.file, plan)
		file.release()
		return messageFunc(func(*Loop) {
			s.located = &at
			s.plan()
		})
	})
}

// loadIndex reads a sealed segment's index in the background, then goes on with the share.
func (l *Loop) loadIndex(s *fetchShare, part *partition, plan segment.FetchPlan) {
	fs := part.dir.fs
	l.background(func() Message {
		index, err := plan.LoadIndex(fs)
		return messageFunc(func(l *Loop) {
			if err != nil {
				s.located = &locatedRange{err: err}
			} else if part.stopped == wire.None {
				part.log().IndexLoaded(index)
			}
			s.plan()
		})
	})
}

// resumeParked lets the shares go on that wait for a file of p.
func (l *Loop) resumeParked(p *partition) {
	parked := p.parked
	p.parked = nil
	for _, s := range parked {
		s.plan()
	}
}

// noWaitReader reads what the page cache has (preadv2 with RWF_NOWAIT) and refuses to wait for a disk.
type noWaitReader struct{ fd int }

func (r noWaitReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := iouring.PreadNoWait(r.fd, b, off)
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, iouring.ErrUnsupported):
		return 0, segment.ErrWouldBlock
	case err != nil:
		return n, err
	case n < len(b):
		return n, io.EOF
	}
	return n, nil
}
