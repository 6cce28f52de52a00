package node

import (
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// fetcherOf says who fetches: a consumer, or a follower of this node's leaders.
type fetcherOf struct {
	// replica is the follower's node, wire.NoNode for a consumer; epoch is that of its registration, as it says.
	replica wire.NodeID
	epoch   wire.BrokerEpoch
	// eligible says that the metadata has the follower's node as one that may be in sync: registered under epoch, neither fenced nor
	// shutting down.
	eligible bool
	// anyReplica says that a consumer knows of reading from followers (KIP-392), rack is where it is.
	anyReplica bool
	rack       string
}

// fetchRackVersion is the first Fetch with the consumer's rack: an older client reads from leaders alone.
const fetchRackVersion wire.APIVersion = 11

// fetcher says who sent a Fetch.
func (n *Node) fetcher(in *wire.FetchRequest, v wire.APIVersion) fetcherOf {
	if in.ReplicaID < 0 {
		return fetcherOf{replica: wire.NoNode, anyReplica: v >= fetchRackVersion, rack: string(in.RackID)}
	}
	b := n.Image().Broker(in.ReplicaID)
	return fetcherOf{
		replica: in.ReplicaID, epoch: in.ReplicaEpoch,
		eligible: b != nil && b.Epoch == in.ReplicaEpoch && !b.Fenced && !b.ShuttingDown,
	}
}

// follower says whether a replica fetches.
func (f *fetcherOf) follower() bool { return f.replica != wire.NoNode }

// read asks a partition's state machine how far a part may be read.
func (l *Loop) read(s *fetchShare, p *fetchPart) replicate.Read {
	part, by := p.part, &s.request.by
	if part.stopped != wire.None {
		return replicate.Read{Code: part.stopped}
	}
	if !by.follower() {
		return part.replica.ConsumerFetch(replicate.ConsumerPosition{
			Offset: p.ask.FetchOffset, LastEpoch: p.ask.LastFetchedEpoch, CurrentEpoch: p.ask.CurrentLeaderEpoch,
			AnyReplica: by.anyReplica, Committed: s.request.committed,
		})
	}
	read := part.replica.ReplicaFetch(l.mono, replicate.ReplicaPosition{
		Replica: by.replica, BrokerEpoch: by.epoch, Eligible: by.eligible, Offset: p.ask.FetchOffset, LogStart: p.ask.LogStartOffset,
		LastEpoch: p.ask.LastFetchedEpoch, CurrentEpoch: p.ask.CurrentLeaderEpoch, Again: s.request.again || s.noted,
	}, &l.eff)
	s.noted = true
	l.apply(part)
	return read
}

// seen is the end of what there was for whoever fetches: what is written, for a follower. Readers of committed records wait for the high
// watermark too, without which the last stable offset does not move.
func (p *fetchPart) seen(by *fetcherOf) wire.Offset {
	if by.follower() {
		return p.bound
	}
	return p.highWatermark
}

// waitFor has a partition wake a fetch when there is more than it saw: of what consumers see, or for a follower of what is written. false
// if there is already.
func (part *partition) waitFor(w replicate.FetchWaiter, by *fetcherOf, seen wire.Offset) bool {
	if part.stopped != wire.None {
		return false
	}
	if by.follower() {
		return part.replica.WaitReplicaFetch(w, seen)
	}
	return part.replica.WaitFetch(w, seen)
}
