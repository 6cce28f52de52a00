package node

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// partition is one partition on its owner loop: the replica's state machine, the files behind it, and what is under
// way between the two.
//
//	produceItem ─▶ Produce ─▶ plans ─▶ write (inline, or one at a time on the ring) ─▶ journal ─▶ Written
//	                 │                                                                           │
//	                 └ roll or open under way: queue                        sync round ─▶ Synced ┘
type partition struct {
	loop             *Loop
	slot, generation uint32
	// topic and index name it; both are fixed.
	topic string
	id    wire.TopicID
	index wire.PartitionIndex
	// lies is the log directory that its log lies in; its loop changes it, any thread reads it.
	lies atomic.Pointer[logDir]

	replica *replicate.Partition
	// stopped is the error that everything is answered with once the partition is deleted or its directory offline.
	stopped wire.ErrorCode
	// leads says that this node is its leader; whoever follows the metadata sets it, any thread reads it.
	leads atomic.Bool
	// gone says to other goroutines that it has stopped.
	gone atomic.Bool
	// removed says that it is to leave the loop's table when it has stopped.
	removed bool

	// plans are appends whose write has not begun, writing those under way on the ring; offset order throughout.
	plans, plansSpare, writing []segment.AppendPlan
	// vectors backs the ring write under way, left is what is not written of it yet, writeAt where that goes.
	vectors, left [][]byte
	writeFile     *segmentFile
	writeAt       int64
	// queue holds produces that wait for a roll or a move, verifying those that wait for a transaction coordinator; nil if none do.
	queue     []*produceItem
	verifying map[verificationKey]*verification
	// dirty says that it is in Loop.dirty, rolling that a new segment is being made.
	dirty, rolling bool
	// syncing says that it is in the syncer's pending list; journaled, that the journal holds batches of its that no
	// flush has put on disk yet.
	syncing, journaled bool
	// unjournaled says that the segments hold bytes that neither the journal nor a sync covers, syncingDirectly that a
	// sync of theirs is under way. Until both are false nothing of the partition is journalled: behind a gap that a
	// power cut leaves, an entry could not be replayed.
	unjournaled, syncingDirectly bool

	// files are the open segments, opening those being opened; both empty for an idle partition.
	files   map[*segment.Segment]*segmentFile
	opening map[*segment.Segment]bool
	// ahead is the segment whose beginning is to be read when its file is open; its segment is nil if there is none.
	ahead readaheadOver
	// parked are shares of fetches that wait for a file or an index.
	parked []*fetchShare
	// swapping are segments whose files a cleaned one is about to replace: none is opened by name until that is done, and
	// named counts who opens some now, so that a swap waits for them.
	swapping []*segment.Segment
	named    int
	// held says that nothing may change in its log's files, since the log is about to go on in another directory: movingTo, nil
	// unless a move is that far.
	held     bool
	movingTo *logDir
	// flushing says that a flush with indexes is under way, rollWanted that a roll waits, see tryRoll.
	flushing, rollWanted bool
	// cut says that a truncation of the log is planned that has not been carried out.
	cut bool
	// writingEpochs says that the leader-epoch-checkpoint is being written, epochsMoved that it is to be, flushWanted that a flush waits
	// for it: see tryEpochs.
	writingEpochs, epochsMoved, flushWanted bool
	// jobs counts what is under way in its directory, see backgroundOf.
	jobs int
	// published are offsets for readers on other threads, as of the last event.
	published publishedOffsets
	// replicator fetches it while it follows, since fetchEpoch; fetchedRest is what of an answer waits for a segment, lent the answer that
	// it and the plans lie in.
	replicator  *replicator
	fetchEpoch  wire.LeaderEpoch
	fetchedRest []byte
	lent        *replicaAnswer
	// throttled says that follower.replication.throttled.rate bounds it while it follows.
	throttled bool
	// toLead is metadata that has this node lead, held back while the log is being cut; nil if there is none.
	toLead func(l *Loop)
	// expiry fires when a produce that waits for replicas may have waited too long.
	expiry timer
	// dirtySince is when the policy interval last found it behind, 0 while it is not.
	dirtySince time.Duration
}

// publishedOffsets are what Metadata and ListOffsets read without a message to the loop.
type publishedOffsets struct {
	logStart, highWatermark, lastStable, logEnd, size atomic.Int64
	leaderEpoch                                       atomic.Int32
	// watermarkOld is replicate.Partition.WatermarkIsOld.
	watermarkOld atomic.Bool
}

// publish updates what other threads read; at the end of each event.
func (p *partition) publish() {
	p.published.logStart.Store(int64(p.log().LogStartOffset()))
	p.published.highWatermark.Store(int64(p.replica.HighWatermark()))
	p.published.lastStable.Store(int64(p.replica.LastStableOffset()))
	p.published.logEnd.Store(int64(p.log().LogEndOffset()))
	p.published.size.Store(p.log().Size())
	p.published.leaderEpoch.Store(int32(p.replica.LeaderEpoch()))
	if old := p.replica.WatermarkIsOld(); old != p.published.watermarkOld.Load() {
		p.published.watermarkOld.Store(old)
	}
}

func (p *partition) log() *segment.Log { return p.replica.Log() }

// dir is the log directory that the log lies in.
func (p *partition) dir() *logDir { return p.lies.Load() }

func (p *partition) name() string { return fmt.Sprintf("%s-%d", p.topic, p.index) }

// offer takes one produce; it runs on the owner.
func (p *partition) offer(item *produceItem) {
	item.times.taken = p.loop.instant
	switch {
	case p.stopped != wire.None:
		p.loop.finishItem(item, replicate.Refused(item, p.stopped))
	case p.rolling || p.held || len(p.queue) > 0:
		p.queue = append(p.queue, item)
	case !p.append(item):
		p.queue = append(p.queue, item)
		p.loop.roll(p)
	}
}

// append hands one produce to the state machine and plans its write, or parks it; false if it needs a new segment.
func (p *partition) append(item *produceItem) bool {
	if item.epoch != nil && *item.epoch != p.replica.LeaderEpoch() { // a coordinator of an epoch that is over; it may have ended while the item waited
		p.loop.finishItem(item, replicate.Refused(item, wire.NotLeaderOrFollower))
		return true
	}
	if p.park(item) {
		return true
	}
	l := p.loop
	item.times.planned = l.instant
	plan, outcome := p.replica.Produce(item.batch, item.request.acks, item, l.wall, &l.eff)
	switch outcome {
	case replicate.Planned:
		p.plans = append(p.plans, plan)
		l.markDirty(p)
		if plan.EpochChanged {
			l.writeEpochs(p)
		}
	case replicate.NeedsRoll:
		item.times.planned = 0
		return false
	}
	if item.expires > 0 && item.request.acks == replicate.AcksAll && p.replica.Replicated() {
		l.expireBy(p, item.expires)
	}
	l.apply(p)
	return true
}

// expireBy has the partition look for produces whose time has passed no later than at. The timer is set once for all that wait, and moved
// only for a shorter timeout, so that a request costs a comparison.
func (l *Loop) expireBy(p *partition, at time.Duration) {
	if p.expiry.index > 0 && p.expiry.at <= at {
		return
	}
	if p.expiry.fire == nil {
		p.expiry.fire = p.expireProduces
	}
	l.timers.set(&p.expiry, at)
}

// expiryPause is how long a produce that is due and not written yet is let be before it is looked at again.
const expiryPause = 100 * time.Millisecond

// expireProduces answers produces that have waited for replicas as long as their requests allow (timeout.ms).
func (p *partition) expireProduces(l *Loop) {
	next := l.mono + time.Hour
	waiting := p.replica.Expire(func(ref any) bool {
		switch at := ref.(*produceItem).expires; {
		case at == 0:
			return false
		case at <= l.mono:
			next = min(next, l.mono+expiryPause)
			return true
		default:
			next = min(next, at)
			return false
		}
	}, &l.eff)
	if waiting > 0 {
		l.timers.set(&p.expiry, next)
	}
	l.apply(p)
}

func (l *Loop) markDirty(p *partition) {
	if !p.dirty {
		p.dirty = true
		l.dirty = append(l.dirty, p)
	}
}

// apply runs the effects that the state machine left in l.eff. An answer lets the next request of its connection in,
// whose effects come here again: they are added to those being run, so that each is run once and in order.
func (l *Loop) apply(p *partition) {
	p.publish()
	if l.applying {
		return
	}
	l.applying = true
	for done, woken := 0, 0; done < len(l.eff.Completed) || woken < len(l.eff.Wake); {
		if done < len(l.eff.Completed) {
			c := l.eff.Completed[done]
			done++
			l.finishItem(c.Ref.(*produceItem), c)
			continue
		}
		w := l.eff.Wake[woken]
		woken++
		if f, ok := w.Ref.(*fetchRequest); ok {
			l.wakeFetch(f, w.Generation)
		} else {
			w.Ref.(*shareWatch).moved()
		}
	}
	for _, t := range l.eff.Truncations {
		l.truncate(t.Ref.(*partition), t)
	}
	for _, q := range l.eff.Proposals {
		l.node.isr.propose(q)
	}
	l.eff.Reset()
	l.applying = false
}

// roll makes the next segment in the background; produces queue until it is there.
func (l *Loop) roll(p *partition) {
	if p.rolling {
		return
	}
	p.rolling, p.rollWanted = true, true
	l.tryRoll(p)
}

// tryRoll begins the roll that is wanted once nothing is in its way: a flush, which writes the same index files, or
// appends that are not written yet, which a full disk would have undone under it.
func (l *Loop) tryRoll(p *partition) {
	if !p.rollWanted || p.flushing || p.stopped != wire.None || len(p.plans)+len(p.writing) > 0 {
		return
	}
	p.rollWanted = false
	plan, needed := p.planRoll()
	if !needed {
		p.rolling = false
		p.drainQueue()
		return
	}
	fsys := p.dir().fs
	l.backgroundOf(p, func() Message {
		file, err := plan.Run(fsys, false) // durable by the journal, or by a sync of the file and its directory
		return messageFunc(func(l *Loop) { l.rolled(p, plan, file, err) })
	})
}

// planRoll plans the segment that what was fetched of a leader needs, or else the next one; nothing is needed where the active segment is
// still empty, since what asked for another was dropped meanwhile.
func (p *partition) planRoll() (plan segment.RollPlan, needed bool) {
	log := p.log()
	if batch, _, err := wire.ReadRecordBatch(p.fetchedRest); err == nil {
		if !log.NeedsRollReplicated(batch, p.loop.wall) {
			return segment.RollPlan{}, false
		}
		return log.PlanRollReplicated(batch), true
	}
	if active := log.ActiveSegment(); active.BaseOffset() == log.LogEndOffset() {
		return segment.RollPlan{}, false
	}
	return log.PlanRoll(), true
}

func (l *Loop) rolled(p *partition, plan segment.RollPlan, file segment.File, err error) {
	p.rolling = false
	switch {
	case p.stopped != wire.None:
		if err == nil {
			_ = file.Close()
		}
		return
	case err != nil:
		p.log().RollAbandoned(plan)
		l.rollFailed(p, err)
		return
	}
	p.log().Rolled(plan)
	p.addFile(plan.Next(), l.node.newSegmentFile(file, plan.Next().LogName()))
	l.metrics.rolls.Inc()
	l.startSync(p, nil)
	p.drainQueue()
}

// rollFailed refuses what waited for the segment. A full disk passes; any other error makes the directory suspect.
func (l *Loop) rollFailed(p *partition, err error) {
	if !passes(err) {
		l.storageFault(p.dir(), "roll "+p.name(), err)
	} else {
		l.node.log.throttled("no room for a new segment: produce refused", "partition", p.name(), "directory", p.dir().path, "error", err)
	}
	queue := p.queue
	p.queue = nil
	for _, item := range queue {
		l.finishItem(item, replicate.Refused(item, wire.KafkaStorageError))
	}
	l.noRoom(p, err)
	l.fetchFailed(p)
}

// drainQueue appends what waited, in order, until the partition has to roll again: what was fetched of a leader, or what clients sent. An item leaves the queue after it was
// appended, so that a request which its answer lets in gets behind the others.
func (p *partition) drainQueue() {
	if p.fetchedRest != nil && p.stopped == wire.None {
		p.loop.appendFetched(p, p.fetchedRest)
		p.loop.fetchable(p)
	}
	for len(p.queue) > 0 && !p.rolling && !p.held && p.stopped == wire.None {
		if !p.append(p.queue[0]) {
			p.loop.roll(p)
			return
		}
		p.queue[0] = nil
		p.queue = p.queue[1:]
	}
	if len(p.queue) == 0 {
		p.queue = nil
	}
}

// stop answers everything of the partition with code from now on; it is deleted or its directory is offline.
func (l *Loop) stop(p *partition, code wire.ErrorCode) {
	p.stopped = code
	p.gone.Store(true)
	queue := p.queue
	p.queue = nil
	for _, item := range queue {
		l.finishItem(item, replicate.Refused(item, code))
	}
	p.stopVerifying(code)
	l.fetchFrom(p)
	l.noteLacking(p)
	p.plans = nil
	l.runs = slices.DeleteFunc(l.runs, func(r writtenRun) bool { return r.p == p })
	l.resumeParked(p)
	for seg, f := range p.files {
		f.release()
		delete(p.files, seg)
	}
	if p.writeFile == nil {
		l.stopReplica(p)
	} // else ringWritten does: the ring still reads the bytes of the produces that this answers
}

// stopReplica answers what waits for the partition's disk.
func (l *Loop) stopReplica(p *partition) {
	p.replica.Stop(p.stopped, &l.eff)
	l.apply(p)
	if p.removed {
		p.removed = false
		l.parts.remove(p.slot)
	}
}

// remove stops a deleted partition and forgets it.
func (l *Loop) remove(p *partition) {
	p.removed = true
	l.stop(p, wire.UnknownTopicOrPartition)
}

// failing says that nothing may be acknowledged any more: a write or a sync in the partition's directory failed, or the
// node ends (N4). What waits is answered when the loop stops the partition.
func (p *partition) failing() bool {
	return p.stopped != wire.None || p.dir().offline.Load() || p.loop.node.broken.Load()
}
