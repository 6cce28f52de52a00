package node

import (
	"sync/atomic"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// recordReaders bounds the requests whose compressed records are read at once: each holds up to wire.DecompressedMax, and
// more of them than this machine has loops to spare would only take their CPU.
const recordReaders = 2

// recordReading is a Produce whose records are being read: a header alone does not tell what its topic's rules need.
type recordReading struct {
	request *produceRequest
	// gone is set when the connection closes: the rest need not be read.
	gone atomic.Bool
}

// readRecords has a goroutine read the compressed records of a request, if any of its batches needs that, and says
// whether it does: a few kilobytes may unfold to 64 MiB, which is nothing for a loop. Until it is done no further request of
// the connection is taken up, so that a producer's batches keep their order.
func (l *Loop) readRecords(req *produceRequest) bool {
	unread := false
	for i := range req.items {
		unread = unread || req.items[i].unread
	}
	if !unread {
		return false
	}
	c := req.pending.conn
	reading := &recordReading{request: req}
	c.serial, c.reading = true, reading
	l.spawn(func() Message {
		l.node.recordReaders <- struct{}{}
		defer func() { <-l.node.recordReaders }()
		reading.read()
		return messageFunc(func(l *Loop) { l.recordsRead(reading) })
	})
	return true
}

// read runs in the goroutine; until it is done the items are its own.
func (r *recordReading) read() {
	for i := range r.request.items {
		item := &r.request.items[i]
		switch {
		case !item.unread:
		case r.gone.Load():
			item.result.Code = wire.NetworkException
		default:
			item.fail(api.CheckRecords(item.batch, item.rules))
		}
	}
}

// recordsRead sends the items on their way and lets the connection go on.
func (l *Loop) recordsRead(r *recordReading) {
	c := r.request.pending.conn
	c.serial, c.reading = false, nil
	r.request.pending.times.took(stageHandled, l.instant)
	l.sendItems(r.request)
	c.consume()
}
