package iouring_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/iouring/iouringtest"
)

// echoConn is a connection of the echo server: what it received and has not yet sent back.
type echoConn struct {
	fd      int
	pending []byte
	into    []byte // of a recv-into
	polling bool
	ended   bool
}

// echoServer is a small but whole user of an engine: it accepts, receives by both kinds of receive in turn, sends
// inline, and waits for room when a socket is full.
type echoServer struct {
	e        iouring.Engine
	listener int
	conns    map[iouring.Token]*echoConn
	nextTok  iouring.Token
	closed   int
	rng      *rand.Rand
}

const listenerToken = 0

func (s *echoServer) handle(ev iouring.Event) error {
	if ev.Kind == iouring.EventAccept {
		return s.accepted(ev)
	}
	c := s.conns[ev.Token]
	if c == nil {
		return fmt.Errorf("event of no connection: %+v", ev)
	}
	switch ev.Kind {
	case iouring.EventRecv:
		c.pending = append(c.pending, ev.Buf...)
		if ev.Res > 0 {
			s.e.ReleaseBuffer(ev.BufID)
		}
		return s.received(ev, c)
	case iouring.EventRecvInto:
		c.pending = append(c.pending, c.into[:max(ev.Res, 0)]...)
		return s.received(ev, c)
	case iouring.EventPollOut:
		c.polling = false
		return s.send(ev.Token, c)
	}
	return fmt.Errorf("unexpected %+v", ev)
}

func (s *echoServer) accepted(ev iouring.Event) error {
	if ev.Res < 0 || !ev.More {
		return fmt.Errorf("accept: %+v", ev)
	}
	s.nextTok++
	c := &echoConn{fd: int(ev.Res), into: make([]byte, 3000)}
	s.conns[s.nextTok] = c
	s.receive(s.nextTok, c)
	return nil
}

func (s *echoServer) receive(tok iouring.Token, c *echoConn) {
	if s.rng.IntN(2) == 0 {
		s.e.Recv(tok, c.fd)
	} else {
		s.e.RecvInto(tok, c.fd, c.into)
	}
}

func (s *echoServer) received(ev iouring.Event, c *echoConn) error {
	switch {
	case ev.Res == -int32(unix.ENOBUFS), ev.Res == -int32(unix.EAGAIN):
	case ev.Res < 0:
		return fmt.Errorf("receive: %v", unix.Errno(-ev.Res))
	case ev.Res == 0:
		c.ended = true
	}
	return s.send(ev.Token, c)
}

// send sends what is pending; it receives again only when all is sent, so that a client that does not read is slowed.
func (s *echoServer) send(tok iouring.Token, c *echoConn) error {
	for len(c.pending) > 0 {
		n, err := iouring.SendNoWait(c.fd, c.pending, false)
		if err == unix.EAGAIN {
			c.polling = true
			s.e.PollOut(tok, c.fd)
			return nil
		}
		if err != nil {
			return err
		}
		c.pending = c.pending[n:]
	}
	if !c.ended {
		s.receive(tok, c)
		return nil
	}
	s.e.CancelFD(c.fd)
	s.closed++
	delete(s.conns, tok)
	return unix.Close(c.fd)
}

func (s *echoServer) run(clients int) error {
	s.e.Accept(listenerToken, s.listener)
	events := make([]iouring.Event, 8)
	for s.closed < clients {
		n, err := s.e.Poll(events, -1)
		if err != nil {
			return err
		}
		for _, ev := range events[:n] {
			if err := s.handle(ev); err != nil {
				return err
			}
		}
	}
	return nil
}

// echoClient sends size bytes and reads them back, at its own pace.
func echoClient(addr string, seed uint64, size int) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	sent := make([]byte, size)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range sent {
		sent[i] = byte(rng.Uint32())
	}
	wrote := make(chan error, 1)
	go func() {
		rest := sent
		for len(rest) > 0 {
			n := min(len(rest), 1+rng.IntN(100_000))
			if _, err := conn.Write(rest[:n]); err != nil {
				wrote <- err
				return
			}
			rest = rest[n:]
		}
		wrote <- conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil {
		return err
	}
	if err := <-wrote; err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("client %d: %d bytes came back of %d, or other ones", seed, len(got), size)
	}
	return nil
}

func runEcho(t *testing.T, e iouring.Engine, faulty bool) {
	const clients, size = 8, 1 << 20
	fd, addr := listen(t, e)
	results := make(chan error, clients)
	for i := range uint64(clients) {
		go func() { results <- echoClient(addr, i, size) }()
	}
	engine := e
	if faulty {
		f := iouringtest.NewFaultEngine(e, iouringtest.Seeded(7, iouringtest.Rates{Short: 0.3, EAGAIN: 0.1, ENOBUFS: 0.1, Late: 0.3, LateMax: 4}))
		f.Reorder(7)
		engine = f
	}
	s := &echoServer{e: engine, listener: fd, conns: map[iouring.Token]*echoConn{}, rng: rand.New(rand.NewPCG(1, 2))}
	if err := s.run(clients); err != nil {
		t.Fatal(err)
	}
	for range clients {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// TestEcho passes a few megabytes through a server on each engine, with few and small buffers so that they run out.
func TestEcho(t *testing.T) {
	iouringtest.Each(t, iouring.Config{Entries: 8, Buffers: 4, BufferSize: 2048}, func(t *testing.T, e iouring.Engine) {
		runEcho(t, e, false)
	})
}

// TestEchoWithFaults does the same while receives are short, refused, late and out of order.
func TestEchoWithFaults(t *testing.T) {
	iouringtest.Each(t, iouring.Config{Entries: 8, Buffers: 16, BufferSize: 2048}, func(t *testing.T, e iouring.Engine) {
		runEcho(t, e, true)
	})
}
