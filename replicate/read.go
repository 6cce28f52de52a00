package replicate

import (
	"time"

	"github.com/ringmill/ringmill/wire"
)

// ReplicaPosition is what a replica's Fetch says of one partition.
type ReplicaPosition struct {
	Replica wire.NodeID
	// BrokerEpoch is the replica's, and Eligible says that its broker is registered under it and is neither fenced nor shutting down.
	BrokerEpoch wire.BrokerEpoch
	Eligible    bool
	// Offset is the next one to fetch: the replica keeps all below it.
	Offset, LogStart wire.Offset
	// LastEpoch is the newest leader epoch of the replica's log, CurrentEpoch that in which it follows; wire.NoLeaderEpoch: not told.
	LastEpoch, CurrentEpoch wire.LeaderEpoch
	// Again says that the fetch has waited since its position was taken note of.
	Again bool
}

// ConsumerPosition is what a consumer's Fetch says of one partition.
type ConsumerPosition struct {
	Offset wire.Offset
	// LastEpoch and CurrentEpoch are as a replica's (KIP-320).
	LastEpoch, CurrentEpoch wire.LeaderEpoch
	// AnyReplica says that the consumer reads from followers (KIP-392).
	AnyReplica bool
	// Committed bounds the read by the last stable offset.
	Committed bool
}

// Read is where a fetch may read. Beside an error code only what Code's comment says holds.
type Read struct {
	// Code beside OFFSET_OUT_OF_RANGE to a replica: LogStart and Diverging are set, the latter to the leader's newest epoch and its log
	// end, from which the replica sees whether to cut its log or to begin anew.
	Code wire.ErrorCode
	// Diverging says that nothing is read: the reader's log and this one part at its EndOffset or before it (KIP-595).
	Diverging wire.EpochEndOffset
	// Bound is the first offset that may not be read.
	Bound                               wire.Offset
	HighWatermark, LastStable, LogStart wire.Offset
	// InSync says that the replica that fetches is in the ISR: the leader's throttle does not hold it back (KIP-73).
	InSync bool
}

// ReplicaFetch serves a replica's fetch: it takes note of what the replica keeps, which may move the high watermark and propose an ISR,
// and says where it may read, up to what is written.
func (p *Partition) ReplicaFetch(now time.Duration, pos ReplicaPosition, eff *Effects) Read {
	r, f, code := p.knownReplica(&pos)
	if code != wire.None {
		return Read{Code: code}
	}
	read := p.read(pos.Offset, pos.LastEpoch)
	read.InSync = f.inSync
	if read.Code == wire.OffsetOutOfRange {
		read.Diverging = wire.EpochEndOffset{Set: true, Epoch: p.log.LatestEpoch(), EndOffset: p.log.LogEndOffset()}
		return read
	}
	if !pos.Again && read.Code == wire.None && !read.Diverging.Set {
		r.now = max(r.now, now)
		f.fetch(now, &pos, p.written)
		p.expand(f, eff)
		p.advance(eff)
		read.HighWatermark, read.LastStable = p.highWatermark, p.LastStableOffset()
	}
	read.Bound = p.written
	return read
}

// knownReplica finds the replica that fetches, if this one leads in its epoch.
func (p *Partition) knownReplica(pos *ReplicaPosition) (*reign, *progress, wire.ErrorCode) {
	if p.reign == nil {
		return nil, nil, wire.NotLeaderOrFollower
	}
	if code := p.checkEpoch(pos.CurrentEpoch); code != wire.None {
		return nil, nil, code
	}
	f := p.reign.other(pos.Replica)
	switch {
	case f == nil && pos.CurrentEpoch >= 0:
		return nil, nil, wire.UnknownLeaderEpoch // the metadata that makes it a replica is not here yet
	case f == nil, pos.BrokerEpoch >= 0 && pos.BrokerEpoch < f.registered:
		return nil, nil, wire.NotLeaderOrFollower
	}
	return p.reign, f, wire.None
}

// ConsumerFetch says where a consumer may read.
func (p *Partition) ConsumerFetch(pos ConsumerPosition) Read {
	if p.role == Resting || p.role == Following && !pos.AnyReplica {
		return Read{Code: wire.NotLeaderOrFollower}
	}
	if code := p.checkEpoch(pos.CurrentEpoch); code != wire.None {
		return Read{Code: code}
	}
	read := p.read(pos.Offset, pos.LastEpoch)
	if read.Bound = read.HighWatermark; pos.Committed {
		read.Bound = read.LastStable
	}
	return read
}

// checkEpoch tells a client of another leader epoch than this replica's which of the two is behind.
func (p *Partition) checkEpoch(current wire.LeaderEpoch) wire.ErrorCode {
	switch {
	case current >= 0 && current < p.leaderEpoch:
		return wire.FencedLeaderEpoch
	case current > p.leaderEpoch:
		return wire.UnknownLeaderEpoch
	}
	return wire.None
}

// read finds out whether the reader's log, which has an offset's predecessor of the epoch last, is one with this one.
func (p *Partition) read(off wire.Offset, last wire.LeaderEpoch) Read {
	read := Read{HighWatermark: p.highWatermark, LastStable: p.LastStableOffset(), LogStart: p.log.LogStartOffset()}
	if last >= 0 {
		epoch, end := p.log.EndOffsetForEpoch(last)
		switch {
		case end < 0 || off < read.LogStart:
			read.Code = wire.OffsetOutOfRange
			return read
		case epoch < last || end < off:
			read.Diverging = wire.EpochEndOffset{Set: true, Epoch: epoch, EndOffset: end}
			return read
		}
	}
	if off < read.LogStart || off > p.log.LogEndOffset() {
		read.Code = wire.OffsetOutOfRange
	}
	return read
}

// WaitReplicaFetch registers a replica's fetch that saw the log's written end at seen; it is woken by what is written next. It returns
// false, registering nothing, if that has happened since, or the replica does not lead any more: the fetch must read again.
func (p *Partition) WaitReplicaFetch(w FetchWaiter, seen wire.Offset) bool {
	if p.role != Leading || p.written > seen {
		return false
	}
	p.replicaFetches.put(w)
	return true
}
