package node

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// peerServer answers frames as a node would: serve gives the answer's body, nil to close the connection.
func peerServer(t *testing.T, ln net.Listener, serve func(h wire.RequestHeader, body []byte) []byte) {
	t.Helper()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for {
					var length [4]byte
					if _, err := io.ReadFull(conn, length[:]); err != nil {
						return
					}
					frame := make([]byte, binary.BigEndian.Uint32(length[:]))
					if _, err := io.ReadFull(conn, frame); err != nil {
						return
					}
					h, body, err := wire.ReadRequestHeader(frame)
					if err != nil {
						return
					}
					answer := serve(h, body)
					if answer == nil {
						return
					}
					if _, err := conn.Write(appendFrame(nil, h, answer)); err != nil {
						return
					}
				}
			}()
		}
	}()
}

func testPeers(t *testing.T, gone func(string)) *peers {
	ps := newPeers(nil, gone)
	t.Cleanup(ps.close)
	return ps
}

func loopbackListener(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

var testHeader = wire.RequestHeader{Key: wire.KeyForward}

func TestPeerCalls(t *testing.T) {
	ln := loopbackListener(t)
	var calls atomic.Int32
	peerServer(t, ln, func(h wire.RequestHeader, body []byte) []byte {
		if calls.Add(1); h.Key != testHeader.Key || string(h.ClientID) != "ringmill" {
			t.Errorf("header %+v", h)
		}
		return append([]byte("re:"), body...)
	})
	ps := testPeers(t, nil)
	for range 3 {
		got, err := ps.callRaw(ln.Addr().String(), testHeader, []byte("hello"), patience)
		if err != nil || string(got) != "re:hello" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls", n)
	}
}

func (ps *peers) mustBe(t *testing.T, addr string) *peer {
	t.Helper()
	p, err := ps.of(addr)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Addresses that are named by whoever sends something are no more than a cluster may have; those that are known are reached all the same, and
// others when some are forgotten.
func TestPeersAreNotWithoutEnd(t *testing.T) {
	ps := testPeers(t, nil)
	address := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", i+1) }
	for i := range peersMax {
		ps.mustBe(t, address(i))
	}
	if _, err := ps.of(address(peersMax)); !errors.Is(err, errPeersFull) {
		t.Errorf("one address too many: %v", err)
	}
	if ps.send(address(peersMax), testHeader, nil) {
		t.Error("something is to be sent to one address too many")
	}
	ps.mustBe(t, address(0))
	ps.mustBe(t, address(1)).asked = time.Now().Add(-2 * peerForgotten)
	ps.mustBe(t, address(peersMax))
}

// An address that nobody has asked for in a long time has neither goroutine nor connections any more when another one comes up.
func TestPeersThatAreForgotten(t *testing.T) {
	ps := testPeers(t, nil)
	old, used := ps.mustBe(t, "127.0.0.1:1"), ps.mustBe(t, "127.0.0.1:2")
	old.asked = old.asked.Add(-2 * peerForgotten)
	if ps.mustBe(t, "127.0.0.1:3"); len(ps.byAddr) != 2 || !old.closed || used.closed {
		t.Errorf("%d addresses are known; the one that is not used is closed: %t, the one that is: %t", len(ps.byAddr), old.closed, used.closed)
	}
	if again := ps.mustBe(t, "127.0.0.1:1"); again == old || again.closed {
		t.Error("an address that was forgotten is not known anew")
	}
}

// A connection that the other side has closed while nobody used it is made anew, and nobody hears of it.
func TestPeerCallOverAConnectionThatWasClosed(t *testing.T) {
	ln := loopbackListener(t)
	var closed atomic.Bool
	peerServer(t, ln, func(_ wire.RequestHeader, body []byte) []byte {
		if string(body) == "bye" && closed.CompareAndSwap(false, true) {
			return nil
		}
		return body
	})
	ps := testPeers(t, nil)
	if _, err := ps.callRaw(ln.Addr().String(), testHeader, []byte("one"), patience); err != nil {
		t.Fatal(err)
	}
	first := ps.mustBe(t, ln.Addr().String()).idle[0]
	if got, err := ps.callRaw(ln.Addr().String(), testHeader, []byte("bye"), patience); err != nil || string(got) != "bye" {
		t.Fatalf("%q, %v", got, err)
	}
	if err := first.conn.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection that was closed is still open here: %v", err)
	}
}

func TestPeerCallThatNobodyAnswers(t *testing.T) {
	ln := loopbackListener(t)
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	peerServer(t, ln, func(wire.RequestHeader, []byte) []byte { <-hang; return nil })
	ps := testPeers(t, nil)
	if _, err := ps.callRaw(ln.Addr().String(), testHeader, nil, 20*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestPeersThatAreClosed(t *testing.T) {
	ps := testPeers(t, nil)
	ps.close()
	if _, err := ps.callRaw("127.0.0.1:1", testHeader, nil, patience); !errors.Is(err, errPeersClosed) {
		t.Errorf("%v", err)
	}
	if ps.send("127.0.0.1:1", testHeader, nil) {
		t.Error("sent")
	}
}

// A process that is gone is told of once: when its connection ends and its host refuses another.
func TestAPeerThatIsGone(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan string, 10)
	ps := testPeers(t, func(addr string) { gone <- addr })
	if !ps.send(ln.Addr().String(), testHeader, []byte("message")) {
		t.Fatal("not queued")
	}
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(conn, got); err != nil {
		t.Fatal(err)
	}
	select {
	case addr := <-gone:
		t.Fatalf("%s is there", addr)
	default:
	}
	ln.Close()
	conn.Close()
	select {
	case addr := <-gone:
		if addr != ln.Addr().String() {
			t.Errorf("gone: %s", addr)
		}
	case <-time.After(patience):
		t.Fatal("nobody was told")
	}
	ps.send(ln.Addr().String(), testHeader, []byte("message")) // refused: it was not there before
	ps.close()
	if len(gone) > 0 {
		t.Error("told twice")
	}
}

func TestPeerMessagesAreReadAsTheyWereWritten(t *testing.T) {
	m := quorumMessage{cluster: "c", sender: 3, address: "a:1", from: 1<<63 + 5, to: 7, data: []byte("data")}
	if got, err := readQuorumMessage(m.appendTo(nil)); err != nil || got.cluster != m.cluster || got.sender != m.sender || got.address != m.address ||
		got.from != m.from || got.to != m.to || !bytes.Equal(got.data, m.data) {
		t.Errorf("%+v, %v", got, err)
	}
	f := forwardRequest{cluster: "c", header: wire.RequestHeader{Key: 19, Version: 7, ClientID: []byte("id")}, body: []byte{1, 2}}
	f.client.User, f.client.ID, f.client.Host, f.client.Port, f.client.Node = "u", "id", "h", 65535, true
	f.client.Connection, f.client.ListenerName, f.client.Software, f.client.SoftwareVersion = 9, "L", "s", "1"
	if got, err := readForward(f.appendTo(nil)); err != nil || got.client != f.client || got.header.Key != 19 || got.header.Version != 7 || !bytes.Equal(got.body, f.body) {
		t.Errorf("%+v, %v", got, err)
	}
	a := forwardAnswer{peerRefusal: peerRefusal{wire.NotController, "no"}, version: 5, throttleMS: 6, body: []byte("b")}
	if got, err := readForwardAnswer(a.appendTo(nil)); err != nil || got.peerRefusal != a.peerRefusal || got.version != 5 || got.throttleMS != 6 || string(got.body) != "b" {
		t.Errorf("%+v, %v", got, err)
	}
	j := joinRequest{cluster: "c", node: 1, directory: wire.UUID{1}, address: "a:1", rack: "r", version: "v", clockMS: 4, format: 1}
	if got, err := readJoin(j.appendTo(nil)); err != nil || got != j {
		t.Errorf("%+v, %v", got, err)
	}
	ja := joinAnswer{peerRefusal: peerRefusal{message: "m"}, cluster: "c", leader: "l"}
	if got, err := readJoinAnswer(ja.appendTo(nil)); err != nil || got != ja {
		t.Errorf("%+v, %v", got, err)
	}
	p := proveRequest{cluster: "c", sender: 3, address: "a:1", nonce: []byte("n"), proof: []byte("p")}
	if got, err := readProve(p.appendTo(nil)); err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, %v", got, err)
	}
	pa := proveAnswer{peerRefusal: peerRefusal{message: "m"}, nonce: []byte("n"), proof: []byte("p")}
	if got, err := readProveAnswer(pa.appendTo(nil)); err != nil || !reflect.DeepEqual(got, pa) {
		t.Errorf("%+v, %v", got, err)
	}
}

// What ends early is an error, never a message with something missing.
func TestPeerMessagesThatEndEarly(t *testing.T) {
	whole := (&joinRequest{cluster: "cluster", address: "address", version: "1"}).appendTo(nil)
	for n := range whole {
		if _, err := readJoin(whole[:n]); !errors.Is(err, errPeerMessage) {
			t.Fatalf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

func FuzzPeerMessages(f *testing.F) {
	f.Add((&quorumMessage{cluster: "c", data: []byte("d")}).appendTo(nil))
	f.Add((&joinRequest{cluster: "c", address: "a:1"}).appendTo(nil))
	f.Add((&forwardRequest{cluster: "c", body: []byte("b")}).appendTo(nil))
	f.Add((&proveRequest{cluster: "c", address: "a:1", nonce: []byte("n"), proof: []byte("p")}).appendTo(nil))
	f.Add((&proveAnswer{nonce: []byte("n"), proof: []byte("p")}).appendTo(nil))
	f.Add((&forwardAnswer{body: []byte("b")}).appendTo(nil))
	f.Fuzz(func(t *testing.T, src []byte) {
		if m, err := readQuorumMessage(src); err == nil && !bytes.HasPrefix(src, m.appendTo(nil)) {
			t.Error("a message is not what it was read from")
		}
		if j, err := readJoin(src); err == nil && !bytes.HasPrefix(src, j.appendTo(nil)) {
			t.Error("a Join is not what it was read from")
		}
		if p, err := readProve(src); err == nil && !bytes.HasPrefix(src, p.appendTo(nil)) {
			t.Error("a Prove is not what it was read from")
		}
		if a, err := readProveAnswer(src); err == nil && !bytes.HasPrefix(src, a.appendTo(nil)) {
			t.Error("an answer to a Prove is not what it was read from")
		}
		_, _ = readForward(src)
		_, _ = readForwardAnswer(src)
		_, _ = readJoinAnswer(src)
	})
}
