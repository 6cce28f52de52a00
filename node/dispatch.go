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
	if peerKey(h.Key) {
		c.servePeer(h, body, buf)
		return
	}
	served, known := api.Served(h.Key)
	switch {
	case api.InCluster(h.Key) && c.loop.node.cluster == nil, !known:
		c.refuse("request kind is not served", "key", int16(h.Key), "version", int16(h.Version))
	case c.loop.node.early(h.Key):
		c.close() // whoever sends these knows the node from before, and tries again
	case api.BetweenNodes(h.Key) && !c.proven():
		c.refuseUnproven(h)
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
