package protocol

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// patience bounds a wait for an answer; nothing is measured by it.
const patience = time.Minute

// conn is one connection and the requests that went over it.
type conn struct {
	t           *testing.T
	net         net.Conn
	correlation int32
	format      *kmsg.RequestFormatter
}

func dial(t *testing.T, node *harness.Node) *conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", node.Address, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &conn{t: t, net: c, format: format}
}

var format = kmsg.NewRequestFormatter(kmsg.FormatterClientID("protocol-test"))

// send writes one request at the version that it carries and returns its correlation id.
func (c *conn) send(req kmsg.Request) int32 {
	c.t.Helper()
	c.correlation++
	c.write(c.format.AppendRequest(nil, req, c.correlation))
	return c.correlation
}

func (c *conn) write(b []byte) {
	c.t.Helper()
	c.net.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.net.Write(b); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// frame reads one answer without its length.
func (c *conn) frame() []byte {
	c.t.Helper()
	frame, err := c.read()
	if err != nil {
		c.t.Fatalf("read an answer: %v", err)
	}
	return frame
}

func (c *conn) read() ([]byte, error) {
	c.net.SetReadDeadline(time.Now().Add(patience))
	var length [4]byte
	if _, err := io.ReadFull(c.net, length[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err := io.ReadFull(c.net, frame)
	return frame, err
}

// receive reads the answer to the request whose response kind is into, checks the correlation id, and returns the bytes
// behind the header.
func (c *conn) receive(correlation int32, into kmsg.Response) []byte {
	c.t.Helper()
	body := c.frame()
	if got := int32(binary.BigEndian.Uint32(body)); got != correlation {
		c.t.Fatalf("correlation id %d, want %d", got, correlation)
	}
	body = body[4:]
	if into.IsFlexible() && into.Key() != 18 { // KIP-511: ApiVersions keeps header v0
		if body[0] != 0 {
			c.t.Fatalf("answer to key %d: %d tags in the header", into.Key(), body[0])
		}
		body = body[1:]
	}
	if err := into.ReadFrom(body); err != nil {
		c.t.Fatalf("answer to key %d version %d: %v", into.Key(), into.GetVersion(), err)
	}
	return body
}

// ask sends req at version and returns its answer.
func ask[R kmsg.Response](c *conn, version int16, req kmsg.Request) R {
	c.t.Helper()
	req.SetVersion(version)
	correlation := c.send(req)
	res := req.ResponseKind()
	c.receive(correlation, res)
	return res.(R)
}

// closed fails unless the node ends the connection without another byte.
func (c *conn) closed() {
	c.t.Helper()
	frame, err := c.read()
	switch {
	case err == nil:
		c.t.Fatalf("answered %x, want a closed connection", frame)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
	default:
		c.t.Fatalf("want a closed connection, got %v", err)
	}
}

// departure is an expected answer that ringmill gives otherwise than Apache Kafka, on purpose.
func departure[T any](node *harness.Node, kafka, ringmill T, why string) T {
	if why == "" {
		panic("BUG: a departure without a reason")
	}
	if node.IsKafka() {
		return kafka
	}
	return ringmill
}

// wantCode compares error codes by name; nil is NONE.
func wantCode(t *testing.T, what string, got int16, want *kerr.Error) {
	t.Helper()
	code := int16(0)
	if want != nil {
		code = want.Code
	}
	if got != code {
		t.Errorf("%s: error %s, want %s", what, codeName(got), codeName(code))
	}
}

func codeName(code int16) string {
	if code == 0 {
		return "NONE"
	}
	var known *kerr.Error
	if errors.As(kerr.ErrorForCode(code), &known) && known.Code == code {
		return known.Message
	}
	return "unknown"
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// ptr is for kmsg's nullable strings.
func ptr[T any](v T) *T { return &v }

func text(s *string) string {
	if s == nil {
		return "<null>"
	}
	return *s
}

func itoa(v int32) string { return strconv.Itoa(int(v)) }
