package node

import (
	"errors"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// replicator fetches what a loop's followers of one leader lack. The loop has the Fetcher, a goroutine the connection; one request is
// out at a time.
//
//	loop        Next ──▶ request                       Answer ─▶ plans ─▶ written, journalled, synced ─▶ Ready ─▶ Next
//	                        │                             ▲
//	goroutine               └─▶ send ─▶ receive ──────────┘
//
// What was received stays in memory until it is written (replicaAnswer); the next request goes out when it is kept, so that there are two
// answers' bytes at most.
type replicator struct {
	loop    *Loop
	leader  wire.NodeID
	fetcher *replicate.Fetcher
	// epoch is that of this node's registration, with which the fetcher asks.
	epoch wire.BrokerEpoch
	view  wire.FetchResponseView
	// requests has the one that is out; closed when the loop ends.
	requests chan replicaRequest
	// spare is memory for the next answer, nil while an earlier one has it.
	spare []byte
	// queued says that it is in Loop.replicating. due is the timer for partitions that back off or whose disk takes its time.
	queued   bool
	due      timer
	answered time.Duration
}

// replicaRequest is the body of a request, and memory for its answer.
type replicaRequest struct {
	body, memory []byte
}

const (
	// replicaFetchVersion is the newest whose requests and answers nodes exchange: with directory ids, without KIP-1166's high watermark.
	replicaFetchVersion wire.APIVersion = 17
	// settlePatience is how long a request waits for partitions whose disk is at work: mostly all of an answer are kept at the same
	// moment, by one sync of the journal, and one that is slow must not hold up the others.
	settlePatience = 5 * time.Millisecond
	// replicaBackoffMin is how long a partition, or a leader, rests that could not be fetched for the first time: mostly it has not heard
	// yet of a new topic, or of its own leadership. It doubles up to replica.fetch.backoff.ms.
	replicaBackoffMin = 20 * time.Millisecond
)

// replicatorOf is the one that fetches from a leader, made if there is none.
func (l *Loop) replicatorOf(leader wire.NodeID) *replicator {
	if r := l.replicators[leader]; r != nil {
		return r
	}
	r := &replicator{loop: l, leader: leader, requests: make(chan replicaRequest, 1), epoch: l.node.brokerEpoch()}
	r.fetcher = l.newFetcher(r.epoch)
	r.due.fire = func(*Loop) { r.soon() }
	if l.replicators == nil {
		l.replicators = make(map[wire.NodeID]*replicator)
	}
	l.replicators[leader] = r
	go newReplicaLink(r).run()
	return r
}

func (l *Loop) newFetcher(epoch wire.BrokerEpoch) *replicate.Fetcher {
	cfg := l.node.Config()
	return replicate.NewFetcher(replicate.FetcherConfig{
		Replica: cfg.NodeID, BrokerEpoch: epoch,
		WaitMaxMS: int32(cfg.ReplicaFetchWaitMS), MinBytes: int32(cfg.ReplicaFetchBytesMin),
		MaxBytes: int32(cfg.ReplicaFetchAnswerBytesMax), PartitionMaxBytes: int32(cfg.ReplicaFetchBytesMax),
		Backoff: time.Duration(cfg.ReplicaFetchBackoffMS) * time.Millisecond, BackoffMin: replicaBackoffMin,
	})
}

// fetchFrom has a partition fetched from the leader that it follows, or from nobody.
func (l *Loop) fetchFrom(p *partition) {
	leader := wire.NoNode
	if p.replica.Role() == replicate.Following && p.stopped == wire.None {
		leader = p.replica.Leader()
	}
	epoch := p.replica.LeaderEpoch()
	if old := p.replicator; old != nil {
		if old.leader == leader && p.fetchEpoch == epoch {
			return
		}
		old.fetcher.Remove(p.id, p.index)
		p.replicator = nil
		l.dropFetched(p)
	}
	if leader == wire.NoNode {
		return
	}
	r := l.replicatorOf(leader)
	p.replicator, p.fetchEpoch = r, epoch
	r.fetcher.Add(r.target(p), p.replica.MayFetch())
	r.soon()
}

// target is what is asked for of a partition.
func (r *replicator) target(p *partition) replicate.FetchTarget {
	return replicate.FetchTarget{
		Ref: p, Topic: p.id, Index: p.index, Epoch: p.replica.LeaderEpoch(), Position: p.replica.Position(), LogStart: p.log().LogStartOffset(),
		Throttled: p.throttled,
	}
}

// soon has the next request made at the end of the turn.
func (r *replicator) soon() {
	if !r.queued {
		r.queued = true
		r.loop.replicating = append(r.loop.replicating, r)
	}
}

// replicate sends the requests that are due, at the end of a turn: what the turn has made ready goes into one.
func (l *Loop) replicate() {
	for _, r := range l.replicating {
		r.queued = false
		r.ask()
	}
	clear(l.replicating)
	l.replicating = l.replicating[:0]
}

// ask sends the next request, unless one is out, or it is better to wait.
func (r *replicator) ask() {
	l := r.loop
	if r.fetcher.Out() || l.stopping {
		return
	}
	if epoch := l.node.brokerEpoch(); epoch != r.epoch {
		r.registered(epoch)
	}
	if patience := r.answered + settlePatience; r.fetcher.Settling() > 0 && l.mono < patience {
		l.timers.set(&r.due, patience)
		return
	}
	budget := l.followerBudget()
	req := r.fetcher.Next(l.mono, budget)
	if req == nil {
		at, ok := r.fetcher.NextDue()
		if pause := l.mono + budgetPause; budget <= 0 && (!ok || pause < at) {
			at, ok = pause, true
		}
		if ok {
			l.timers.set(&r.due, at)
		}
		return
	}
	r.requests <- replicaRequest{req.AppendTo(nil, replicaFetchVersion), r.spare}
	r.spare = nil
}

// registered begins anew after another registration of this node: leaders know replicas by the epoch of theirs.
func (r *replicator) registered(epoch wire.BrokerEpoch) {
	r.epoch, r.fetcher = epoch, r.loop.newFetcher(epoch)
	r.loop.parts.all(func(p *partition) {
		if p.replicator == r {
			r.fetcher.Add(r.target(p), p.replica.MayFetch())
		}
	})
}

// take takes up the answer to the request that was out, or the error in place of one.
func (r *replicator) take(answer []byte, err error) {
	l := r.loop
	r.answered = l.mono
	defer r.soon()
	if err == nil {
		err = r.view.Read(answer, replicaFetchVersion)
	}
	if err != nil {
		r.fetcher.Lost()
		if !l.stopping && !l.node.hasStopped() {
			l.node.log.throttled("replicas cannot be fetched", "leader", int(r.leader), "error", err)
		}
		return
	}
	held := &replicaAnswer{replicator: r, bytes: answer, refs: 1}
	defer held.release()
	actions, code := r.fetcher.Answer(l.mono, &r.view)
	if code != wire.None {
		l.node.log.throttled("a leader refuses a fetch", "leader", int(r.leader), "error", code)
	}
	l.metrics.replicated.Add(len(answer))
	for i := range actions {
		if p := actions[i].Ref.(*partition); p.replicator == r && p.stopped == wire.None {
			l.fetched(p, &actions[i], held)
		}
	}
}

// toldOf says whether the log tells of a fetch that has failed. A leader may not have followed the metadata as far as this node has, or be ahead of
// it: of a topic that was just made or deleted, and of a leadership that has just changed. Only if that lasts is anything wrong.
func toldOf(failed *replicate.FetchAction) bool {
	switch failed.Code {
	case wire.UnknownTopicID, wire.UnknownTopicOrPartition, wire.NotLeaderOrFollower, wire.FencedLeaderEpoch, wire.UnknownLeaderEpoch:
		return failed.Lasting
	}
	return true
}

// fetched carries out what an answer says of a partition.
func (l *Loop) fetched(p *partition, a *replicate.FetchAction, from *replicaAnswer) {
	switch a.Kind {
	case replicate.FetchFailed:
		if toldOf(a) {
			l.node.log.throttled("a replica is not fetched", "partition", p.name(), "leader", int(p.replicator.leader), "error", a.Code)
		}
	case replicate.FetchOutOfRange:
		if !p.replica.FetchedOutOfRange(a.Fetched, a.LeaderEnd, &l.eff) {
			p.replicator.fetcher.BackOff(p.id, p.index, l.mono)
		}
		l.apply(p)
	case replicate.FetchRecords:
		if a.Throttled {
			l.node.followerQuota.take(int64(len(a.Records)))
		}
		taken := p.replica.FetchedFrom(a.Fetched, &l.eff)
		l.apply(p)
		if taken {
			p.lend(from)
			l.appendFetched(p, a.Records)
			if len(p.plans) == 0 && p.fetchedRest == nil { // nothing to write, after which it would be given back
				p.abandon()
			}
		}
		l.fetchable(p)
	default:
		p.replica.FetchedFrom(a.Fetched, &l.eff)
		l.apply(p)
		l.fetchable(p)
	}
}

// appendFetched plans the appends of record batches; the rest waits while a segment is made. The plans refer to the answer's bytes, which
// are lent to the partition.
func (l *Loop) appendFetched(p *partition, records []byte) {
	p.fetchedRest = nil
	for len(records) > 0 {
		if p.rolling || p.held {
			p.fetchedRest = records
			return
		}
		batch, rest, err := wire.ReadRecordBatch(records)
		if errors.Is(err, wire.ErrShortBatch) { // cut short by a limit of bytes
			return
		}
		if err == nil {
			err = batch.Check()
		}
		if err != nil {
			l.node.log.throttled("a leader sent a damaged batch", "partition", p.name(), "leader", int(p.replicator.leader), "error", err)
			l.tellLeader(p)
			p.replicator.fetcher.BackOff(p.id, p.index, l.mono)
			return
		}
		plan, outcome := p.replica.AppendFetched(batch, l.wall)
		switch outcome {
		case replicate.Dropped: // what is asked for next would be dropped too, for a while
			p.replicator.fetcher.BackOff(p.id, p.index, l.mono)
			return
		case replicate.NeedsRoll:
			p.fetchedRest = records
			l.roll(p)
			return
		}
		p.plans = append(p.plans, plan)
		l.markDirty(p)
		if plan.EpochChanged {
			l.writeEpochs(p)
		}
		records = rest
	}
}

// dropFetched forgets what of an answer was not appended yet.
func (l *Loop) dropFetched(p *partition) {
	p.fetchedRest = nil
	p.abandon()
}

// fetchable has more asked for of a follower that keeps all that it has.
func (l *Loop) fetchable(p *partition) {
	r := p.replicator
	if r == nil || p.fetchedRest != nil || !p.replica.MayFetch() {
		return
	}
	r.fetcher.Ready(p.id, p.index, p.replica.Position(), p.log().LogStartOffset())
	r.soon()
}

// fetchFailed keeps a follower back whose disk has no room.
func (l *Loop) fetchFailed(p *partition) {
	if r := p.replicator; r != nil {
		l.dropFetched(p)
		r.fetcher.BackOff(p.id, p.index, l.mono)
		r.soon()
	}
}

// closeReplicators ends the goroutines; the loop ends.
func (l *Loop) closeReplicators() {
	for _, r := range l.replicators {
		close(r.requests)
	}
	l.replicators = nil
}
