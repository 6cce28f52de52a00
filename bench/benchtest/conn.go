package benchtest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// frameBytesMax bounds a request.
const frameBytesMax = 64 << 20

// reply is an answer on its way: none of its connection's leaves before the ones ahead of it.
type reply struct {
	correlation int32
	body        kmsg.Response
	// due is when it leaves; the zero time is at once. later, if set, makes the body at that time (a fetch that waits).
	due   time.Time
	later func() kmsg.Response
	// batches are the numbers, in Server.answers, of those that it answers.
	batches []int
	// none says that no answer is sent (acks=0).
	none bool
	// hangUp ends the connection in place of an answer.
	hangUp bool
}

// serve reads requests as they come, so that a slow answer keeps nobody from sending, and answers them in order.
func (s *Server) serve(n *node, c net.Conn) {
	replies := make(chan reply, 4096)
	s.working.Go(func() { s.answer(n, c, replies) })
	defer close(replies)
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	in := bufio.NewReader(c)
	s.mu.Lock()
	known := s.plain == ""
	s.mu.Unlock()
	for {
		req, correlation, err := readRequest(in)
		if err != nil {
			return
		}
		s.awaitSenses(n)
		var r reply
		if known || req.Key() == int16(kmsg.ApiVersions) {
			r = s.handle(n, req)
		} else {
			r, known = s.authenticate(req)
		}
		r.correlation = correlation
		replies <- r
	}
}

// authenticate answers a connection of which it is not known whose it is.
func (s *Server) authenticate(req kmsg.Request) (r reply, known bool) {
	answer := req.ResponseKind()
	answer.SetVersion(req.GetVersion())
	switch req := req.(type) {
	case *kmsg.SASLHandshakeRequest:
		told := answer.(*kmsg.SASLHandshakeResponse)
		if told.SupportedMechanisms = []string{"PLAIN"}; req.Mechanism != "PLAIN" {
			told.ErrorCode = kerr.UnsupportedSaslMechanism.Code
		}
	case *kmsg.SASLAuthenticateRequest:
		if known = string(req.SASLAuthBytes) == s.plain; !known {
			told := answer.(*kmsg.SASLAuthenticateResponse)
			told.ErrorCode, told.ErrorMessage = kerr.SaslAuthenticationFailed.Code, kmsg.StringPtr("Authentication failed: Invalid username or password")
		}
	default:
		return reply{hangUp: true}, false
	}
	return reply{body: answer}, known
}

func (s *Server) answer(n *node, c net.Conn, replies <-chan reply) {
	for r := range replies {
		time.Sleep(time.Until(r.due))
		if r.later != nil {
			r.body = r.later()
		}
		s.awaitSenses(n)
		s.note(r.batches)
		if r.none {
			continue
		}
		if r.hangUp || !written(c, r) {
			c.Close()
			for range replies { // the reader must not stay in its send
			}
			return
		}
	}
}

func written(c net.Conn, r reply) bool {
	_, err := c.Write(appendReply(nil, r))
	return err == nil
}

// note writes down that batches are answered now.
func (s *Server) note(batches []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range batches {
		s.answers[i].Answered = time.Now()
	}
}

func readRequest(in io.Reader) (kmsg.Request, int32, error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, 0, err
	}
	frame := make([]byte, min(binary.BigEndian.Uint32(size[:]), frameBytesMax))
	if _, err := io.ReadFull(in, frame); err != nil {
		return nil, 0, err
	}
	return parseRequest(frame)
}

// parseRequest reads a header (key, version, correlation id, client id, tagged fields of flexible versions) and the request behind it.
func parseRequest(frame []byte) (kmsg.Request, int32, error) {
	if len(frame) < 10 {
		return nil, 0, fmt.Errorf("a frame of %d bytes", len(frame))
	}
	key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
	correlation := int32(binary.BigEndian.Uint32(frame[4:]))
	body := frame[10:]
	if id := int16(binary.BigEndian.Uint16(frame[8:])); id > 0 {
		if int(id) > len(body) {
			return nil, 0, fmt.Errorf("a client id of %d bytes in a frame of %d", id, len(frame))
		}
		body = body[id:]
	}
	req := kmsg.RequestForKey(key)
	if req == nil || version > req.MaxVersion() {
		return nil, 0, fmt.Errorf("key %d version %d is unknown", key, version)
	}
	req.SetVersion(version)
	if req.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return nil, 0, fmt.Errorf("tagged fields in the header of key %d", key)
		}
		body = body[1:]
	}
	return req, correlation, req.ReadFrom(body)
}

func appendReply(dst []byte, r reply) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(r.correlation))
	if r.body.IsFlexible() && r.body.Key() != int16(kmsg.ApiVersions) {
		dst = append(dst, 0)
	}
	dst = r.body.AppendTo(dst)
	binary.BigEndian.PutUint32(dst, uint32(len(dst)-4))
	return dst
}
