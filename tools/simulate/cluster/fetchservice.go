package cluster

import (
	"fmt"
	"math"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

const (
	fetchVersion    wire.APIVersion = 17
	replicaPatience                 = 500 * time.Millisecond // replica.socket.timeout.ms
	replicaBackoff                  = 30 * time.Millisecond  // replica.fetch.backoff.ms
	replicaWaitMS                   = 150                    // replica.fetch.wait.max.ms
	fetchBytesMax                   = 2000                   // of an answer
)

// fetchService asks one leader for what the node's replicas lack, on one connection, with one request at a time.
type fetchService struct {
	node    *Node
	leader  *Node
	fetcher *replicate.Fetcher
	conn    *world.Connection
	asked   int  // counts requests: what comes for an earlier one is nobody's
	resting bool // after a request that was lost
	timer   bool // one is set for the first back-off that ends
}

// fetchFrom gives the service that asks a leader.
func (n *Node) fetchFrom(leader wire.NodeID) *fetchService {
	at := leader - firstNode
	if n.fetchers[at] == nil {
		n.fetchers[at] = &fetchService{node: n, leader: n.cluster.node(leader), fetcher: replicate.NewFetcher(replicate.FetcherConfig{
			Replica: n.id, BrokerEpoch: n.registered, WaitMaxMS: replicaWaitMS, MinBytes: 1, MaxBytes: 2 * fetchBytesMax,
			PartitionMaxBytes: fetchBytesMax, Backoff: replicaBackoff,
		})}
	}
	return n.fetchers[at]
}

// fetchAnew lets a replica be fetched as its partition follows now, or not at all.
func (n *Node) fetchAnew(r *replica) {
	leader := r.partition.Leader()
	if leader == r.fetchedFrom && (leader == wire.NoNode || r.fetchedIn == r.partition.LeaderEpoch()) {
		return
	}
	r.fetchedFrom, r.fetchedIn = leader, r.partition.LeaderEpoch()
	for _, s := range n.fetchers {
		if s != nil && (leader == wire.NoNode || s.leader.id != leader) {
			s.fetcher.Remove(r.log.TopicID(), r.at())
		}
	}
	if leader == wire.NoNode {
		return
	}
	s := n.fetchFrom(leader)
	s.fetcher.Add(replicate.FetchTarget{
		Ref: r, Topic: r.log.TopicID(), Index: r.at(), Epoch: r.partition.LeaderEpoch(),
		Position: r.partition.Position(), LogStart: r.log.LogStartOffset(),
	}, r.partition.MayFetch())
	s.ask()
}

// ready says that a replica may be fetched from where it is, if that is so.
func (n *Node) ready(r *replica) {
	leader := r.partition.Leader()
	if leader == wire.NoNode || !r.partition.MayFetch() || n.fetchers[leader-firstNode] == nil {
		return
	}
	s := n.fetchers[leader-firstNode]
	s.fetcher.Ready(r.log.TopicID(), r.at(), r.partition.Position(), r.log.LogStartOffset())
	s.ask()
}

// ask sends the next request, if there is one and none is out.
func (s *fetchService) ask() {
	n := s.node
	if s.resting {
		return
	}
	request := s.fetcher.Next(n.now(), math.MaxInt64)
	if request == nil {
		s.askLater()
		return
	}
	if s.conn == nil || s.conn.Broken() {
		s.conn = n.cluster.network.Connect(n.process, s.leader.process)
	}
	s.asked++
	asked, conn, body := s.asked, s.conn, request.AppendTo(nil, fetchVersion)
	conn.Send("fetch", func() {
		s.leader.serveReplica(body, func(answer []byte) {
			conn.Answer("fetch answer", func() {
				if s.asked == asked {
					s.answered(answer)
				}
			})
		})
	})
	n.process.After(replicaPatience, func() {
		if s.asked == asked && s.fetcher.Out() {
			s.lost()
		}
	})
}

// askLater asks when the first back-off is over.
func (s *fetchService) askLater() {
	at, ok := s.fetcher.NextDue()
	if !ok || s.timer || s.fetcher.Out() {
		return
	}
	s.timer = true
	s.node.process.After(max(at-s.node.now(), time.Millisecond), func() {
		s.timer = false
		s.ask()
	})
}

// lost gives the connection up, and asks on another one a little later.
func (s *fetchService) lost() {
	s.conn.Close()
	s.fetcher.Lost()
	s.rest()
}

func (s *fetchService) rest() {
	s.asked++
	s.resting = true
	s.node.process.After(replicaBackoff, func() {
		s.resting = false
		s.ask()
	})
}

func (s *fetchService) answered(body []byte) {
	n := s.node
	s.asked++
	var view wire.FetchResponseView
	if err := view.Read(body, fetchVersion); err != nil {
		n.cluster.world.Fail("I12", "%s cannot read the answer of %s: %v", n.process.Name(), s.leader.process.Name(), err)
		return
	}
	actions, code := s.fetcher.Answer(n.now(), &view)
	for _, a := range actions {
		if !n.process.Running() {
			return
		}
		s.act(a)
	}
	switch {
	case !n.process.Running():
	case code != wire.None:
		s.rest()
	default:
		s.ask()
	}
}

// act does what an answer asks for about one replica.
func (s *fetchService) act(a replicate.FetchAction) {
	r := a.Ref.(*replica)
	if w := s.node.cluster.world; w.Tracing() {
		w.Tracef("%s: fetch of partition %d from node %d: kind %d, %v, from %d of epoch %d, high watermark %d, %d bytes, diverging %v", s.node.process.Name(), r.index,
			s.leader.id, a.Kind, a.Code, a.Offset, a.LastEpoch, a.HighWatermark, len(a.Records), a.Diverging)
	}
	switch a.Kind {
	case replicate.FetchFailed:
		return
	case replicate.FetchOutOfRange:
		if !r.partition.FetchedOutOfRange(a.Fetched, a.LeaderEnd, &r.effects) {
			s.fetcher.BackOff(r.log.TopicID(), r.at(), s.node.now())
		}
	default:
		if r.partition.FetchedFrom(a.Fetched, &r.effects) && !r.take(a.Records) {
			return
		}
		if len(a.Records) > 0 {
			r.hasTaken()
		}
	}
	r.follow()
}

// take appends a leader's batches; false if the node died of it.
func (r *replica) take(batches []byte) bool {
	for len(batches) > 0 {
		b, tail, err := wire.ReadRecordBatch(batches)
		if err == nil {
			err = b.Check()
		}
		if err != nil {
			r.node.cluster.ledgers[r.index].fail("I12", "%s got a damaged batch: %v", r.node.process.Name(), err)
			return false
		}
		plan, outcome := r.partition.AppendFetched(b, r.node.wallClock())
		switch outcome {
		case replicate.NeedsRoll:
			if !r.roll() {
				return false
			}
			continue
		case replicate.Planned:
			if !r.write(plan) {
				return false
			}
		default:
			return true
		}
		batches = tail
	}
	return true
}

// fetch answers a consumer.
func (n *Node) fetch(index int, off wire.Offset, epoch wire.LeaderEpoch) (wire.ErrorCode, []byte) {
	r := n.replicas[index]
	if r == nil {
		return wire.NotLeaderOrFollower, nil
	}
	read := r.partition.ConsumerFetch(replicate.ConsumerPosition{Offset: off, LastEpoch: wire.NoLeaderEpoch, CurrentEpoch: epoch})
	if read.Code != wire.None {
		return read.Code, nil
	}
	return wire.None, n.batches(r, off, read.Bound, fetchBytesMax)
}

// batches reads what a fetch may have: at least a batch, if there is one, and else up to size bytes.
func (n *Node) batches(r *replica, from, bound wire.Offset, size int) (all []byte) {
	err := r.read(from, bound, size, func(batches []byte) error {
		all = append(all, batches...)
		return nil
	})
	if err != nil {
		n.failed(fmt.Errorf("read partition %d: %w", r.index, err))
	}
	return all
}
