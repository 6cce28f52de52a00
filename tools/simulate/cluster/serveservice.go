package cluster

import (
	"slices"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// fetchSession is a follower's incremental fetch session (KIP-227) on a leader.
type fetchSession struct {
	id, epoch  int32
	partitions []sessionPartition // in the order in which they were named
}

// sessionPartition is what a session asks of a partition, and what its follower was told last.
type sessionPartition struct {
	topic      wire.TopicID
	ask        wire.FetchPartition
	told       bool
	high, from wire.Offset // high watermark and log start offset
}

// waitingFetch is a follower's request that may wait for records.
type waitingFetch struct {
	node    *Node
	replica wire.NodeID
	epoch   wire.BrokerEpoch
	session *fetchSession
	full    bool // all partitions are answered, not only those with news
	reply   func([]byte)
	waited  bool
	done    bool
}

// serveReplica answers a follower's Fetch.
func (n *Node) serveReplica(body []byte, reply func([]byte)) {
	var request wire.FetchRequest
	if err := request.Read(body, fetchVersion); err != nil {
		n.cluster.world.Fail("I12", "%s cannot read a follower's fetch: %v", n.process.Name(), err)
		return
	}
	session, code := n.session(&request)
	if code != wire.None {
		answer, _ := (&wire.FetchResponse{ErrorCode: code}).AppendTo(nil, fetchVersion, nil)
		reply(answer)
		return
	}
	f := &waitingFetch{
		node: n, replica: request.ReplicaID, epoch: request.ReplicaEpoch, session: session, full: request.SessionEpoch <= 0, reply: reply,
	}
	n.process.After(time.Duration(request.MaxWaitMS)*time.Millisecond, func() { f.attempt(true) })
	f.attempt(false)
}

// session finds or makes the session of a request, and brings it up to date.
func (n *Node) session(r *wire.FetchRequest) (*fetchSession, wire.ErrorCode) {
	at := slices.IndexFunc(n.sessions, func(s *fetchSession) bool { return s.id == r.SessionID })
	if r.SessionEpoch == 0 {
		if at >= 0 {
			n.sessions = slices.Delete(n.sessions, at, at+1)
		}
		n.lastSession++
		s := &fetchSession{id: n.lastSession, epoch: 1}
		n.sessions = append(n.sessions, s)
		s.update(r)
		return s, wire.None
	}
	switch {
	case at < 0:
		return nil, wire.FetchSessionIDNotFound
	case n.sessions[at].epoch != r.SessionEpoch:
		return nil, wire.InvalidFetchSessionEpoch
	}
	s := n.sessions[at]
	s.epoch++
	s.update(r)
	return s, wire.None
}

func (s *fetchSession) find(topic wire.TopicID, index wire.PartitionIndex) int {
	return slices.IndexFunc(s.partitions, func(p sessionPartition) bool { return p.topic == topic && p.ask.Index == index })
}

func (s *fetchSession) update(r *wire.FetchRequest) {
	for i := range r.Topics {
		for _, p := range r.Topics[i].Partitions {
			at := s.find(r.Topics[i].ID, p.Index)
			if at < 0 {
				s.partitions = append(s.partitions, sessionPartition{topic: r.Topics[i].ID, ask: p})
			} else {
				s.partitions[at] = sessionPartition{topic: r.Topics[i].ID, ask: p} // and is told anew
			}
		}
	}
	for i := range r.Forgotten {
		for _, index := range r.Forgotten[i].Partitions {
			if at := s.find(r.Forgotten[i].ID, index); at >= 0 {
				s.partitions = slices.Delete(s.partitions, at, at+1)
			}
		}
	}
}

// attempt answers if there is anything to tell, or anyhow when the request has waited for long enough.
func (f *waitingFetch) attempt(atLast bool) {
	n := f.node
	if f.done {
		return
	}
	var response wire.FetchResponse
	var records [][]byte
	response.SessionID = f.session.id
	waits := !atLast
	for i := range f.session.partitions {
		p := &f.session.partitions[i]
		answer, batches, quiet := f.partition(p)
		if !n.process.Running() {
			return
		}
		news := !quiet || !p.told || p.high != answer.HighWatermark || p.from != answer.LogStartOffset
		waits = waits && !news
		if !f.full && !news {
			continue
		}
		answer.RecordsLength = int32(len(batches))
		response.AddTopic(nil, p.topic)
		response.AddPartition(answer)
		if len(batches) > 0 {
			records = append(records, batches)
		}
	}
	f.waited = true
	if waits && f.wait() {
		n.settleReplicas()
		return
	}
	f.finish(&response, records)
	n.settleReplicas()
}

// finish sends the answer.
func (f *waitingFetch) finish(response *wire.FetchResponse, records [][]byte) {
	f.done = true
	for i := range f.session.partitions {
		if r := f.node.replicaOf(f.session.partitions[i].topic, f.session.partitions[i].ask.Index); r != nil {
			r.partition.CancelFetch(f)
		}
	}
	for i := range response.Topics {
		answer := &response.Topics[i].Partitions[0]
		p := &f.session.partitions[f.session.find(response.Topics[i].ID, answer.Index)]
		p.told, p.high, p.from = answer.ErrorCode == wire.None, answer.HighWatermark, answer.LogStartOffset
	}
	header, pieces := response.AppendTo(nil, fetchVersion, nil)
	var body []byte
	at := 0
	for i, piece := range pieces {
		body = append(append(body, header[at:piece.HeaderEnd]...), records[i]...)
		at = piece.HeaderEnd
	}
	f.reply(append(body, header[at:]...))
}

// partition reads one partition. quiet says that there is nothing to tell of but where the high watermark is.
func (f *waitingFetch) partition(p *sessionPartition) (answer wire.FetchPartitionResponse, batches []byte, quiet bool) {
	n := f.node
	r := n.replicaOf(p.topic, p.ask.Index)
	if r == nil {
		return wire.FailedFetch(p.ask.Index, wire.UnknownTopicID), nil, false
	}
	read := r.partition.ReplicaFetch(n.now(), replicate.ReplicaPosition{
		Replica: f.replica, BrokerEpoch: f.epoch, Eligible: n.eligible(f.replica, f.epoch), Offset: p.ask.FetchOffset, LogStart: p.ask.LogStartOffset,
		LastEpoch: p.ask.LastFetchedEpoch, CurrentEpoch: p.ask.CurrentLeaderEpoch, Again: f.waited,
	}, &r.effects)
	if read.Code != wire.None {
		answer = wire.FailedFetch(p.ask.Index, read.Code)
		answer.DivergingEpoch = read.Diverging
		if read.Code == wire.OffsetOutOfRange {
			answer.LogStartOffset = read.LogStart
		}
		return answer, nil, false
	}
	answer = wire.FetchPartitionResponse{
		Index: p.ask.Index, HighWatermark: read.HighWatermark, LastStableOffset: read.LastStable, LogStartOffset: read.LogStart,
		PreferredReadReplica: wire.NoNode, DivergingEpoch: read.Diverging,
	}
	if read.Diverging.Set {
		return answer, nil, false
	}
	batches = n.batches(r, p.ask.FetchOffset, read.Bound, int(p.ask.MaxBytes))
	return answer, batches, len(batches) == 0
}

// wait lets the request wait for what is written next; false if something has been written since it was read.
func (f *waitingFetch) wait() bool {
	waits := false
	for i := range f.session.partitions {
		p := &f.session.partitions[i]
		r := f.node.replicaOf(p.topic, p.ask.Index)
		if !r.partition.WaitReplicaFetch(replicate.FetchWaiter{Ref: f}, r.partition.WrittenEnd()) {
			return false
		}
		waits = true
	}
	return waits
}

// again reads once more after something was written.
func (f *waitingFetch) again() { f.attempt(false) }

func (n *Node) replicaOf(topic wire.TopicID, index wire.PartitionIndex) *replica {
	for i, at := range n.cluster.places {
		if at.Partition == index && topicIDs[at.Topic] == topic && n.replicas[i] != nil && n.replicas[i].log.TopicID() == topic {
			return n.replicas[i]
		}
	}
	return nil
}

// eligible says whether a broker may be in an in-sync set, as the node's image has it.
func (n *Node) eligible(id wire.NodeID, epoch wire.BrokerEpoch) bool {
	b := n.image.Broker(id)
	return b != nil && b.Epoch == epoch && !b.Fenced && !b.ShuttingDown
}
