package node

import (
	"encoding/binary"

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
		c.loop.serveProduce(c, h, body, buf)
	case h.Key == wire.KeyFetch:
		c.loop.serveFetch(c, h, body)
	default:
		c.callCold(h, body)
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
}

// callCold hands a request to a goroutine and reads no further one of this connection until it is answered.
func (c *Conn) callCold(h wire.RequestHeader, body []byte) {
	if len(body) > coldBytesMax {
		c.refuse("request is too long for its kind", "api", h.Key.String(), "bytes", len(body), "max", coldBytesMax)
		return
	}
	c.serial = true
	call := &coldCall{pending: c.begin(h)}
	call.request = api.Request{Header: h, Body: append([]byte(nil), body...), Client: c.client}
	call.request.Header.ClientID = []byte(c.client.ID)
	go c.loop.node.serveCold(c.loop, call)
}

// coldBytesMax bounds a cold request: kmsg's decoded form was measured up to 32 times as large, and the
// largest honest ones, a SyncGroup of 7,000 members or a Metadata of 20,000 topics, stay below 2 MiB.
const coldBytesMax = 4 << 20

// serveCold answers one request; it runs in its own goroutine.
func (n *Node) serveCold(l *Loop, call *coldCall) {
	defer n.recoverCold(l, call)
	h := call.request.Header
	answer, err := n.answerCold(&call.request)
	l.send(messageFunc(func(l *Loop) { l.finishCold(call, h, answer, err) }))
}

func (n *Node) answerCold(req *api.Request) ([]byte, error) {
	n.limitDecode(len(req.Body))
	defer n.endDecode(len(req.Body))
	return api.Answer(n, req)
}

func (l *Loop) finishCold(call *coldCall, h wire.RequestHeader, answer []byte, err error) {
	c := call.pending.conn
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
	call.pending.answer = appendFrame(call.pending.answer[:0], h, answer)
	l.complete(call.pending)
}
