package benchtest

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Server is a cluster without disks. Its methods may be called from any goroutine.
type Server struct {
	script Script
	start  time.Time

	mu      sync.Mutex
	nodes   []*node
	topics  map[string]*topic
	created int64
	answers []Answer
	batches int64
	wake    chan struct{} // closed and made anew when a batch can be read
	conns   map[net.Conn]int
	closed  bool
	over    chan struct{} // closed with it
	working sync.WaitGroup
	// creating is how long it takes to make a topic; unanswered, that the connection breaks in place of the answer.
	creating   time.Duration
	unanswered bool
	properties map[string]string // of the topic that was made last
	refusals   map[kmsg.Key]int16
	plain      string // what who authenticates says (RFC 4616); empty if nobody need
}

// Answer is the truth about one batch.
type Answer struct {
	Topic             string
	Partition         int32
	Records, Bytes    int // of the batch, as it came
	Arrived, Answered time.Time
}

type node struct {
	id       int32
	host     string
	port     int32
	listener net.Listener // nil in memory
	down     bool
	stunned  bool
}

// topic has its partitions' batches in memory.
type topic struct {
	id         [16]byte
	partitions []*partition
}

type partition struct {
	leader  int32
	batches []storedBatch
	end     int64
}

type storedBatch struct {
	bytes      []byte
	base, next int64
}

// New makes a server of so many nodes, in memory, whose time begins now.
func New(nodes int, script Script) *Server {
	s := &Server{script: script, start: time.Now(), topics: map[string]*topic{}, wake: make(chan struct{}), over: make(chan struct{}), conns: map[net.Conn]int{}, refusals: map[kmsg.Key]int16{}}
	for id := range nodes {
		s.nodes = append(s.nodes, &node{id: int32(id), host: fmt.Sprintf("node-%d", id), port: 9092})
	}
	return s
}

// Listen puts the nodes on the loopback, on ports that are free.
func (s *Server) Listen() error {
	return s.listen(func(l net.Listener) net.Listener { return l })
}

// ListenTLS is Listen with TLS.
func (s *Server) ListenTLS(config *tls.Config) error {
	return s.listen(func(l net.Listener) net.Listener { return tls.NewListener(l, config) })
}

func (s *Server) listen(over func(net.Listener) net.Listener) error {
	for _, n := range s.nodes {
		plain, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		l := over(plain)
		s.mu.Lock()
		n.listener, n.host, n.port = l, "127.0.0.1", int32(l.Addr().(*net.TCPAddr).Port)
		s.mu.Unlock()
		s.working.Go(func() { s.accept(n) })
	}
	return nil
}

func (s *Server) accept(n *node) {
	for {
		c, err := n.listener.Accept()
		if err != nil {
			return
		}
		s.take(n, c)
	}
}

// take begins to serve a connection; it is closed if the node is down.
func (s *Server) take(n *node, c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.down || s.closed {
		c.Close()
		return false
	}
	s.conns[c] = int(n.id)
	s.working.Go(func() { s.serve(n, c) })
	return true
}

// Addresses are the nodes'.
func (s *Server) Addresses() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.nodes {
		all = append(all, n.address())
	}
	return all
}

func (n *node) address() string { return fmt.Sprintf("%s:%d", n.host, n.port) }

// Dial connects to a node in memory. It is a bench.Dialer.
func (s *Server) Dial(_ context.Context, _, address string) (net.Conn, error) {
	for _, n := range s.nodes {
		if n.address() != address {
			continue
		}
		mine, theirs := net.Pipe()
		if s.take(n, theirs) {
			return mine, nil
		}
		mine.Close()
	}
	return nil, &net.OpError{Op: "dial", Net: "memory", Err: fmt.Errorf("connection refused by %s", address)}
}

// Stop ends a node: its connections break and new ones are refused. Its partitions go to the next node that runs, if there is one.
func (s *Server) Stop(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[id].down = true
	s.depose(int32(id))
	if l := s.nodes[id].listener; l != nil {
		l.Close()
	}
	for c, at := range s.conns {
		if at == id {
			c.Close()
		}
	}
	s.stir()
}

// Stun has a node do nothing more, as one that is stopped by a signal: its connections stay, new ones are taken, and nothing is read or answered. It
// leads on, until it is deposed.
func (s *Server) Stun(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[id].stunned = true
}

// Depose has a node's partitions go to the next node that runs, if there is one.
func (s *Server) Depose(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depose(int32(id))
	s.stir()
}

func (s *Server) depose(id int32) {
	for _, t := range s.topics {
		for _, p := range t.partitions {
			if p.leader == id {
				p.leader = s.runningAfter(id)
			}
		}
	}
}

// awaitSenses returns at once, or when the server is closed if the node is stunned.
func (s *Server) awaitSenses(n *node) {
	s.mu.Lock()
	stunned := n.stunned
	s.mu.Unlock()
	if stunned {
		<-s.over
	}
}

// stir has the fetches that wait look again.
func (s *Server) stir() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// runningAfter is the next node that runs; -1 if none does.
func (s *Server) runningAfter(id int32) int32 {
	for i := range int32(len(s.nodes)) {
		if n := s.nodes[(id+i)%int32(len(s.nodes))]; !n.down && !n.stunned {
			return n.id
		}
	}
	return -1
}

// DropTopics makes all topics vanish.
func (s *Server) DropTopics() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.topics)
	s.stir()
}

// DelayCreations has the creation of a topic take so long.
func (s *Server) DelayCreations(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.creating = by
}

// Refuse has requests to create or to delete topics answered with an error, and nothing done.
func (s *Server) Refuse(what kmsg.Key, with *kerr.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals[what] = with.Code
}

// Authenticate has every connection authenticate by SASL's PLAIN as this user first; whoever does anything else is hung up on.
func (s *Server) Authenticate(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plain = "\x00" + user + "\x00" + password
}

// LoseCreations has whoever creates a topic lose the connection at once, and makes the topic after a while.
func (s *Server) LoseCreations(after time.Duration) {
	s.DelayCreations(after)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unanswered = true
}

// Topics are the names of those that there are.
func (s *Server) Topics() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.topics {
		names = append(names, name)
	}
	return names
}

// Properties are those of the topic that was made last.
func (s *Server) Properties() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.properties)
}

// Answers is the truth about every batch that was answered, in the order of arrival.
func (s *Server) Answers() (all []Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.answers {
		if !a.Answered.IsZero() {
			all = append(all, a)
		}
	}
	return all
}

// Close ends all nodes and returns when nothing of them runs any more.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	close(s.over)
	for _, n := range s.nodes {
		if n.listener != nil {
			n.listener.Close()
		}
	}
	for c := range s.conns {
		c.Close()
	}
	s.stir()
	s.mu.Unlock()
	s.working.Wait()
}
