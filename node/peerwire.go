package node

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// The bodies of ringmill's own requests, keys 10000 to 10006 (wire.KeyQuorumMessage and those after it). Every body of a request
// begins with the sender's cluster id, empty before it has one, so that what comes from another cluster is refused before anything
// else of it is looked at. Integers are big-endian; texts and bytes have a length of four bytes before them.
//
//	QuorumMessage 0  | cluster | sender int32 | sender's address | from uint64 | to uint64 | message bytes |        no answer
//	Forward 0        | cluster | user | client id | host | of a node byte | port | connection | listener | software | version | key | version | body |
//	    answer       | code int16 | message | image version uint64 | throttle int32 | body bytes |
//	Join 0           | cluster | node int32 | directory uuid | address | rack | version | wall clock int64 | format int16 |
//	    answer       | code int16 | message | cluster | leader's address |
//	Bootstrap 0      | cluster | a message of control/member |
//	    answer       | code int16 | message | a message of control/member |
//	Suspect 0        | cluster | topic uuid | partition int32 | offset int64 |
//	    answer       | code int16 | message |
//	Identify 0       | cluster |
//	    answer       | code int16 | message | node int32 | directory uuid |
//	Prove 0          | cluster | sender int32 | address asked for | nonce bytes | proof bytes |        see proof.go
//	    answer       | code int16 | message | nonce bytes | proof bytes |

// errPeerMessage is of a body that ends early or says something impossible.
var errPeerMessage = errors.New("node: a message of another node cannot be read")

// peerReader reads the fields of a body; bad is set by the first that is not there.
type peerReader struct {
	src []byte
	bad bool
}

func (r *peerReader) take(n int) []byte {
	if n < 0 || n > len(r.src) || r.bad {
		r.bad = true
		return make([]byte, min(max(n, 0), 16))
	}
	b := r.src[:n:n]
	r.src = r.src[n:]
	return b
}

func (r *peerReader) int16() int16 { return int16(binary.BigEndian.Uint16(r.take(2))) }
func (r *peerReader) int32() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *peerReader) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

func (r *peerReader) bytes() []byte {
	n := int(r.int32())
	if r.bad || n < 0 || n > len(r.src) {
		r.bad = true
		return nil
	}
	return r.take(n)
}

func (r *peerReader) text() string { return string(r.bytes()) }

func (r *peerReader) uuid() (id wire.UUID) {
	copy(id[:], r.take(len(id)))
	return id
}

func (r *peerReader) err(what string) error {
	if r.bad {
		return fmt.Errorf("%w: %s", errPeerMessage, what)
	}
	return nil
}

func appendBytes[B ~string | ~[]byte](dst []byte, b B) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// quorumMessage is what one member of the quorum tells another.
type quorumMessage struct {
	cluster  string
	sender   wire.NodeID
	address  string // the sender's, for the answers
	from, to uint64
	data     []byte
}

func (m *quorumMessage) appendTo(dst []byte) []byte {
	dst = appendBytes(dst, m.cluster)
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.sender))
	dst = appendBytes(dst, m.address)
	dst = binary.BigEndian.AppendUint64(dst, m.from)
	dst = binary.BigEndian.AppendUint64(dst, m.to)
	return appendBytes(dst, m.data)
}

func readQuorumMessage(src []byte) (m quorumMessage, err error) {
	r := peerReader{src: src}
	m.cluster, m.sender, m.address = r.text(), wire.NodeID(r.int32()), r.text()
	m.from, m.to, m.data = uint64(r.int64()), uint64(r.int64()), r.bytes()
	return m, r.err("QuorumMessage")
}

// forwardRequest is a client's request on its way to the controller.
type forwardRequest struct {
	cluster string
	client  api.Client
	header  wire.RequestHeader
	body    []byte
}

func (f *forwardRequest) appendTo(dst []byte) []byte {
	c := &f.client
	dst = appendBytes(dst, f.cluster)
	dst = appendBytes(appendBytes(appendBytes(dst, c.User), c.ID), c.Host)
	dst = append(dst, flag(c.Node)...)
	dst = binary.BigEndian.AppendUint16(dst, c.Port)
	dst = binary.BigEndian.AppendUint64(dst, c.Connection)
	dst = appendBytes(appendBytes(appendBytes(dst, c.ListenerName), c.Software), c.SoftwareVersion)
	dst = binary.BigEndian.AppendUint16(dst, uint16(f.header.Key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(f.header.Version))
	return appendBytes(dst, f.body)
}

func readForward(src []byte) (f forwardRequest, err error) {
	r := peerReader{src: src}
	f.cluster = r.text()
	c := &f.client
	c.User, c.ID, c.Host = r.text(), r.text(), r.text()
	c.Node = r.take(1)[0] == 1
	c.Port, c.Connection = uint16(r.int16()), uint64(r.int64())
	c.ListenerName, c.Software, c.SoftwareVersion = r.text(), r.text(), r.text()
	f.header.Key, f.header.Version = wire.APIKey(r.int16()), wire.APIVersion(r.int16())
	f.header.ClientID = []byte(c.ID)
	f.body = r.bytes()
	return f, r.err("Forward")
}

// forwardAnswer is what the controller makes of it: body is the response's where code is None.
type forwardAnswer struct {
	peerRefusal
	version    uint64 // of the image that the request led to
	throttleMS int32
	body       []byte
}

func (a *forwardAnswer) appendTo(dst []byte) []byte {
	dst = a.peerRefusal.appendTo(dst)
	dst = binary.BigEndian.AppendUint64(dst, a.version)
	dst = binary.BigEndian.AppendUint32(dst, uint32(a.throttleMS))
	return appendBytes(dst, a.body)
}

func readForwardAnswer(src []byte) (a forwardAnswer, err error) {
	r := peerReader{src: src}
	a.peerRefusal.read(&r)
	a.version, a.throttleMS, a.body = uint64(r.int64()), r.int32(), r.bytes()
	return a, r.err("Forward's answer")
}

// peerRefusal is the first part of every answer: why a request was refused, with words for the operator of the node that sent it.
type peerRefusal struct {
	code    wire.ErrorCode
	message string
}

func (p *peerRefusal) appendTo(dst []byte) []byte {
	return appendBytes(binary.BigEndian.AppendUint16(dst, uint16(p.code)), p.message)
}

func (p *peerRefusal) read(r *peerReader) { p.code, p.message = wire.ErrorCode(r.int16()), r.text() }

// joinRequest is a node's question to become a learner of the quorum.
type joinRequest struct {
	cluster   string
	node      wire.NodeID
	directory wire.UUID
	address   string // of its inter-broker listener
	rack      string
	version   string // of its software
	clockMS   int64  // its wall clock, Unix milliseconds
	format    int16  // newest version of the metadata records that it can read
}

func (j *joinRequest) appendTo(dst []byte) []byte {
	dst = appendBytes(dst, j.cluster)
	dst = binary.BigEndian.AppendUint32(dst, uint32(j.node))
	dst = append(dst, j.directory[:]...)
	dst = appendBytes(appendBytes(appendBytes(dst, j.address), j.rack), j.version)
	dst = binary.BigEndian.AppendUint64(dst, uint64(j.clockMS))
	return binary.BigEndian.AppendUint16(dst, uint16(j.format))
}

func readJoin(src []byte) (j joinRequest, err error) {
	r := peerReader{src: src}
	j.cluster, j.node, j.directory = r.text(), wire.NodeID(r.int32()), r.uuid()
	j.address, j.rack, j.version = r.text(), r.text(), r.text()
	j.clockMS, j.format = r.int64(), r.int16()
	return j, r.err("Join")
}

// joinAnswer takes the node into the cluster, or says where its leader is (NotController), or why not.
type joinAnswer struct {
	peerRefusal
	cluster string
	leader  string // address; "" if unknown
}

func (a *joinAnswer) appendTo(dst []byte) []byte {
	return appendBytes(appendBytes(a.peerRefusal.appendTo(dst), a.cluster), a.leader)
}

func readJoinAnswer(src []byte) (a joinAnswer, err error) {
	r := peerReader{src: src}
	a.peerRefusal.read(&r)
	a.cluster, a.leader = r.text(), r.text()
	return a, r.err("Join's answer")
}

// suspectRequest tells a leader that what it has at an offset came damaged to a follower.
type suspectRequest struct {
	cluster string
	topic   wire.TopicID
	index   wire.PartitionIndex
	offset  wire.Offset
}

func (s *suspectRequest) appendTo(dst []byte) []byte {
	dst = append(appendBytes(dst, s.cluster), s.topic[:]...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(s.index))
	return binary.BigEndian.AppendUint64(dst, uint64(s.offset))
}

func readSuspect(src []byte) (s suspectRequest, err error) {
	r := peerReader{src: src}
	s.cluster, s.topic, s.index, s.offset = r.text(), wire.TopicID(r.uuid()), wire.PartitionIndex(r.int32()), wire.Offset(r.int64())
	return s, r.err("Suspect")
}

// identifyAnswer says who answers at an address.
type identifyAnswer struct {
	peerRefusal
	node      wire.NodeID
	directory wire.UUID
}

func (a *identifyAnswer) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(a.peerRefusal.appendTo(dst), uint32(a.node))
	return append(dst, a.directory[:]...)
}

func readIdentifyAnswer(src []byte) (a identifyAnswer, err error) {
	r := peerReader{src: src}
	a.peerRefusal.read(&r)
	a.node, a.directory = wire.NodeID(r.int32()), r.uuid()
	return a, r.err("Identify's answer")
}

// proveRequest is one of the two steps by which a node proves that it has a key of the other's: without a proof the first, the second
// with it.
type proveRequest struct {
	cluster string
	sender  wire.NodeID
	address string // that the sender has connected to
	nonce   []byte
	proof   []byte
}

func (p *proveRequest) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(appendBytes(dst, p.cluster), uint32(p.sender))
	return appendBytes(appendBytes(appendBytes(dst, p.address), p.nonce), p.proof)
}

func readProve(src []byte) (p proveRequest, err error) {
	r := peerReader{src: src}
	p.cluster, p.sender, p.address = r.text(), wire.NodeID(r.int32()), r.text()
	p.nonce, p.proof = r.bytes(), r.bytes()
	return p, r.err("Prove")
}

// proveAnswer has the nonce that the proof is to be about, or answers it with one.
type proveAnswer struct {
	peerRefusal
	nonce []byte
	proof []byte
}

func (a *proveAnswer) appendTo(dst []byte) []byte {
	return appendBytes(appendBytes(a.peerRefusal.appendTo(dst), a.nonce), a.proof)
}

func readProveAnswer(src []byte) (a proveAnswer, err error) {
	r := peerReader{src: src}
	a.peerRefusal.read(&r)
	a.nonce, a.proof = r.bytes(), r.bytes()
	return a, r.err("Prove's answer")
}
