package replicate_test

import (
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/replicate/replicatetest"
	"github.com/ringmill/ringmill/wire"
)

// worldSession is the fetch session of one replica, of at most one partition.
type worldSession struct {
	id, epoch int32
	ask       *wire.FetchPartition
	told      wire.Offset
}

// serve is the leader's part of a fetch: a response, with records or without, comes of it at once.
func (w *world) serve(m worldMessage) {
	n := w.node(m.to)
	if n.Down || n.life != m.toLife {
		return
	}
	var r wire.FetchRequest
	must(r.Read(m.request, 17))
	var out wire.FetchResponse
	var records []byte
	s := n.session(&r)
	switch {
	case s == nil:
		out.ErrorCode = wire.FetchSessionIDNotFound
	case s.epoch != r.SessionEpoch:
		out.ErrorCode = wire.InvalidFetchSessionEpoch
	default:
		s.epoch++
		out.SessionID = s.id
		s.update(&r)
		if s.ask != nil {
			records = w.servePartition(n, &r, s, &out)
		}
	}
	dst, pieces := out.AppendTo(nil, 17, nil)
	dst = interleaved(dst, pieces, records)
	w.settle(n)
	w.network = append(w.network, worldMessage{to: m.from, from: m.to, toLife: m.fromLife, connection: m.connection, correlation: m.correlation, response: dst})
}

// session finds a request's session or begins one.
func (n *worldNode) session(r *wire.FetchRequest) *worldSession {
	if r.SessionEpoch == 0 {
		s := &worldSession{id: int32(len(n.sessions)+1)*1000 + int32(r.ReplicaID)}
		for n.sessions[r.ReplicaID] != nil && n.sessions[r.ReplicaID].id == s.id {
			s.id += 100
		}
		n.sessions[r.ReplicaID] = s
		return s
	}
	if s := n.sessions[r.ReplicaID]; s != nil && s.id == r.SessionID {
		return s
	}
	return nil
}

func (s *worldSession) update(r *wire.FetchRequest) {
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			s.ask, s.told = &p, wire.NoOffset
		}
	}
	if len(r.Forgotten) > 0 {
		s.ask = nil
	}
}

// servePartition answers for the session's partition, if there is news.
func (w *world) servePartition(n *worldNode, r *wire.FetchRequest, s *worldSession, out *wire.FetchResponse) []byte {
	eligible := !w.controller.fenced[r.ReplicaID] && w.controller.brokers[r.ReplicaID] == r.ReplicaEpoch
	a, err := n.Serve(w.now, replicatetest.Ask{ReplicaPosition: replicate.ReplicaPosition{
		Replica: r.ReplicaID, BrokerEpoch: r.ReplicaEpoch, Eligible: eligible, Offset: s.ask.FetchOffset, LogStart: s.ask.LogStartOffset,
		LastEpoch: s.ask.LastFetchedEpoch, CurrentEpoch: s.ask.CurrentLeaderEpoch,
	}}, w.draw(3))
	must(err)
	if a.Code == wire.None && !a.Diverging.Set && len(a.Records) == 0 && a.HighWatermark == s.told {
		return nil
	}
	s.told = a.HighWatermark
	out.AddTopic(nil, wire.TopicID{1})
	out.AddPartition(wire.FetchPartitionResponse{
		ErrorCode: a.Code, HighWatermark: a.HighWatermark, LastStableOffset: a.LastStable, LogStartOffset: a.LogStart, PreferredReadReplica: wire.NoNode,
		DivergingEpoch: a.Diverging, RecordsLength: int32(len(a.Records)),
	})
	return a.Records
}

// interleaved puts the one partition's records where they belong.
func interleaved(dst []byte, pieces []wire.FetchPiece, records []byte) []byte {
	if len(pieces) == 0 {
		return dst
	}
	at := pieces[0].HeaderEnd
	return append(append(append([]byte(nil), dst[:at]...), records...), dst[at:]...)
}
