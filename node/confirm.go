package node

import (
	"github.com/ringmill/ringmill/wire"
)

// A controller that is cut off from the others does not know so before its quorum's clock says it (check-quorum); until then its image may lack
// what another one has decided. A decision that leaves records is answered when the quorum has them, and so is right. Any other answer that
// is made of the image, above all a refusal, is held back until the others have confirmed that this node is still the controller, at a
// moment after the request came. Where something that the node has proposed since then is committed, that is confirmed already.
//
//	mark ─▶ look at the image ─▶ records: propose ─▶ applied ──────────────▶ answer
//	                         └─▶ none:    Confirm ─▶ heartbeats answered ──▶ answer
//
// A heartbeat that is answered as the one before is not held back: a hundred nodes' would have a hundred heartbeats of the quorum sent to each.

// confirmation is a question to the other members, and who waits for its answer.
type confirmation struct {
	number  uint64
	waiting []func(wire.ErrorCode)
}

// mark is a point in the order of what this node proposes and asks of the quorum; on any goroutine. See confirm.
func (s *quorumService) mark() uint64 { return s.controller.numbered.Load() }

// confirm waits until the quorum has confirmed that this node was the controller at some moment after mark. NOT_CONTROLLER: it may be none.
func (c *cluster) confirm(mark uint64) wire.ErrorCode {
	control := &c.quorum.controller
	if control.confirmed.Load() > mark {
		return wire.None
	}
	return c.awaitCode(func(then func(wire.ErrorCode)) {
		c.quorum.inbox.put(func() { control.confirm(mark, then) })
	})
}

// confirm takes a question that is asked of the others at the end of the turn, once for all of it.
func (c *controllerService) confirm(mark uint64, then func(wire.ErrorCode)) {
	switch {
	case c.confirmed.Load() > mark:
		then(wire.None)
	case c.logic == nil:
		then(wire.NotController)
	default:
		c.asking = append(c.asking, then)
	}
}

// ask asks the others whether this node is still the controller, if somebody waits for that.
func (c *controllerService) ask() {
	if len(c.asking) == 0 {
		return
	}
	q := confirmation{number: c.numbered.Add(1), waiting: c.asking}
	c.asking = nil
	if err := c.quorum.q.Confirm(q.number); err != nil { // the end of this reign is on its way
		q.answer(wire.NotController)
		return
	}
	c.confirming = append(c.confirming, q)
}

// affirmed takes the number of the newest question that was answered, or of a proposal that was committed, in this reign.
func (c *controllerService) affirmed(number uint64) {
	if number > c.confirmed.Load() {
		c.confirmed.Store(number)
	}
	for len(c.confirming) > 0 && c.confirming[0].number <= number {
		q := c.confirming[0]
		c.confirming = c.confirming[1:]
		q.answer(wire.None)
	}
}

func (q confirmation) answer(code wire.ErrorCode) {
	for _, then := range q.waiting {
		then(code)
	}
}
