package replicate

import (
	"time"

	"github.com/ringmill/ringmill/wire"
)

// Metadata is what Lead and Follow have in common: the state of the partition that the cluster's metadata has, and where in the
// metadata it was found.
type Metadata struct {
	// Version is the image version that the state is of, and Registered this node's broker epoch: the version of the image that its
	// registration changed. Up to that one state is of the node's last life, and ignored.
	Version, Registered wire.BrokerEpoch
	Epoch               wire.LeaderEpoch
	PartitionEpoch      wire.PartitionEpoch
	// Ref marks the partition's proposals and truncations.
	Ref any
}

// LeaderState is what a leader is told by the metadata.
type LeaderState struct {
	Metadata
	Self wire.NodeID
	// Replicas is the assignment, and ISR those of it that are in sync; both with Self.
	Replicas, ISR []wire.NodeID
	// MinISR is min.insync.replicas, LagMax replica.lag.time.max.ms.
	MinISR int
	LagMax time.Duration
}

// FollowerState is what a follower is told by the metadata.
type FollowerState struct {
	Metadata
	// Leader is wire.NoNode while there is none.
	Leader wire.NodeID
	// Counted says that the replica is in the ISR or the ELR, so that what is acknowledged counts on it; or that it led last, and the partition
	// falls back on it when nobody has all (KIP-966).
	Counted bool
}

// stale says whether metadata is no newer than what the replica knows, or older than the node's registration.
func (p *Partition) stale(m *Metadata) bool {
	return m.Version <= m.Registered || m.Epoch < p.leaderEpoch || m.PartitionEpoch < p.partitionEpoch ||
		p.role != Resting && m.Epoch == p.leaderEpoch && m.PartitionEpoch == p.partitionEpoch
}

func (p *Partition) learn(m *Metadata) {
	p.leaderEpoch, p.partitionEpoch, p.ref = m.Epoch, m.PartitionEpoch, m.Ref
}

// Lead makes the replica the leader, or tells a leader of a change of its replicas; now is monotonic. epochs says that the leader epoch
// cache has a new entry, which is to be written (segment.Log.EpochCheckpoint). State that is stale changes nothing.
//
// A log that is being cut is not led before it is: the owner holds the metadata back until Truncated.
func (p *Partition) Lead(now time.Duration, s LeaderState, eff *Effects) (epochs bool) {
	if p.stale(&s.Metadata) {
		return false
	}
	if p.truncating {
		panic("BUG: led while its log is being cut")
	}
	p.log.SetReplicated(len(s.Replicas) > 1)
	if p.role == Leading && s.Epoch == p.leaderEpoch && p.reign != nil {
		p.learn(&s.Metadata)
		p.reign.update(now, &s, p.written)
		p.settle(eff)
		return false
	}
	p.leave(eff)
	p.learn(&s.Metadata)
	p.role, p.reign = Leading, newReign(now, &s, p.log.LogEndOffset())
	epochs = p.log.AssignEpoch(s.Epoch, p.log.LogEndOffset())
	p.settle(eff)
	return epochs
}

// Follow makes the replica a follower, or tells it of another leader or another state. A leader that it was fails who waits for its
// records. A replica that lacks something is mended when nobody counts on it any more: of a log that is damaged what is from there on is
// cut, and fetched again. State that is stale changes nothing.
func (p *Partition) Follow(s FollowerState, eff *Effects) {
	if p.stale(&s.Metadata) {
		return
	}
	same := p.role == Following && s.Epoch == p.leaderEpoch
	p.learn(&s.Metadata)
	if same {
		p.following.leader = s.Leader
		p.mend(s.Counted, eff)
		return
	}
	p.leave(eff)
	p.log.SetReplicated(true)
	p.role, p.following = Following, &following{leader: s.Leader, highWatermark: p.highWatermark}
	p.mend(s.Counted, eff)
	p.check()
}

// leave ends what the replica did: what its producers wait for is no longer its to promise, and every fetch has to read again.
func (p *Partition) leave(eff *Effects) {
	p.fail(0, wire.NotLeaderOrFollower, eff)
	p.wake(eff)
	p.reign, p.following = nil, nil
}

// settle brings the high watermark up to date after a change of the replicas, and refuses what they are too few for.
func (p *Partition) settle(eff *Effects) {
	p.advance(eff)
	if p.reign.underMinISR() {
		p.unsafe.fail(0, wire.NotEnoughReplicasAfterAppend, eff)
	}
}

// Leader is the leader that a follower fetches from; wire.NoNode if there is none or the replica does not follow.
func (p *Partition) Leader() wire.NodeID {
	if p.following == nil {
		return wire.NoNode
	}
	return p.following.leader
}
