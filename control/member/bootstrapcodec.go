package member

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/ringmill/ringmill/wire"
)

// Versions of the forms below. A greater one is refused: nothing is guessed about who may begin a cluster.
const (
	stateVersion   = 1
	requestVersion = 1
	answerVersion  = 1
)

// Errors of what cannot be read.
var (
	// ErrState: the bootstrap state is damaged, or not one at all.
	ErrState = errors.New("member: not a bootstrap state")
	// ErrNewer: written by a release that knows more than this one.
	ErrNewer = errors.New("member: of a newer release")
	// ErrMessage: not a request, or an answer, of the bootstrap agreement.
	ErrMessage = errors.New("member: malformed bootstrap message")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cursor reads what the append functions of this package wrote. The first thing that is not there makes it fail for good.
type cursor struct {
	src    []byte
	failed bool
}

func (c *cursor) take(n int) []byte {
	if c.failed || n > len(c.src) {
		c.failed = true
		return nil
	}
	taken := c.src[:n:n]
	c.src = c.src[n:]
	return taken
}

func (c *cursor) uint8() (v uint8) {
	if b := c.take(1); b != nil {
		v = b[0]
	}
	return v
}

func (c *cursor) uint16() (v uint16) {
	if b := c.take(2); b != nil {
		v = binary.BigEndian.Uint16(b)
	}
	return v
}

func (c *cursor) uint32() (v uint32) {
	if b := c.take(4); b != nil {
		v = binary.BigEndian.Uint32(b)
	}
	return v
}

func (c *cursor) uint64() (v uint64) {
	if b := c.take(8); b != nil {
		v = binary.BigEndian.Uint64(b)
	}
	return v
}

func (c *cursor) uuid() (id wire.UUID) {
	copy(id[:], c.take(len(id)))
	return id
}

func (c *cursor) text() string { return string(c.take(int(c.uint16()))) }

func appendText(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

func (v Voter) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(v.NodeID))
	dst = append(dst, v.DirectoryID[:]...)
	return appendText(dst, v.Addr)
}

func (c *cursor) voter() Voter {
	return Voter{NodeID: wire.NodeID(c.uint32()), DirectoryID: c.uuid(), Addr: c.text()}
}

// appendTo writes a proposal; nil is an empty one.
func (p *Proposal) appendTo(dst []byte) []byte {
	if p == nil {
		p = &Proposal{}
	}
	dst = binary.BigEndian.AppendUint64(dst, p.Attempt)
	dst = appendText(dst, p.ClusterID)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(p.Voters)))
	for _, v := range p.Voters {
		dst = v.appendTo(dst)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(p.Initial)))
	return append(dst, p.Initial...)
}

// proposal reads one; nil if it is empty. One that has a problem makes the cursor fail.
func (c *cursor) proposal() *Proposal {
	p := &Proposal{Attempt: c.uint64(), ClusterID: c.text()}
	n := int(c.uint16())
	for i := 0; i < n && !c.failed; i++ {
		p.Voters = append(p.Voters, c.voter())
	}
	if size := int(c.uint32()); size > 0 {
		p.Initial = append([]byte(nil), c.take(size)...)
	}
	if p.equal(&Proposal{}) {
		return nil
	}
	c.failed = c.failed || p.problem() != ""
	return p
}

// done reports whether all was there, and nothing more.
func (c *cursor) done() bool { return !c.failed && len(c.src) == 0 }

// stateMagic begins the state, so that another file is not taken for one.
const stateMagic = "RMBS"

// appendTo writes the state: magic, version, the node's own name, what it is held by, and the CRC-32C of all that.
//
//	"RMBS" | version u16 | node i32, directory 16, address | attempts u64 | phase u8 | proposal | crc32c u32
func (s *state) appendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, stateMagic...)
	dst = binary.BigEndian.AppendUint16(dst, stateVersion)
	dst = s.self.appendTo(dst)
	dst = binary.BigEndian.AppendUint64(dst, s.attempts)
	dst = append(dst, byte(s.phase))
	dst = s.proposal.appendTo(dst)
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

func readState(src []byte) (s state, err error) {
	if len(src) < len(stateMagic)+6 || string(src[:len(stateMagic)]) != stateMagic {
		return s, ErrState
	}
	body, sum := src[:len(src)-4], binary.BigEndian.Uint32(src[len(src)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return s, fmt.Errorf("%w: its checksum is wrong", ErrState)
	}
	c := cursor{src: body[len(stateMagic):]}
	if v := c.uint16(); v != stateVersion {
		return s, fmt.Errorf("%w: bootstrap state of version %d", ErrNewer, v)
	}
	s = state{self: c.voter(), attempts: c.uint64(), phase: phase(c.uint8()), proposal: c.proposal()}
	if !c.done() || s.phase > committed || (s.proposal == nil) != (s.phase == fresh) || s.proposal != nil && !s.proposal.has(s.self) {
		return state{}, fmt.Errorf("%w: its fields contradict each other", ErrState)
	}
	return s, nil
}

// ReadSelf gives the node itself as a saved state has it, with its address at its last start; no node if nothing was saved. Errors:
// ErrState, ErrNewer.
func ReadSelf(saved []byte) (Voter, error) {
	if saved == nil {
		return Voter{}, nil
	}
	s, err := readState(saved)
	return s.self, err
}

// AppendTo writes the request, for the body of a Bootstrap call (API key 10003).
func (r Request) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, requestVersion)
	dst = append(dst, byte(r.Kind))
	return r.Proposal.appendTo(dst)
}

// ReadRequest reads what AppendTo wrote. Errors: ErrMessage, ErrNewer.
func ReadRequest(src []byte) (r Request, err error) {
	c := cursor{src: src}
	if v := c.uint16(); !c.failed && v != requestVersion {
		return r, fmt.Errorf("%w: bootstrap request of version %d", ErrNewer, v)
	}
	r = Request{Kind: RequestKind(c.uint8()), Proposal: c.proposal()}
	if !c.done() || r.Kind < Promise || r.Kind > Ask || r.Proposal == nil {
		return Request{}, ErrMessage
	}
	return r, nil
}

// AppendTo writes the answer.
func (a Answer) AppendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, answerVersion)
	dst = append(dst, byte(a.Kind))
	return appendText(dst, a.Reason)
}

// ReadAnswer reads what AppendTo wrote. Errors: ErrMessage, ErrNewer.
func ReadAnswer(src []byte) (a Answer, err error) {
	c := cursor{src: src}
	if v := c.uint16(); !c.failed && v != answerVersion {
		return a, fmt.Errorf("%w: bootstrap answer of version %d", ErrNewer, v)
	}
	a = Answer{Kind: AnswerKind(c.uint8()), Reason: c.text()}
	if !c.done() || a.Kind < Granted || a.Kind > Refused || len(a.Reason) > reasonMax {
		return Answer{}, ErrMessage
	}
	return a, nil
}
