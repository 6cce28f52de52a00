package node

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// dispatch takes up one request. frame lies in buf and is valid until dispatch returns, or for as long as the request
// holds a reference to buf.
func (c *Conn) dispatch(frame []byte, buf *buffer) {
	h, body, err := wire.ReadRequestHeader(frame)
	if err != nil {
		c.refuse("malformed request header", "error", err)
		return
	}
	c.noteClientID(h.ClientID)
	c.loop.metrics.request(h.Key)
	served, known := api.Served(h.Key)
	switch {
	case !known:
		c.refuse("request kind is not served", "key", int16(h.Key), "version", int16(h.Version))
	case !served.Contains(h.Version) && h.Key != wire.KeyApiVersions:
		c.refuseVersion(h, body, served)
	case h.Key == wire.KeyProduce:
		began := c.clock()
		if c.loop.serveProduce(c, h, body, buf, len(frame)) {
			c.noteTime(began)
		}
	case h.Key == wire.KeyFetch:
		began := c.clock()
		c.loop.serveFetch(c, h, body)
		c.noteTime(began)
	default:
		c.callCold(h, body, buf)
	}
}

// noteClientID keeps the client's id for log lines; it rarely changes, so it is rarely copied.
func (c *Conn) noteClientID(id []byte) {
	if c.client.ID != string(id) {
		c.client.ID = string(id)
	}
}

// refuseVersion answers a version that is not served in its own schema where that can carry an error, so that the
// client says more than "end of file", and logs what would help.
func (c *Conn) refuseVersion(h wire.RequestHeader, body []byte, served wire.VersionRange) {
	answer, ok := api.Unsupported(h, body)
	if !ok {
		c.refuse("version is not served", "api", served.Name, "version", int16(h.Version), "min", int16(served.Min), "max", int16(served.Max), "cure", api.VersionCure(h))
		return
	}
	c.loop.node.log.throttled("version is not served: "+served.Name, "peer", c.client.Host, "client", c.client.ID, "software", c.client.Software,
		"version", int16(h.Version), "min", int16(served.Min), "max", int16(served.Max), "cure", api.VersionCure(h))
	r := c.begin(h)
	r.answer = appendFrame(r.answer[:0], h, answer)
	c.loop.complete(r)
}

// appendFrame appends a whole response: length, header, body.
func appendFrame(dst []byte, h wire.RequestHeader, body []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = wire.AppendResponseHeader(dst, h.Key, h.Version, h.CorrelationID)
	dst = append(dst, body...)
	return sealFrame(dst, start)
}

// sealFrame writes the length of the frame that begins at start.
func sealFrame(dst []byte, start int) []byte {
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

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
	call := &coldCall{pending: c.begin(h)}
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
	size := len(req.Body)
	n.limitDecode(size)
	decoded := sync.OnceFunc(func() { n.endDecode(size) })
	defer decoded()
	charged := call.charged > 0
	var broker api.Broker = coldBroker{n, func() {
		decoded()
		if charged {
			l.send(messageFunc(func(l *Loop) { l.endColdBody(call) }))
		}
	}}
	if grows(req.Header.Key) {
		select {
		case call.buffer = <-n.growing:
			call.growing = true
		case <-n.quit:
			return nil, errStopping
		}
	}
	if call.timed {
		broker = n.timed(broker, req)
	}
	frame := wire.AppendResponseHeader(append(call.buffer, 0, 0, 0, 0), req.Header.Key, req.Header.Version, req.Header.CorrelationID)
	frame, err := api.Answer(frame, broker, req)
	if err != nil {
		return nil, err
	}
	if call.growing {
		call.buffer = frame
		frame = bytes.Clone(frame)
	}
	return sealFrame(frame, 0), nil
}

// coldBroker is the node as one cold call sees it: taken is called once a coordinator has the request.
type coldBroker struct {
	*Node
	taken func()
}

// Coordinate has the coordinator of a group answer req.
func (b coldBroker) Coordinate(id string, client api.Client, req kmsg.Request) kmsg.Response {
	return b.coordinate(id, client, req, b.taken)
}

// errStopping ends a call that the node's stop has overtaken.
var errStopping = errors.New("node: stopping")

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
	if err != nil {
		if !c.closing {
			c.refuse("malformed request", "api", h.Key.String(), "version", int16(h.Version), "error", err)
		}
		call.pending.silent = true
		l.complete(call.pending)
		return
	}
	if call.request.Client.Software != "" {
		c.client.Software = call.request.Client.Software
	}
	call.pending.answer = frame
	c.mute(call.request.ThrottleMS)
	l.complete(call.pending)
}
