package node

import (
	"errors"
	"time"

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
	// located is the range of part next that a goroutine found, if it did; from, where in the log to look for it, if not
	// at the offset that was asked for.
	located *located
	from    wire.Offset
	// tries counts how often part next was planned again because a file of its aborted transactions was gone.
	tries int
	// noted says that what a follower's part next says of its log has been noted.
	noted bool
	done  bool
	// posted is when it was sent to another loop, hops how long it has waited for loops to take it up.
	posted, hops time.Duration
}

func (s *fetchShare) handle(l *Loop) {
	s.hops += max(l.instant-s.posted, 0)
	if s.done {
		s.request.gathered(s)
		return
	}
	s.plan()
}

// plan fills in the owner's parts and sends the share back.
func (s *fetchShare) plan() {
	for s.next < len(s.request.parts) {
		p := &s.request.parts[s.next]
		if p.part != nil && p.part.loop == s.owner && !s.owner.planPart(s, p) {
			return
		}
		s.planned()
	}
	s.done = true
	if to := s.request.conn.loop; to != s.owner {
		s.posted = s.owner.instant
		s.owner.post(to, s)
	} else {
		s.request.gathered(s)
	}
}

// planned goes on to the next part.
func (s *fetchShare) planned() {
	s.next++
	s.located, s.from, s.tries, s.noted = nil, wire.NoOffset, 0, false
}

// planPart finds one part's range; false if the share is parked until a file or an index is there.
func (l *Loop) planPart(s *fetchShare, p *fetchPart) bool {
	part := p.part
	p.file, p.length, p.first, p.diverging, p.aborted, p.preferred = nil, 0, 0, wire.EpochEndOffset{}, nil, wire.NoNode
	if s.located != nil && s.located.segment == nil { // its index cannot be had
		l.node.log.throttled("a fetch could not be planned", "partition", part.name(), "error", s.located.err)
		p.fail(wire.KafkaStorageError)
		return true
	}
	read := l.read(s, p)
	if p.diverging = read.Diverging; read.Code != wire.None {
		p.fail(read.Code)
		if read.Diverging.Set { // tells a follower where this log begins and ends
			p.logStart = read.LogStart
		}
		return true
	}
	p.code, p.highWatermark, p.lastStable, p.logStart, p.bound = wire.None, read.HighWatermark, read.LastStable, read.LogStart, read.Bound
	if p.diverging.Set {
		return true
	}
	if p.preferred = l.preferredReplica(&s.request.by, p); p.preferred != wire.NoNode {
		return true
	}
	if l.withheld(&s.request.by, p, read.InSync) {
		return true
	}
	from := p.ask.FetchOffset
	if s.from >= 0 {
		from = s.from
	}
	if s.request.committed {
		p.aborted = noneAborted
	}
	plan := part.log().PlanFetch(from, p.bound)
	switch plan.Status {
	case segment.FetchEmpty:
		return true
	case segment.FetchOutOfRange:
		p.fail(wire.OffsetOutOfRange)
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
	return l.locate(s, p, plan, file) && l.findAborted(s, p, plan)
}

// fail answers the part with an error; Kafka tells no offsets beside one.
func (p *fetchPart) fail(code wire.ErrorCode) {
	p.code, p.highWatermark, p.lastStable, p.logStart, p.aborted = code, wire.NoOffset, wire.NoOffset, wire.NoOffset, nil
}

// gapIsDamage says that records which are missing at the end of a segment were lost, not compacted away. A follower must not be led over
// such a gap. Without other replicas readers go on behind it.
func (p *partition) gapIsDamage() bool {
	return p.replica.Replicated() && !p.log().Config().Compact && p.log().CleanerOffset() == 0
}

// located is what a goroutine found of a plan: its exact range, or why there is none.
type located struct {
	segment *segment.Segment
	at      segment.FetchRange
	err     error
}

// locate makes a plan's range exact: from memory, else by reading batch headers from the page cache, else in the
// background.
func (l *Loop) locate(s *fetchShare, p *fetchPart, plan segment.FetchPlan, file *segmentFile) bool {
	found := located{segment: plan.Segment}
	if s.located != nil && s.located.segment == plan.Segment {
		found = *s.located
	} else if found.at, found.err = plan.Locate(noWaitReader{file.fd}); errors.Is(found.err, segment.ErrWouldBlock) {
		l.locateCold(s, plan, file.retain())
		return false
	}
	switch {
	case errors.Is(found.err, segment.ErrNoBatch) && !p.part.gapIsDamage(): // compaction left a gap at the end of the segment
		s.located, s.from = nil, plan.Segment.NextOffset()
		return l.planPart(s, p)
	case found.err != nil:
		l.node.log.throttled("damage met by a fetch", "partition", p.part.name(), "error", found.err)
		l.node.scrubber.suspect(p.part, plan.Segment.BaseOffset())
		p.fail(wire.KafkaStorageError)
	case found.at.Start < found.at.End:
		p.file, p.position, p.first = file.retain(), int64(found.at.Start), found.at.FirstSize
		p.length = int64(found.at.End - found.at.Start)
		p.hot = plan.StartExact && plan.EndExact && plan.FirstSize > 0 // written a moment ago: memory knows it
	}
	return true
}

func (l *Loop) locateCold(s *fetchShare, plan segment.FetchPlan, file *segmentFile) {
	l.metrics.coldLookups.Inc()
	l.background(func() Message {
		at, err := plan.Locate(file.file)
		file.release()
		return messageFunc(func(*Loop) {
			s.located = &located{plan.Segment, at, err}
			s.plan()
		})
	})
}

// loadIndex reads a sealed segment's index in the background, then goes on with the share.
func (l *Loop) loadIndex(s *fetchShare, part *partition, plan segment.FetchPlan) {
	if len(part.swapping) > 0 {
		part.parked = append(part.parked, s)
		return
	}
	fs := part.dir().fs
	part.named++
	l.background(func() Message {
		index, err := plan.LoadIndex(fs)
		return messageFunc(func(l *Loop) {
			part.named--
			switch {
			case part.stopped != wire.None || !part.has(plan.Segment): // deleted meanwhile: planned again
			case err != nil:
				s.located = &located{err: err}
			default:
				part.log().IndexLoaded(index)
				l.indexes.add(part, plan.Segment, index.Size())
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
	case n < len(b): // at the first page that is not there, more often than at the file's end
		return n, segment.ErrWouldBlock
	}
	return n, nil
}
