package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// RawConn is one plain connection to a node: frames out, frames in, in order. One goroutine may send while another receives.
type RawConn struct {
	socket      net.Conn
	stop        func() bool // ends the tie to the context
	in          *bufio.Reader
	body        []byte // of the last answer; reused
	correlation int32  // of the last request
	awaited     int32  // of the next answer
}

// rawFormat writes requests' headers. It has no state.
var rawFormat = kmsg.NewRequestFormatter(kmsg.FormatterClientID("ringmill-bench"))

// answerBytesMax bounds an answer; fetches ask for far less.
const answerBytesMax = 256 << 20

// DialRaw connects. ctx ends the connection too, so that no read outlives it.
func DialRaw(ctx context.Context, address string) (*RawConn, error) {
	return dialRaw(ctx, netDial, address)
}

func dialRaw(ctx context.Context, dial Dialer, address string) (*RawConn, error) {
	if dial == nil {
		dial = netDial
	}
	socket, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return newRawConn(ctx, socket), nil
}

func newRawConn(ctx context.Context, socket net.Conn) *RawConn {
	stop := context.AfterFunc(ctx, func() { socket.Close() })
	return &RawConn{socket: socket, stop: stop, in: bufio.NewReaderSize(socket, 64<<10)}
}

// Close ends the connection.
func (c *RawConn) Close() error {
	c.stop()
	return c.socket.Close()
}

// Do sends req, of the version it is set to, and reads its answer. Nothing else may be under way.
func (c *RawConn) Do(req kmsg.Request) (kmsg.Response, error) {
	if err := c.send(rawFormat.AppendRequest(nil, req, 0)); err != nil {
		return nil, err
	}
	answer := req.ResponseKind()
	return answer, c.receive(answer)
}

// correlationAt is where a frame has its correlation id: after length, key and version.
const correlationAt = 8

// send patches a frame with the next correlation id and writes it.
func (c *RawConn) send(frame []byte) error {
	c.correlation++
	binary.BigEndian.PutUint32(frame[correlationAt:], uint32(c.correlation))
	if _, err := c.socket.Write(frame); err != nil {
		return fmt.Errorf("bench: send: %w", err)
	}
	return nil
}

// receive reads the next answer into the message that awaits it. What it holds is valid until the next receive.
func (c *RawConn) receive(answer kmsg.Response) error {
	var head [8]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return fmt.Errorf("bench: receive: %w", err)
	}
	size := int(int32(binary.BigEndian.Uint32(head[:]))) - 4
	c.awaited++
	if err := c.checkHead(size, int32(binary.BigEndian.Uint32(head[4:]))); err != nil {
		if c.awaited == 1 { // no answer before it was one
			return fmt.Errorf("%w: %w", ErrNotKafka, err)
		}
		return fmt.Errorf("bench: %w", err)
	}
	if cap(c.body) < size {
		c.body = make([]byte, size)
	}
	c.body = c.body[:size]
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return fmt.Errorf("bench: receive: %w", err)
	}
	return c.decode(answer)
}

// ErrNotKafka says that the first answer of a connection is none of Kafka's protocol.
var ErrNotKafka = errors.New("bench: what answers does not speak Kafka's protocol")

// checkHead says what is wrong with an answer's size without its head, or with its correlation id.
func (c *RawConn) checkHead(size int, correlation int32) error {
	if correlation != c.awaited {
		return fmt.Errorf("answer to request %d came in place of %d", correlation, c.awaited)
	}
	if size < 0 || size > answerBytesMax {
		return fmt.Errorf("an answer of %d bytes", size)
	}
	return nil
}

func (c *RawConn) decode(answer kmsg.Response) error {
	body := c.body
	if answer.IsFlexible() && answer.Key() != int16(kmsg.ApiVersions) {
		if len(body) == 0 || body[0] != 0 {
			return fmt.Errorf("bench: answer of key %d: tagged fields in its header", answer.Key())
		}
		body = body[1:]
	}
	if err := answer.ReadFrom(body); err != nil {
		return fmt.Errorf("bench: answer of key %d version %d: %w", answer.Key(), answer.GetVersion(), err)
	}
	return nil
}
