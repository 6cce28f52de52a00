package cluster

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// replica is a node's replica of one partition, and the loop's part of it: what a node does about its plans and effects.
type replica struct {
	node      *Node
	index     int // of the partition
	log       *segment.Log
	partition *replicate.Partition
	file      segment.File // the active segment's .log
	effects   replicate.Effects

	fetchedFrom wire.NodeID // whom the node asks for more; wire.NoNode: nobody
	fetchedIn   wire.LeaderEpoch

	gone    bool                  // the node has no replica any more
	cutting bool                  // a truncation is under way
	cuts    int                   // truncations so far: a sync from before one says nothing of what came after it
	held    *image.PartitionState // metadata that waits for a truncation to end
	shown   wire.Offset           // high watermark that the ledger knows of

	verifying []*verification // under way, in the order in which they began
}

// describe is for reports.
func (r *replica) describe() string {
	p := r.partition
	return fmt.Sprintf("%v on node %d in epoch %d.%d: [%d, %d), high watermark %d, written %d, synced %d, in sync %v", p.Role(), r.node.id, p.LeaderEpoch(),
		p.PartitionEpoch(), r.log.LogStartOffset(), r.log.LogEndOffset(), p.HighWatermark(), p.WrittenEnd(), p.SyncedEnd(), p.InSyncReplicas(nil))
}

// producing is a produce that waits.
type producing struct {
	answer func(wire.ErrorCode, wire.Offset)
}

// wallClock is the node's, in milliseconds.
func (n *Node) wallClock() wire.Timestamp {
	return simulatedEpoch + wire.Timestamp((n.cluster.world.Now()+n.wallError)/time.Millisecond)
}

// produce appends a client's batch.
func (n *Node) produce(index int, batch []byte, acks int16, by claim, answer func(wire.ErrorCode, wire.Offset)) {
	b, _, err := wire.ReadRecordBatch(batch)
	if err == nil {
		err = b.Check()
	}
	if err != nil {
		n.cluster.world.Fail("I5", "%s got a damaged batch: %v", n.process.Name(), err)
		return
	}
	n.offer(index, &item{batch: b, acks: acks, claim: by, answer: answer})
}

// offer gives a partition a batch to append: at once, or when its transaction's coordinator has let it in.
func (n *Node) offer(index int, it *item) {
	r := n.replicas[index]
	switch {
	case r == nil || it.epoch != nil && *it.epoch != r.partition.LeaderEpoch():
		it.answer(wire.NotLeaderOrFollower, wire.NoOffset)
		return
	case r.partition.Role() == replicate.Leading && r.park(it):
		return
	}
	ref := &producing{it.answer}
	for {
		plan, outcome := r.partition.Produce(it.batch, it.acks, ref, n.wallClock(), &r.effects)
		if outcome == replicate.NeedsRoll {
			if !r.roll() {
				return
			}
			continue
		}
		if outcome == replicate.Planned && !r.write(plan) {
			return
		}
		break
	}
	r.follow()
}

// write puts a planned batch into the file; false if the node died of it.
func (r *replica) write(plan segment.AppendPlan) bool {
	if _, err := r.file.WriteAt(plan.Bytes, int64(plan.Position)); err != nil {
		r.node.failed(fmt.Errorf("write partition %d: %w", r.index, err))
		return false
	}
	if r.node.journal != nil {
		if err := r.journalBatch(plan); err != nil {
			r.node.failed(fmt.Errorf("journal partition %d: %w", r.index, err))
			return false
		}
	}
	r.partition.Written(plan.LastOffset+1, &r.effects)
	return true
}

// roll begins a new segment.
func (r *replica) roll() bool {
	plan := r.log.PlanRoll()
	file, err := plan.Run(r.node.fs, r.node.journal == nil)
	if err != nil {
		r.node.failed(fmt.Errorf("roll partition %d: %w", r.index, err))
		return false
	}
	r.log.Rolled(plan)
	_ = r.file.Close()
	r.file = file
	return true
}

// follow does what the partition's effects ask for, shows what it has committed, and has what was written synced.
func (r *replica) follow() {
	n := r.node
	if r.carryOut(); r.gone || !n.process.Running() {
		return
	}
	if r.show(); n.process.Running() {
		n.syncLogs()
	}
	if n.process.Running() {
		n.ready(r)
	}
}

// carryOut does what the effects ask for.
func (r *replica) carryOut() {
	n := r.node
	for r.wants() && n.process.Running() {
		e := r.effects
		r.effects = replicate.Effects{}
		for _, c := range e.Completed {
			c.Ref.(*producing).answer(c.Code, c.BaseOffset)
		}
		for _, w := range e.Wake {
			n.process.After(0, w.Ref.(*waitingFetch).again)
		}
		for _, p := range e.Proposals {
			n.proposeISR(r, p)
		}
		for _, t := range e.Truncations {
			r.truncate(t)
		}
	}
}

func (r *replica) wants() bool {
	e := &r.effects
	return len(e.Completed)+len(e.Wake)+len(e.Proposals)+len(e.Truncations) > 0
}

// show tells the ledger what the high watermark covers now.
func (r *replica) show() {
	l, who := r.node.cluster.ledgers[r.index], r.node.process.Name()
	if r.partition.Role() == replicate.Leading {
		l.lead(r.node.id, r.partition.LeaderEpoch())
		r.checkSynced()
	}
	high := r.partition.HighWatermark()
	if high <= r.shown {
		r.shown = high // an unclean election took it back, or a power cut where nothing is synced
		return
	}
	err := r.read(r.shown, high, 1<<30, func(batches []byte) error {
		return entriesOf(batches, func(off wire.Offset, e entry) {
			if off >= r.shown && off < high {
				l.commit(who, off, e)
			}
		})
	})
	if err != nil {
		r.node.failed(fmt.Errorf("read partition %d: %w", r.index, err))
		return
	}
	r.shown = high
}

// checkSynced holds I7: under commit, a leader's high watermark is not above what any member of its in-sync set has on disk.
func (r *replica) checkSynced() {
	c := r.node.cluster
	if r.partition.Policy() != replicate.FlushCommit {
		return
	}
	high := r.partition.HighWatermark()
	if high <= r.shown {
		return
	}
	for _, id := range r.partition.InSyncReplicas(nil) {
		if n := c.node(id); n.replicas != nil && n.replicas[r.index] == nil {
			continue // it was moved away, which this leader has still to hear
		}
		if !c.node(id).counts(r.index, r.node.image) {
			continue
		}
		if end := c.node(id).durableEnd(r.index); end < high {
			c.ledgers[r.index].fail("I7", "the high watermark of %s is %d, but %s, which is in sync, has %d on disk", r.node.process.Name(), high,
				c.node(id).process.Name(), end)
		}
	}
}

// read hands over the log's batches from one that holds from on, up to bound, at least one and else up to size bytes.
func (r *replica) read(from, bound wire.Offset, size int, take func(batches []byte) error) error {
	for from < bound && size > 0 {
		plan := r.log.PlanFetch(from, bound)
		if plan.Status == segment.FetchNeedIndex {
			loaded, err := plan.LoadIndex(r.node.fs)
			if err != nil {
				return err
			}
			r.log.IndexLoaded(loaded)
			plan = r.log.PlanFetch(from, bound)
		}
		if plan.Status != segment.FetchReady {
			return fmt.Errorf("a fetch from %d to %d is %v", from, bound, plan.Status)
		}
		batches, err := r.readPlan(plan, size)
		if err != nil {
			return err
		}
		size -= len(batches)
		if from, err = endOf(batches); err != nil {
			return err
		}
		if err := take(batches); err != nil {
			return err
		}
	}
	return nil
}

func (r *replica) readPlan(plan segment.FetchPlan, size int) ([]byte, error) {
	file, err := r.node.fs.OpenFile(plan.Segment.LogName(), segment.ReadOnly, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	at, err := plan.Locate(file)
	if err != nil {
		return nil, err
	}
	batches := make([]byte, at.End-at.Start)
	if _, err := file.ReadAt(batches, int64(at.Start)); err != nil {
		return nil, err
	}
	return wholeBatches(batches, size), nil
}

// wholeBatches cuts batches behind the last one that ends within size, or the first.
func wholeBatches(batches []byte, size int) []byte {
	end := 0
	for end < len(batches) {
		b, _, err := wire.ReadRecordBatch(batches[end:])
		if err != nil || end > 0 && end+len(b) > size {
			break
		}
		end += len(b)
	}
	return batches[:end]
}

// endOf is the offset that follows batches.
func endOf(batches []byte) (end wire.Offset, err error) {
	for len(batches) > 0 {
		b, tail, err := wire.ReadRecordBatch(batches)
		if err != nil {
			return 0, err
		}
		end, batches = b.NextOffset(), tail
	}
	return end, nil
}

// truncate cuts the log, durably, once no sync is under way, and takes the metadata that waited for that.
func (r *replica) truncate(t replicate.Truncation) {
	n := r.node
	if t.To < r.partition.HighWatermark() && r.partition.Policy() == replicate.FlushCommit {
		n.cluster.ledgers[r.index].fail("I7", "%s cuts its log at %d, below its high watermark %d", n.process.Name(), t.To, r.partition.HighWatermark())
		return
	}
	r.cutting = true
	var attempt func()
	attempt = func() {
		if n.syncing {
			n.process.After(n.syncTime(), attempt)
			return
		}
		r.cutNow(t)
	}
	n.process.After(n.syncTime(), attempt)
}

func (r *replica) cutNow(t replicate.Truncation) {
	n := r.node
	if r.gone {
		return
	}
	n.cluster.world.Tracef("%s cuts partition %d from %d to %d", n.process.Name(), r.index, r.log.LogEndOffset(), t.To)
	r.cuts++
	durable, err := r.cut(t)
	if err != nil {
		n.failed(fmt.Errorf("cut partition %d: %w", r.index, err))
		return
	}
	r.cutting = false
	n.hasCut()
	r.partition.Truncated(durable, &r.effects)
	if held := r.held; held != nil {
		r.held = nil
		n.applyState(r, held)
	}
	r.follow()
}

// cut runs a truncation. durable says that what is left is on disk.
func (r *replica) cut(t replicate.Truncation) (durable bool, err error) {
	if err := r.node.makeJournalRoom(0); err != nil { // while a log is being cut none of it can be flushed
		return false, err
	}
	plan, needed := r.planCut(t)
	if !needed {
		return false, nil
	}
	if err := r.node.lowerCheckpoint(r.index, plan.RecoveryPoint()); err != nil {
		return false, err
	}
	if err := r.journalCut(&plan); err != nil {
		return false, err
	}
	_ = r.file.Close()
	file, err := plan.Run(r.node.fs)
	if err != nil {
		return false, err
	}
	r.log.Truncated(plan)
	r.file = file
	return true, nil
}

func (r *replica) planCut(t replicate.Truncation) (segment.TruncatePlan, bool) {
	if t.Whole {
		return r.log.PlanTruncateFully(t.To), true
	}
	return r.log.PlanTruncate(t.To)
}
