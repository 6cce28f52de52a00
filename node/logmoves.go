package node

import (
	"sync"
	"time"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// logMoves are the moves of logs that are under way or wait for their turn, and the wishes for partitions that are not there yet.
type logMoves struct {
	mu     sync.Mutex
	of     map[*partition]*logMove
	wishes map[wire.TopicPartition]*logDir
	closed bool
	// turns bounds how many are under way at once.
	turns chan struct{}
	all   sync.WaitGroup
	// pacer is that of all moves together.
	paceMu  sync.Mutex
	pacer   pacer
	metrics logMoveMetrics
}

// wishesMax bounds what clients can have remembered of partitions that do not exist; Kafka sets no bound.
const wishesMax = 10_000

func newLogMoves(atOnce int) *logMoves {
	return &logMoves{
		of: make(map[*partition]*logMove), wishes: make(map[wire.TopicPartition]*logDir), turns: make(chan struct{}, atOnce),
	}
}

// MoveLog has a partition's log go on in another log directory, in the background (ReplicaManager.alterReplicaLogDirs). A move to
// where it lies cancels one that is under way.
func (n *Node) MoveLog(tp wire.TopicPartition, dir string) wire.ErrorCode {
	n.metaMu.Lock()
	defer n.metaMu.Unlock()
	to := n.dirNamed(dir)
	switch _, movable := segment.FutureDir(dir, tp, wire.TopicID{}); {
	case !movable:
		return wire.InvalidTopicException
	case to == nil:
		return wire.LogDirNotFound
	case to.offline.Load():
		return wire.KafkaStorageError
	}
	t := n.topics.named([]byte(tp.Topic))
	if t == nil || t.part(tp.Partition) == nil {
		n.moves.wish(tp, to)
		return wire.UnknownTopicOrPartition
	}
	return n.moveLog(t.part(tp.Partition), to)
}

func (n *Node) moveLog(p *partition, to *logDir) wire.ErrorCode {
	if p.dir().offline.Load() {
		return wire.KafkaStorageError
	}
	if m := n.moves.under(p); m != nil {
		if m.to == to {
			return wire.None
		}
		n.moves.end(p)
	}
	switch {
	case p.dir() == to:
		return wire.None
	case n.someOffline(): // there may be a copy already
		return wire.KafkaStorageError
	}
	dir, _ := segment.FutureDir(to.path, wire.TopicPartition{Topic: p.topic, Partition: p.index}, newUUID())
	return n.beginMove(p, to, dir)
}

// beginMove makes the copy's directory, so that a restart knows of the move, and begins it.
func (n *Node) beginMove(p *partition, to *logDir, dir string) wire.ErrorCode {
	future, err := segment.NewFutureLog(to.fs, dir, p.id)
	if err != nil {
		n.log.throttled("a log cannot be moved", "partition", p.name(), "to", to.path, "error", err)
		if !passes(err) {
			p.loop.on(func(l *Loop) { l.storageFault(to, "move "+p.name(), err) })
		}
		return wire.KafkaStorageError
	}
	m := &logMove{node: n, p: p, to: to, future: future, cancelled: make(chan struct{}), ended: make(chan struct{})}
	to.partitions.Add(1)
	n.moves.begin(m)
	return wire.None
}

// dirNamed is the log directory with that absolute path; nil if there is none.
func (n *Node) dirNamed(path string) *logDir {
	for _, d := range n.dirs {
		if d.absolute == path {
			return d
		}
	}
	return nil
}

func (s *logMoves) begin(m *logMove) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		close(m.ended)
		return
	}
	s.of[m.p] = m
	s.all.Add(1)
	go m.run()
}

func (s *logMoves) finished(m *logMove) {
	s.mu.Lock()
	delete(s.of, m.p)
	s.mu.Unlock()
	close(m.ended)
	s.all.Done()
}

// under is a partition's move; nil if there is none.
func (s *logMoves) under(p *partition) *logMove {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[p]
}

// end cancels a partition's move and waits until nothing of it is left; one that is at its end already comes to it.
func (s *logMoves) end(p *partition) {
	s.mu.Lock()
	m := s.of[p]
	if m != nil {
		m.cancel()
	}
	s.mu.Unlock()
	if m != nil {
		<-m.ended
	}
}

// cancel is called under logMoves.mu.
func (m *logMove) cancel() {
	select {
	case <-m.cancelled:
	default:
		close(m.cancelled)
	}
}

// stop lets no move begin any more and waits for those under way, which end at the node's quit.
func (s *logMoves) stop() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.all.Wait()
}

func (s *logMoves) pace(bytes int, perSecond int64) time.Duration {
	s.paceMu.Lock()
	defer s.paceMu.Unlock()
	return s.pacer.take(bytes, float64(perSecond))
}

// wish remembers where a partition is to be made once it is.
func (s *logMoves) wish(tp wire.TopicPartition, to *logDir) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.wishes[tp]; again || len(s.wishes) < wishesMax {
		s.wishes[tp] = to
	}
}

// takeWish gives the log directory that a new partition is to lie in; nil if any will do.
func (s *logMoves) takeWish(tp wire.TopicPartition) *logDir {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.wishes[tp]
	delete(s.wishes, tp)
	return to
}
