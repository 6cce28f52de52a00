package replicate

import (
	"fmt"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// FlushPolicy says when a record counts as safe; docs/reliability.md has what each survives.
type FlushPolicy uint8

const (
	// FlushCommit counts a record as safe when it is on disk.
	FlushCommit FlushPolicy = iota
	// FlushInterval counts a record as safe in the page cache and syncs by flush.ms and flush.messages.
	FlushInterval
	// FlushCache counts a record as safe in the page cache and leaves syncing to the kernel, as Apache Kafka does.
	FlushCache
)

// Role is what a replica does for its partition.
type Role uint8

// The roles.
const (
	// Resting: no metadata has said yet what it is.
	Resting Role = iota
	// Leading: it appends what producers send, and decides what is safe.
	Leading
	// Following: it appends what the leader has. There may be no leader at the time.
	Following
)

// String names the role.
func (r Role) String() string { return [...]string{"resting", "leading", "following"}[r] }

// Partition is one replica of a partition. Not safe for concurrent use: its loop owns it.
type Partition struct {
	log *segment.Log

	// policy decides which of written and synced is safe here.
	policy FlushPolicy
	role   Role
	// truncating says that a Truncation is out: nothing is appended until Truncated.
	truncating bool
	// lacking says that the replica may lack what it has promised to keep, lackingSince the newest leader epoch in which it may have
	// promised it; see Lack.
	lacking      bool
	lackingSince wire.LeaderEpoch
	// leaderEpoch is that of the newest metadata; a leader stamps it on each appended batch.
	leaderEpoch wire.LeaderEpoch
	// partitionEpoch is that of the newest metadata; older ones are ignored.
	partitionEpoch wire.PartitionEpoch
	// highWatermark bounds what consumers see; see I7b.
	highWatermark wire.Offset
	// written is the end of what the page cache has; synced of what the disk has.
	written, synced wire.Offset
	// unwritten waits for written (acks 0 and 1), unsafe for highWatermark (acks all). Both are empty unless it leads.
	unwritten, unsafe delayedProduces
	// fetches wait for the next advance of highWatermark, replicaFetches for that of written.
	fetches, replicaFetches delayedFetches
	// reign is what a leader of the cluster knows of the other replicas; nil for a follower, and for a replica that never has others.
	reign *reign
	// following is what a follower knows of its leader; nil for a leader.
	following *following
	// ref marks the Effects that need no request to know the partition by.
	ref any
}

// NewPartition makes the state for the recovered log of a node that has no cluster: it leads, alone and for good. Everything in the
// log is written and, since recovery synced it or a clean stop did, on disk.
func NewPartition(log *segment.Log, policy FlushPolicy, epoch wire.LeaderEpoch) *Partition {
	p := NewReplica(log, policy, log.LogEndOffset())
	p.role, p.leaderEpoch = Leading, epoch
	return p
}

// NewReplica makes the state for the recovered log of a node of a cluster. It rests until Lead or Follow. The high watermark is that of
// the replication-offset-checkpoint file, 0 if there is none: the log below it is what every leader of the time had. Of a damaged log
// the replica lacks something (Lack).
func NewReplica(log *segment.Log, policy FlushPolicy, highWatermark wire.Offset) *Partition {
	end := log.LogEndOffset()
	p := &Partition{log: log, policy: policy, leaderEpoch: wire.NoLeaderEpoch, partitionEpoch: wire.NoPartitionEpoch, written: end, synced: end}
	p.highWatermark = min(max(highWatermark, log.LogStartOffset()), end)
	log.ReleaseBelow(p.highWatermark)
	p.lacking, p.lackingSince = log.Damage() != nil, wire.NoLeaderEpoch
	return p
}

// Log is the partition's log; its owner is the partition's owner.
func (p *Partition) Log() *segment.Log { return p.log }

// Role is what the replica does now.
func (p *Partition) Role() Role { return p.role }

// HighWatermark is the first offset that consumers do not see yet.
func (p *Partition) HighWatermark() wire.Offset { return p.highWatermark }

// LeaderEpoch is the newest leader epoch that the replica was told of; wire.NoLeaderEpoch if none.
func (p *Partition) LeaderEpoch() wire.LeaderEpoch { return p.leaderEpoch }

// PartitionEpoch is the newest partition epoch that the replica was told of; wire.NoPartitionEpoch if none.
func (p *Partition) PartitionEpoch() wire.PartitionEpoch { return p.partitionEpoch }

// WrittenEnd is the end of what the page cache has.
func (p *Partition) WrittenEnd() wire.Offset { return p.written }

// SyncedEnd is the end of what the disk has.
func (p *Partition) SyncedEnd() wire.Offset { return p.synced }

// Policy is the flush policy in force.
func (p *Partition) Policy() FlushPolicy { return p.policy }

// SetPolicy changes the flush policy. A relaxed policy may complete produces at once.
func (p *Partition) SetPolicy(policy FlushPolicy, eff *Effects) {
	p.policy = policy
	p.advance(eff)
}

// Written reports that every byte below end is in the page cache.
func (p *Partition) Written(end wire.Offset, eff *Effects) {
	p.written = end
	if p.replicaFetches.waiting() {
		eff.Wake = p.replicaFetches.takeAll(eff.Wake)
	}
	p.advance(eff)
}

// Synced reports that every byte below end is on disk. A sync that began before a truncation says nothing about what came after it:
// the owner must not report such a one.
func (p *Partition) Synced(end wire.Offset, eff *Effects) {
	p.synced = max(p.synced, end)
	p.advance(eff)
}

// SafeEnd is the end of what this replica may promise to keep: what a follower's next fetch offset says, and what a leader counts of
// itself.
func (p *Partition) SafeEnd() wire.Offset {
	if p.policy == FlushCommit {
		return min(p.synced, p.written)
	}
	return p.written
}

// advance moves the high watermark as far as it may go, then completes and wakes who waited for that.
func (p *Partition) advance(eff *Effects) {
	if safe := p.visibleEnd(); safe > p.highWatermark {
		p.highWatermark = safe
		p.log.ReleaseBelow(safe)
		eff.Wake = p.fetches.takeAll(eff.Wake)
	}
	if p.following != nil {
		p.following.advanceStart(p)
	}
	p.unwritten.completeBelow(p.written, eff)
	p.unsafe.completeBelow(p.highWatermark, eff)
	p.check()
}

// visibleEnd is where the high watermark may stand. The only place that says so.
func (p *Partition) visibleEnd() wire.Offset {
	switch {
	case p.reign != nil:
		return p.reign.safeEnd(p)
	case p.following != nil:
		return min(p.following.highWatermark, p.written)
	case p.role == Leading:
		return p.SafeEnd()
	}
	return p.highWatermark
}

// wake wakes every fetch that waits.
func (p *Partition) wake(eff *Effects) {
	eff.Wake = p.fetches.takeAll(eff.Wake)
	eff.Wake = p.replicaFetches.takeAll(eff.Wake)
}

// Stop fails every produce and wakes every fetch: the partition is deleted or its log directory is offline.
func (p *Partition) Stop(code wire.ErrorCode, eff *Effects) {
	p.fail(0, code, eff)
	p.wake(eff)
}

// WaitFetch registers a fetch that saw the high watermark at seen. It returns false, registering nothing, if the high
// watermark has moved since (P2): the fetch must read again.
func (p *Partition) WaitFetch(w FetchWaiter, seen wire.Offset) bool {
	if p.highWatermark > seen {
		return false
	}
	p.fetches.put(w)
	return true
}

// CancelFetch forgets the waiter of ref, if there is one.
func (p *Partition) CancelFetch(ref any) {
	p.fetches.cancel(ref)
	p.replicaFetches.cancel(ref)
}

// check holds I7a at the end of each step, but for the log's start and with the log's end for synced; I7b is advance's.
func (p *Partition) check() {
	ok := p.highWatermark <= p.written && p.synced <= p.log.LogEndOffset() && p.written <= p.log.LogEndOffset()
	if !ok {
		panic(fmt.Sprintf("BUG: partition offsets out of order: high watermark %d, synced %d, written %d, log end %d",
			p.highWatermark, p.synced, p.written, p.log.LogEndOffset()))
	}
	p.checkRoles()
}
