package node

import (
	"sync"
	"time"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/wire"
)

// remoteCalls are what coordinators and partitions of this node ask of those of others, of one kind. What waits for a node goes out
// together, in a few requests at a time.
//
//	put ─▶ line of the node ─▶ ask: one request for many ─▶ answers, each to whoever put it
type remoteCalls[T any] struct {
	node *Node
	// askers bounds the requests that are under way to one node, batch what goes into one. The askers of all kinds are fewer than
	// peerCallsMax: the controller has to be reached however long others wait.
	askers, batch int
	// ask sends one request for what it is given and answers each. It blocks. Where it gives an error, lost answers each.
	ask  func(address string, what []T) error
	lost func(T)

	mu    sync.Mutex
	lines map[wire.NodeID]*remoteLine[T]
}

// remoteLine is what waits for one node, and how many goroutines ask it.
type remoteLine[T any] struct {
	waiting []T
	askers  int
}

// remoteTimeout is how long a node waits for another's coordinator or partition (Kafka's request.timeout.ms).
const remoteTimeout = 30 * time.Second

// put has a node asked; any goroutine may call, and a loop too. NoNode cannot be asked.
func (r *remoteCalls[T]) put(to wire.NodeID, what T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lines == nil {
		r.lines = make(map[wire.NodeID]*remoteLine[T])
	}
	line := r.lines[to]
	if line == nil {
		line = new(remoteLine[T])
		r.lines[to] = line
	}
	line.waiting = append(line.waiting, what)
	if line.askers < r.askers {
		line.askers++
		go r.run(to, line)
	}
}

// run asks a node until nothing waits for it.
func (r *remoteCalls[T]) run(to wire.NodeID, line *remoteLine[T]) {
	for what := r.take(line); len(what) > 0; what = r.take(line) {
		address, err := r.node.peerAddress(to)
		if err == nil {
			err = r.ask(address, what)
		}
		if err == nil {
			continue
		}
		r.node.log.throttled("another node was asked in vain", "node", int(to), "error", err)
		for _, w := range what {
			r.lost(w)
		}
	}
}

// take gives what goes into the next request; with nothing the asker is gone.
func (r *remoteCalls[T]) take(line *remoteLine[T]) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(line.waiting), r.batch)
	what := line.waiting[:n:n]
	if line.waiting = line.waiting[n:]; len(line.waiting) == 0 {
		line.waiting = nil
	}
	if n == 0 {
		line.askers--
	}
	return what
}

// elsewhere is the node that leads a partition, if that is another one; NoNode while there is none. Not remote is what this node is to
// answer: it leads, or says that there is no such partition.
func (n *Node) elsewhere(topic string, index wire.PartitionIndex) (leader wire.NodeID, remote bool) {
	if n.cluster == nil {
		return wire.NoNode, false
	}
	t := n.Image().ByName(topic)
	if t == nil || index < 0 || int32(index) >= t.Partitions {
		return wire.NoNode, false
	}
	s := t.State(index)
	if s == nil || s.Leader == n.Config().NodeID {
		return wire.NoNode, false
	}
	return s.Leader, true
}

// coordinatorElsewhere is elsewhere for the partition of an internal topic that a key hashes to.
func (n *Node) coordinatorElsewhere(topic, key string) (coordinator wire.NodeID, remote bool) {
	t := n.Image().ByName(topic)
	if t == nil {
		return wire.NoNode, false
	}
	return n.elsewhere(topic, wire.PartitionIndex(group.PartitionFor(key, t.Partitions)))
}
