package node

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
)

// fileRange is record bytes that go out from a segment file between the bytes of an answer: after the answer's byte
// at. Whoever holds one holds a reference to file.
type fileRange struct {
	at     int
	file   *segmentFile
	offset int64
	length int64
	// hot says that the range is known to be in the page cache: it was written by this node a moment ago.
	hot bool
}

func dropRanges(ranges []fileRange) {
	for i := range ranges {
		ranges[i].file.release()
	}
}

// transmit is a connection's sending side: bytes from memory, and file ranges between them, sent inline without
// blocking; what a socket does not take waits for POLLOUT.
type transmit struct {
	mem    []byte
	sent   int
	ranges []fileRange
	// blocked waits for the socket, reading for a cold range; queued says that the connection is in Loop.active.
	blocked, reading, queued bool
	// scratch is the buffer of the cold read under way, coldFile a reference to what it reads; warm is how many bytes
	// of the first range the last one brought in.
	scratch  []byte
	coldFile *segmentFile
	warm     int64
	// appended are the bytes that were ever to be sent, handed those that the socket took; marks are where among them the answers
	// end that it does not have yet.
	appended, handed int64
	marks            []sentMark
}

// sentMark is where answers end, and since when they could have been sent.
type sentMark struct {
	end            int64
	arrived, ready time.Duration
	row            stageRow
	answers        int32
}

// sentMarksMax bounds the marks of a connection that does not read its answers: further ones count as sent with the last, and those of
// another kind of request not at all.
const sentMarksMax = 64

// mark notes that the answer to r ends here.
func (t *transmit) mark(r *requestTimes) {
	if r.row == noStageRow {
		return
	}
	if n := len(t.marks); n == sentMarksMax {
		if last := &t.marks[n-1]; last.row == r.row {
			last.end = t.appended
			last.answers++
		}
		return
	}
	t.marks = append(t.marks, sentMark{end: t.appended, arrived: r.arrived, ready: r.reached, row: r.row, answers: 1})
}

// marksKeep is how many marks a connection without answers has room for.
const marksKeep = 4

// stampSent records the answers that the sockets of these connections have taken, with one reading of the clock.
func (l *Loop) stampSent(conns []*Conn) {
	l.readInstant()
	l.unstamped = 0
	for _, c := range conns {
		t := &c.out
		done := 0
		for done < len(t.marks) && t.marks[done].end <= t.handed {
			l.stages.sent(&t.marks[done], l.instant)
			done++
		}
		if t.marks = t.marks[:copy(t.marks, t.marks[done:])]; len(t.marks) == 0 && cap(t.marks) > marksKeep {
			t.marks = nil
		}
	}
}

// unsent is how many bytes of memory wait; file ranges cost none.
func (t *transmit) unsent() int { return len(t.mem) - t.sent }

func (t *transmit) empty() bool { return t.sent == len(t.mem) && len(t.ranges) == 0 }

// append queues an answer. The ranges' references become t's; taken says that the answer's bytes do too, as a large one's do that
// nothing is before.
func (t *transmit) append(l *Loop, answer []byte, ranges []fileRange) (taken bool) {
	t.appended += int64(len(answer))
	for i := range ranges {
		t.appended += ranges[i].length
	}
	if t.mem == nil && len(answer) > outBufferMax {
		t.mem, t.ranges = answer, append(t.ranges, ranges...)
		return true
	}
	if t.mem == nil {
		t.mem = l.takeOutBuffer()
	}
	t.compact()
	base := len(t.mem)
	t.mem = append(t.mem, answer...)
	for _, r := range ranges {
		r.at += base
		t.ranges = append(t.ranges, r)
	}
	return false
}

// compact moves what is not sent to the front once that costs less than it frees: a client that reads slowly but without
// pause never lets mem run empty.
func (t *transmit) compact() {
	if t.sent < outBufferMax || t.sent < t.unsent() {
		return
	}
	for i := range t.ranges {
		t.ranges[i].at -= t.sent
	}
	t.mem = t.mem[:copy(t.mem, t.mem[t.sent:])]
	t.sent = 0
}

// drop frees what a closed connection did not send.
func (t *transmit) drop(l *Loop) {
	dropRanges(t.ranges)
	t.ranges = nil
	l.giveOutBuffer(t.mem)
	t.mem, t.sent, t.marks = nil, 0, nil
}

// outKeepMax bounds the buffers that a loop keeps for answers under way; outBufferMax their size: an idle connection
// holds none.
const (
	outKeepMax   = 256
	outBufferMax = 64 << 10
)

func (l *Loop) takeOutBuffer() []byte {
	if n := len(l.outBuffers); n > 0 {
		b := l.outBuffers[n-1]
		l.outBuffers = l.outBuffers[:n-1]
		return b
	}
	return make([]byte, 0, 4<<10)
}

func (l *Loop) giveOutBuffer(b []byte) {
	if b != nil && cap(b) <= outBufferMax && len(l.outBuffers) < outKeepMax {
		l.outBuffers = append(l.outBuffers, b[:0])
	}
}

// sendBudget bounds what one connection sends in a turn, so that the others have theirs.
const sendBudget = 512 << 10

// stampBytes is how many bytes may be sent before the clock is read for the answers that they were of: some 10 µs of copying.
const stampBytes = 64 << 10

// flushConns sends for each connection that has something to send; who has more than a turn's share stays active.
func (l *Loop) flushConns() {
	active := l.active
	l.active = l.activeSpare[:0]
	stamped := 0
	for i, c := range active {
		c.out.queued = false
		if !c.closing {
			l.flush(c)
		}
		if l.unstamped >= stampBytes || i == len(active)-1 {
			l.stampSent(active[stamped : i+1])
			stamped = i + 1
		}
	}
	clear(active)
	l.activeSpare = active[:0]
}

// flush sends until the budget, the socket or the bytes end.
func (l *Loop) flush(c *Conn) {
	t := &c.out
	budget := int64(sendBudget)
	for !t.blocked && !t.reading && !t.empty() {
		if budget <= 0 {
			c.activate()
			return
		}
		n, err := l.sendNext(c, budget)
		switch {
		case err == nil:
			budget -= n
			t.handed += n
			l.unstamped += int(n)
			c.lastActive = l.mono
			l.metrics.sent.Add(int(n))
		case errors.Is(err, unix.EAGAIN):
			t.blocked = true
			c.ops++
			l.engine.PollOut(c.token(tokenConnWritable), c.fd)
		case errors.Is(err, errColdRange):
		case errors.Is(err, unix.EINTR):
		default:
			c.close()
			return
		}
	}
	if t.empty() && t.mem != nil {
		l.giveOutBuffer(t.mem)
		t.mem, t.sent = nil, 0
		c.consume()
	}
}

// sendNext sends the next piece: memory up to the next file range, or of that range.
func (l *Loop) sendNext(c *Conn, budget int64) (int64, error) {
	t := &c.out
	limit := len(t.mem)
	if len(t.ranges) > 0 {
		limit = t.ranges[0].at
	}
	if t.sent < limit {
		n, err := iouring.SendNoWait(c.fd, t.mem[t.sent:limit], len(t.ranges) > 0)
		t.sent += max(n, 0)
		c.letGo(max(n, 0))
		return int64(n), err
	}
	return l.sendRange(c, &t.ranges[0], budget)
}

func (l *Loop) sendRange(c *Conn, r *fileRange, budget int64) (int64, error) {
	want := min(r.length, budget)
	if c.out.warm > 0 {
		want = min(want, c.out.warm)
	} else if !r.hot && !l.resident(c, r, want) {
		return 0, errColdRange
	}
	offset := r.offset
	n, err := iouring.Sendfile(c.fd, r.file.fd, &offset, int(want))
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, errShortFile
	}
	c.out.warm = max(c.out.warm-int64(n), 0)
	r.offset += int64(n)
	if r.length -= int64(n); r.length == 0 {
		r.file.release()
		ranges := c.out.ranges
		copy(ranges, ranges[1:])
		ranges[len(ranges)-1] = fileRange{}
		c.out.ranges = ranges[:len(ranges)-1]
	}
	return int64(n), nil
}

// errShortFile means that a segment file ends before a planned range does: it was cut by someone else. The client is
// disconnected; nothing right can be sent under the length that was promised.
var errShortFile = errors.New("node: segment file ends before the planned range")
