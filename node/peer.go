package node

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/wire"
)

// peers are the connections that this node makes to others, over their inter-broker listeners. What is sent to a node goes one
// of two ways: a call, which has an answer and a connection to itself meanwhile, since the other side answers a connection's
// requests one after the other; or a message of the quorum, which has none, and is dropped where too many wait.
//
// All methods may be called from any goroutine.
type peers struct {
	node   *Node
	mu     sync.Mutex
	byAddr map[string]*peer
	closed bool
	// keys prove that this node is one of the cluster's; see proof.go. The start sets them before anything is asked.
	keys proofKeys
	// gone is told of an address whose process was there and is not any more: the connection for messages ended, and its host
	// answers that nobody listens. Any goroutine of this type calls it, once for each connection that ended so.
	gone func(addr string)
}

// peer is one other node, by the address of its listener.
type peer struct {
	peers *peers
	addr  string
	// asked is when somebody last had something to say to it; the mu of peers guards it.
	asked time.Time
	// idle are connections without a call; mu guards it.
	mu     sync.Mutex
	idle   []*peerConn
	closed bool
	// slots bounds the calls under way.
	slots chan struct{}
	// messages wait for the goroutine that sends them; it ends with quit.
	messages chan []byte
	quit     chan struct{}
}

const (
	// peerCallsMax bounds the calls to one node that are under way: what clients ask the controller for, and some of the node's own.
	peerCallsMax = 32
	// peerMessagesMax bounds the quorum's messages to one node that wait. Raft sends again what was lost; a leader pipelines some
	// 256 of them to a follower.
	peerMessagesMax = 1024
	// peerDialTimeout bounds the making of a connection, peerWriteTimeout how long a message may take to be written.
	peerDialTimeout, peerWriteTimeout = 2 * time.Second, 5 * time.Second
	// peerBackoffMin and peerBackoffMax are the shortest and longest waits before a node is dialled again that does not answer.
	peerBackoffMin, peerBackoffMax = 50 * time.Millisecond, time.Second
	// peerIdleMax is how long an unused connection is kept; connections.max.idle.ms of the other side is ten minutes by default.
	peerIdleMax = time.Minute
	// peerForgotten is after how long an address that nobody asks for is one that no node has any more, when there is a new one.
	peerForgotten = 10 * time.Minute
	// peersMax bounds the addresses, each of which has a goroutine and 14 KiB: far more than a cluster has nodes. Whoever sends a message
	// of the quorum names an address for the answer, and may name a new one each time.
	peersMax = 512
)

// errPeersClosed ends a call that the node's stop has overtaken.
var errPeersClosed = errors.New("node: the connections to other nodes are closed")

// errPeersFull refuses what is for an address too many.
var errPeersFull = fmt.Errorf("node: %d other addresses were asked for in the last %s", peersMax, peerForgotten)

func newPeers(n *Node, gone func(addr string)) *peers {
	return &peers{node: n, byAddr: make(map[string]*peer), gone: gone}
}

// of is the peer of an address. Errors: errPeersClosed once the node stops, errPeersFull.
func (ps *peers) of(addr string) (*peer, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		return nil, errPeersClosed
	}
	p, now := ps.byAddr[addr], time.Now()
	if p == nil {
		if ps.forget(now); len(ps.byAddr) >= peersMax {
			return nil, errPeersFull
		}
		p = &peer{
			peers: ps, addr: addr, slots: make(chan struct{}, peerCallsMax),
			messages: make(chan []byte, peerMessagesMax), quit: make(chan struct{}),
		}
		ps.byAddr[addr] = p
		go p.sendMessages()
	}
	p.asked = now
	return p, nil
}

// forget ends the connections to addresses that nobody has asked for in a long time: nodes go, and come back at other ones.
func (ps *peers) forget(now time.Time) {
	for addr, p := range ps.byAddr {
		if now.Sub(p.asked) > peerForgotten {
			p.close()
			delete(ps.byAddr, addr)
		}
	}
}

// close ends every connection; calls under way fail.
func (ps *peers) close() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		return
	}
	ps.closed = true
	for _, p := range ps.byAddr {
		p.close()
	}
}

// call sends a request of Kafka's protocol and gives its response, of the request's version.
func (ps *peers) call(addr string, req kmsg.Request, timeout time.Duration) (kmsg.Response, error) {
	h := wire.RequestHeader{Key: wire.APIKey(req.Key()), Version: wire.APIVersion(req.GetVersion())}
	body, err := ps.callRaw(addr, h, req.AppendTo(nil), timeout)
	if err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("node: response of %s to %s: %w", addr, h.Key, err)
	}
	return resp, nil
}

// callRaw sends a request and gives the body of its response.
func (ps *peers) callRaw(addr string, h wire.RequestHeader, body []byte, timeout time.Duration) ([]byte, error) {
	p, err := ps.of(addr)
	if err != nil {
		return nil, err
	}
	return p.call(h, body, time.Now().Add(timeout))
}

// send queues a message without an answer; false if too many wait already, or the address is one too many.
func (ps *peers) send(addr string, h wire.RequestHeader, body []byte) bool {
	p, err := ps.of(addr)
	if err != nil {
		return false
	}
	select {
	case p.messages <- appendPeerFrame(nil, h, body):
		return true
	default:
		return false
	}
}

func (p *peer) call(h wire.RequestHeader, body []byte, deadline time.Time) ([]byte, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-timer.C:
		return nil, fmt.Errorf("node: call of %s: %d calls are under way: %w", p.addr, peerCallsMax, errPeerTimeout)
	case <-p.quit:
		return nil, errPeersClosed
	}
	c, reused, err := p.take(deadline)
	if err != nil {
		return nil, err
	}
	answer, err := c.roundTrip(h, body, deadline)
	if reused && errors.Is(err, io.EOF) { // the other side closed it meanwhile, and has seen nothing of the request
		c.close()
		if c, err = p.peers.dial(p.addr, deadline); err != nil {
			return nil, err
		}
		answer, err = c.roundTrip(h, body, deadline)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	p.give(c)
	return answer, nil
}

// errPeerTimeout ends a call that nobody answered in time.
var errPeerTimeout = errors.New("node: no answer in time")

// take gives a connection that nobody uses, a new one if there is none.
func (p *peer) take(deadline time.Time) (c *peerConn, reused bool, err error) {
	p.mu.Lock()
	for len(p.idle) > 0 {
		c = p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if time.Since(c.used) < peerIdleMax {
			p.mu.Unlock()
			return c, true, nil
		}
		c.close()
	}
	p.mu.Unlock()
	c, err = p.peers.dial(p.addr, deadline)
	return c, false, err
}

func (p *peer) give(c *peerConn) {
	c.used = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.close()
		return
	}
	p.idle = append(p.idle, c)
}

func (p *peer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	close(p.quit)
	for _, c := range p.idle {
		c.close()
	}
	p.idle = nil
}

// sendMessages is the goroutine that writes the messages, over a connection of its own that it makes again when it breaks.
func (p *peer) sendMessages() {
	var c *peerConn
	defer func() {
		if c != nil {
			c.close()
		}
	}()
	backoff := peerBackoffMin
	for {
		select {
		case <-c.ended():
			c.close()
			c = p.again()
		case frame := <-p.messages:
			var err error
			if c == nil {
				if c, err = p.peers.dial(p.addr, time.Now().Add(peerDialTimeout)); err == nil {
					c.watch()
				}
			}
			if err == nil {
				err = c.write(frame, time.Now().Add(peerWriteTimeout))
			}
			if err == nil {
				backoff = peerBackoffMin
				continue
			}
			if c != nil {
				c.close()
				c = nil
			}
			p.drop()
			if !p.pause(backoff) {
				return
			}
			backoff = min(2*backoff, peerBackoffMax)
		case <-p.quit:
			return
		}
	}
}

// again makes the connection for messages anew that the other side has ended; nil if it cannot be made. A node that was killed refuses it: who
// relies on that node need not wait until its silence tells.
func (p *peer) again() *peerConn {
	for range peerAgain {
		c, err := p.peers.dial(p.addr, time.Now().Add(peerBackoffMax))
		switch {
		case err == nil:
			c.watch()
			return c
		case errors.Is(err, unix.ECONNREFUSED):
			p.peers.gone(p.addr)
			return nil
		case !p.pause(peerBackoffMin):
			return nil
		}
	}
	return nil
}

// peerAgain is how often a connection that ended is made anew before messages have to ask for it.
const peerAgain = 3

// drop forgets the messages that wait: what they say is old by the time that the node is reached again.
func (p *peer) drop() {
	for {
		select {
		case <-p.messages:
		default:
			return
		}
	}
}

func (p *peer) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.quit:
		return false
	}
}

// peerConn is one connection to another node; one goroutine uses it at a time.
type peerConn struct {
	conn        net.Conn
	in          *bufio.Reader
	correlation wire.CorrelationID
	used        time.Time
	// over is closed when the other side has ended a connection that is watched; nil otherwise.
	over chan struct{}
}

// watch has ended tell when the other side ends a connection over which nothing ever comes back.
func (c *peerConn) watch() {
	c.over = make(chan struct{})
	go func() {
		_, _ = c.conn.Read(make([]byte, 1))
		close(c.over)
	}()
}

// ended is closed when the other side has ended the connection; nil for no connection.
func (c *peerConn) ended() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.over
}

// dial makes a connection to another node, and has both prove that they are nodes of one cluster where this one has keys for that.
func (ps *peers) dial(addr string, deadline time.Time) (*peerConn, error) {
	c, err := dialPeer(addr, deadline)
	if err != nil || len(ps.keys) == 0 {
		return c, err
	}
	if err := ps.prove(c, addr, deadline); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func dialPeer(addr string, deadline time.Time) (*peerConn, error) {
	d := net.Dialer{Deadline: earlier(deadline, time.Now().Add(peerDialTimeout))}
	conn, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("node: connect to %s: %w", addr, err)
	}
	return &peerConn{conn: conn, in: bufio.NewReader(conn)}, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (c *peerConn) close() { _ = c.conn.Close() }

// peerResponseBytesMax bounds a response: a Forward of a DescribeConfigs, or a batch of records of a replica's fetch.
const peerResponseBytesMax = 128 << 20

// roundTrip sends a request and reads its response's body. After an error the connection is of no more use; io.EOF says that the
// other side closed it before the first byte of a response.
func (c *peerConn) roundTrip(h wire.RequestHeader, body []byte, deadline time.Time) ([]byte, error) {
	c.correlation++
	h.CorrelationID = c.correlation
	if err := c.write(appendPeerFrame(nil, h, body), deadline); err != nil {
		return nil, err
	}
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(c.in, length[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > peerResponseBytesMax {
		return nil, fmt.Errorf("node: response of %s: %d bytes", c.conn.RemoteAddr(), size)
	}
	frame := make([]byte, size)
	if _, err := io.ReadFull(c.in, frame); err != nil {
		return nil, fmt.Errorf("node: response of %s: %w", c.conn.RemoteAddr(), err)
	}
	header := len(wire.AppendResponseHeader(nil, h.Key, h.Version, 0))
	if len(frame) < header || wire.CorrelationID(binary.BigEndian.Uint32(frame)) != h.CorrelationID {
		return nil, fmt.Errorf("node: response of %s: not of request %d", c.conn.RemoteAddr(), h.CorrelationID)
	}
	return frame[header:], nil
}

func (c *peerConn) write(frame []byte, deadline time.Time) error {
	if err := c.conn.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err := c.conn.Write(frame)
	return err
}

// peerClientID is the client id of what nodes send to each other.
var peerClientID = []byte("ringmill")

// appendPeerFrame appends a whole request: length, header, body.
func appendPeerFrame(dst []byte, h wire.RequestHeader, body []byte) []byte {
	start := len(dst)
	if h.ClientID == nil {
		h.ClientID = peerClientID
	}
	dst = wire.AppendRequestHeader(append(dst, 0, 0, 0, 0), h)
	return sealFrame(append(dst, body...), start)
}
