package node

import (
	"bytes"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// coldCall is a request that a goroutine answers: everything but Produce and Fetch. A connection has one under way at
// most, as with Apache Kafka, so connections bound the goroutines.
type coldCall struct {
	pending *pending
	request api.Request
	// charged is what of the loop's request memory the body counts for; the loop's.
	charged int
	// growing says that the call has a turn of Node.growing, with this buffer.
	growing bool
	buffer  []byte
	// timed says that the client is charged with the time that the answer takes.
	timed bool
	// gone is closed when the connection is: what the call waits for may be minutes away, and its answer is for nobody.
	gone chan struct{}
}

// callCold hands a request to a goroutine and reads no further one of this connection until it is answered.
func (c *Conn) callCold(h wire.RequestHeader, body []byte, buf *buffer) {
	if len(body) > coldBytesMax {
		c.refuse("request is too long for its kind", "api", h.Key.String(), "bytes", len(body), "max", coldBytesMax)
		return
	}
	c.serial = true
	if h.Key == wire.KeyShareFetch && !c.shares {
		c.shares = true
		c.loop.node.shares.connected(c.client.Connection)
	}
	call := &coldCall{pending: c.begin(h), gone: make(chan struct{})}
	c.cold = call
	if buf.provided < 0 { // what lay in a provided buffer is short
		call.charged = len(body)
		c.loop.slabs.copied += call.charged
	}
	call.request = api.Request{Header: h, Body: append([]byte(nil), body...), Client: c.client}
	call.request.Header.ClientID = []byte(c.client.ID)
	if !exemptFromTime(h.Key) {
		call.timed = c.loop.node.quotas.any(quotaRequest)
	}
	go c.loop.node.serveCold(c.loop, call)
}

// coldBytesMax bounds a cold request: kmsg's decoded form was measured up to 32 times as large, and the
// largest honest ones, a SyncGroup of 7,000 members or a Metadata of 20,000 topics, stay below 2 MiB.
const coldBytesMax = 4 << 20

// serveCold answers one request; it runs in its own goroutine.
func (n *Node) serveCold(l *Loop, call *coldCall) {
	defer n.recoverCold(l, call)
	frame, err := n.answerCold(l, call)
	l.send(messageFunc(func(l *Loop) { l.finishCold(call, frame, err) }))
}

// answerCold makes the response's frame. What a request is decoded to counts until it is answered or its group's coordinator has
// taken what it needs of it: that one may wait for other clients' requests, which must be decoded meanwhile.
func (n *Node) answerCold(l *Loop, call *coldCall) ([]byte, error) {
	req := &call.request
	if err := n.awaitServing(req.Header.Key, call.gone); err != nil {
		return nil, err
	}
	size := len(req.Body)
	n.decoding.begin(size)
	decoded := sync.OnceFunc(func() { n.decoding.end(size) })
	defer decoded()
	charged := call.charged > 0
	var broker api.Broker = coldBroker{Node: n, gone: call.gone, taken: func() {
		decoded()
		if charged {
			l.send(messageFunc(func(l *Loop) { l.endColdBody(call) }))
		}
	}}
	if grows(req.Header.Key) {
		select {
		case call.buffer = <-n.growing:
			call.growing = true
		case <-call.gone:
			return nil, errGone
		case <-n.quit:
			return nil, errStopping
		}
	}
	if call.timed {
		broker = n.timed(broker, req)
	}
	frame := wire.AppendResponseHeader(append(call.buffer, 0, 0, 0, 0), req.Header.Key, req.Header.Version, req.Header.CorrelationID)
	if peerKey(req.Header.Key) {
		return sealFrame(append(frame, n.answerPeer(req.Header, req.Body)...), 0), nil
	}
	frame, err := n.answer(frame, broker, req, call.gone)
	if err != nil {
		return nil, err
	}
	if call.growing {
		call.buffer = frame
		frame = bytes.Clone(frame)
	}
	return sealFrame(frame, 0), nil
}

// answer has a request answered here, or by the controller where that is its to do.
func (n *Node) answer(frame []byte, broker api.Broker, req *api.Request, gone <-chan struct{}) ([]byte, error) {
	if n.cluster != nil && api.ForController(req.Header.Key) && !api.HereAlone(req) {
		return n.cluster.answerOrForward(frame, broker, req, gone)
	}
	return api.Answer(frame, broker, req)
}

// coldBroker is the node as one cold call sees it: taken is called once a coordinator has the request, and waits that only the
// client wants end when gone is closed.
type coldBroker struct {
	*Node
	taken func()
	gone  <-chan struct{}
}

// Coordinate has the coordinator of a group answer req.
func (b coldBroker) Coordinate(id string, client api.Client, req kmsg.Request) kmsg.Response {
	return b.coordinate(id, client, req, b.taken, b.gone)
}

// ShareFetch answers a member of a share group.
func (b coldBroker) ShareFetch(client api.Client, req *kmsg.ShareFetchRequest) *kmsg.ShareFetchResponse {
	return b.shareFetch(client, req, b.gone)
}

var (
	// errStopping ends a call that the node's stop has overtaken.
	errStopping = errors.New("node: stopping")
	// errGone ends a call whose connection is closed.
	errGone = errors.New("node: the connection is closed")
)

// endColdBody takes back what a cold request's body is charged with.
func (l *Loop) endColdBody(call *coldCall) {
	if call.charged > 0 {
		l.slabs.copied -= call.charged
		l.freed = true
		call.charged = 0
	}
}

func (l *Loop) finishCold(call *coldCall, frame []byte, err error) {
	l.endColdBody(call)
	if call.growing {
		l.node.growing.end(call.buffer)
	}
	h, c := call.request.Header, call.pending.conn
	c.cold = nil
	if err != nil {
		switch {
		case c.closing:
		case errors.Is(err, errNotServing):
			c.close()
		default:
			c.refuse("malformed request", "api", h.Key.String(), "version", int16(h.Version), "error", err)
		}
		call.pending.silent = true
		l.complete(call.pending)
		return
	}
	if call.request.Client.Software != "" {
		c.client.Software = call.request.Client.Software
	}
	call.pending.answer, call.pending.throttleMS = frame, call.request.ThrottleMS
	c.mute(call.request.ThrottleMS)
	l.complete(call.pending)
}

// recoverCold keeps a fault in one handler from taking the node: the client is disconnected, the fault is logged with
// its stack. While the node stops, handlers fail because their coordinators are gone, which is no fault.
func (n *Node) recoverCold(l *Loop, call *coldCall) {
	fault := recover()
	if fault == nil {
		return
	}
	if !n.stopping.Load() {
		slog.Error("BUG in a handler", "api", call.request.Header.Key.String(), "version", int16(call.request.Header.Version), "fault", fault, "stack", string(debug.Stack()))
	}
	l.send(messageFunc(func(l *Loop) { l.finishCold(call, nil, errHandler) }))
}

// errHandler closes the connection of a client whose request met a fault.
var errHandler = errors.New("the handler failed")
