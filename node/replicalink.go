package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// replicaLink is a replicator's goroutine and connection: it sends one request at a time, and hands what comes of it to the loop.
type replicaLink struct {
	replicator *replicator
	node       *Node
	conn       *peerConn
	addr       string
	// failures counts how often the leader could not be asked since it could.
	failures int
}

func newReplicaLink(r *replicator) *replicaLink {
	return &replicaLink{replicator: r, node: r.loop.node}
}

// run ends when the loop does.
func (k *replicaLink) run() {
	defer k.disconnect()
	for request := range k.requests() {
		answer, err := k.exchange(request)
		if err != nil {
			k.disconnect()
			k.rest()
		} else {
			k.failures = 0
		}
		if k.node.hasStopped() {
			continue
		}
		k.replicator.loop.send(messageFunc(func(*Loop) { k.replicator.take(answer, err) }))
	}
}

func (k *replicaLink) requests() <-chan replicaRequest { return k.replicator.requests }

// rest waits before a leader is asked again that could not be, longer each time.
func (k *replicaLink) rest() {
	pause := min(replicaBackoffMin<<min(k.failures, 16), time.Duration(k.node.Config().ReplicaFetchBackoffMS)*time.Millisecond)
	k.failures++
	k.node.sleep(pause)
}

func (k *replicaLink) disconnect() {
	if k.conn != nil {
		k.conn.close()
		k.conn = nil
	}
}

// exchange sends a request and gives the body of its answer, in the request's memory if that is large enough.
func (k *replicaLink) exchange(request replicaRequest) ([]byte, error) {
	addr, err := k.node.peerAddress(k.replicator.leader)
	if err != nil {
		return nil, err
	}
	if k.conn != nil && addr != k.addr { // it has registered anew, elsewhere
		k.disconnect()
	}
	deadline := time.Now().Add(k.patience())
	if k.conn == nil {
		if k.conn, err = k.node.cluster.peers.dial(addr, deadline); err != nil {
			return nil, err
		}
		k.addr = addr
	}
	k.conn.correlation++
	h := wire.RequestHeader{Key: wire.KeyFetch, Version: replicaFetchVersion, CorrelationID: k.conn.correlation}
	if err := k.conn.write(appendPeerFrame(nil, h, request.body), deadline); err != nil {
		return nil, err
	}
	return k.receive(deadline, request.memory)
}

// patience is how long a leader may take: it waits for records by itself, and a socket that is stuck is given up.
func (k *replicaLink) patience() time.Duration {
	cfg := k.node.Config()
	return time.Duration(cfg.ReplicaFetchWaitMS)*time.Millisecond + replicaSocketPatience
}

// replicaSocketPatience is Kafka's default of replica.socket.timeout.ms.
const replicaSocketPatience = 30 * time.Second

func (k *replicaLink) receive(deadline time.Time, memory []byte) ([]byte, error) {
	c := k.conn
	if err := c.conn.SetReadDeadline(deadline); err != nil {
		return nil, err
	}
	var head [responseHeadBytes]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:])) - (responseHeadBytes - 4)
	switch {
	case wire.CorrelationID(binary.BigEndian.Uint32(head[4:])) != c.correlation:
		return nil, errors.New("node: an answer to another request")
	case size < 0 || size > peerResponseBytesMax:
		return nil, fmt.Errorf("node: an answer of %d bytes", size)
	}
	body := roomFor(memory, int(size))
	_, err := io.ReadFull(c.in, body)
	return body, err
}

// responseHeadBytes are the length, the correlation id and the empty tags of a Fetch's answer.
const responseHeadBytes = 9

// peerAddress is where another node is reached, by its registration.
func (n *Node) peerAddress(id wire.NodeID) (string, error) {
	b := n.Image().Broker(id)
	if b == nil {
		return "", fmt.Errorf("node: node %d is not registered", id)
	}
	name := n.interBroker().name
	for _, e := range b.Endpoints {
		if e.Listener == name {
			return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), nil
		}
	}
	return "", fmt.Errorf("node: node %d has no listener %s", id, name)
}
