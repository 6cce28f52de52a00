package node

import (
	"time"

	"github.com/ringmill/ringmill/wire"
)

// pending is one request under way: its place in the order of answers, and the answer once it is there.
type pending struct {
	conn    *Conn
	key     wire.APIKey
	version wire.APIVersion
	corr    wire.CorrelationID
	// done says that the answer is in answer; silent, that there is none to send (acks 0).
	done, silent bool
	// answer is the whole response frame, unless ranges interleave file bytes.
	answer []byte
	ranges []fileRange
	// throttleMS is how long the client is told to wait.
	throttleMS int32
	times      requestTimes
}

// pipeline is a connection's requests under way, oldest first.
type pipeline struct {
	items []*pending
	head  int
}

func (p *pipeline) len() int        { return len(p.items) - p.head }
func (p *pipeline) front() *pending { return p.items[p.head] }

func (p *pipeline) push(r *pending) {
	if p.head >= inFlightMax || p.head == len(p.items) { // one that is never empty slides down
		n := copy(p.items, p.items[p.head:])
		clear(p.items[n:])
		p.items, p.head = p.items[:n], 0
	}
	p.items = append(p.items, r)
}

// drop frees what the answers hold that wait for one before them.
func (p *pipeline) drop() {
	for _, r := range p.items[p.head:] {
		if r.done {
			dropRanges(r.ranges)
			r.ranges = nil
		}
	}
}

func (p *pipeline) pop() *pending {
	r := p.items[p.head]
	p.items[p.head] = nil
	p.head++
	return r
}

// begin puts a request into the connection's pipeline.
func (c *Conn) begin(h wire.RequestHeader) *pending {
	r := c.loop.takePending()
	r.conn, r.key, r.version, r.corr = c, h.Key, h.Version, h.CorrelationID
	r.times.row = stageRowOf(h.Key)
	r.times.passed, r.times.spent[stageReceived] = 1<<stageReceived, c.in.took
	r.times.arrived, r.times.reached = c.in.arrived, c.in.arrived
	r.times.took(stageQueued, c.loop.instant)
	c.pipeline.push(r)
	return r
}

// complete marks r answered and sends what is due in order. If the connection is gone the answer is dropped.
func (l *Loop) complete(r *pending) {
	r.done = true
	c := r.conn
	l.answered(r)
	if c.closing {
		dropRanges(r.ranges)
		return
	}
	if !r.silent {
		c.hold(len(r.answer))
	}
	for c.pipeline.len() > 0 && c.pipeline.front().done {
		l.sendAnswer(c, c.pipeline.pop())
	}
	c.serial = c.serial && c.pipeline.len() > 0
	c.consume()
}

// answered records the stages that a request passed until its answer was ready.
func (l *Loop) answered(r *pending) {
	t := &r.times
	if t.row == noStageRow {
		return
	}
	if t.row.handled() {
		t.took(stageHandled, l.instant)
	}
	if r.throttleMS > 0 {
		t.passed, t.spent[stageThrottled] = t.passed|1<<stageThrottled, time.Duration(r.throttleMS)*time.Millisecond
	}
	if r.silent {
		t.passed, t.spent[stageTotal] = t.passed|1<<stageTotal, t.reached-t.arrived
	}
	l.stages.answered(t)
}

func (l *Loop) sendAnswer(c *Conn, r *pending) {
	if !r.silent {
		if c.out.append(l, r.answer, r.ranges) {
			r.answer = nil
		}
		c.out.mark(&r.times)
		c.activate()
	}
	l.givePending(r)
}

// pendingFreeMax bounds the requests that a loop keeps for reuse.
const pendingFreeMax = 1024

func (l *Loop) takePending() *pending {
	if n := len(l.freePending); n > 0 {
		r := l.freePending[n-1]
		l.freePending = l.freePending[:n-1]
		return r
	}
	return &pending{}
}

func (l *Loop) givePending(r *pending) {
	answer := r.answer
	if cap(answer) > 4<<10 {
		answer = nil
	}
	clear(r.ranges)
	*r = pending{answer: answer[:0], ranges: r.ranges[:0]}
	if len(l.freePending) < pendingFreeMax {
		l.freePending = append(l.freePending, r)
	}
}
