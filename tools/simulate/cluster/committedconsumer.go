package cluster

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// committedConsumer reads all partitions with isolation.level=read_committed.
type committedConsumer struct {
	cluster *Cluster
	process *world.Process
	readers []*committedReader
}

// committedReader is its place in one partition.
type committedReader struct {
	consumer  *committedConsumer
	partition int
	position  wire.Offset
	route     route
	seen      map[value]wire.Offset
}

// committedFetch is a leader's answer to a read_committed fetch.
type committedFetch struct {
	code    wire.ErrorCode
	batches []byte
	aborted []wire.AbortedTransaction
}

func (c *Cluster) newCommittedConsumer() *committedConsumer {
	k := &committedConsumer{cluster: c, process: c.world.NewProcess("read_committed consumer", c.clientPlace())}
	for i := range c.opt.Partitions {
		k.readers = append(k.readers, &committedReader{consumer: k, partition: i, route: noRoute, seen: map[value]wire.Offset{}})
	}
	return k
}

func (k *committedConsumer) start() {
	k.process.Start()
	for _, r := range k.readers {
		r.seek()
	}
}

// lacks says what it has not read; "" if nothing.
func (k *committedConsumer) lacks() string {
	for _, r := range k.readers {
		if end := wire.Offset(len(k.cluster.ledgers[r.partition].committed)); r.position < end {
			return fmt.Sprintf("%s has read partition %d up to %d of %d", k.process.Name(), r.partition, r.position, end)
		}
	}
	return ""
}

func (r *committedReader) seek() {
	r.consumer.cluster.findLeader(r.consumer.process, r.partition, r.route, func(found route) {
		r.route = found
		r.fetch()
	})
}

func (r *committedReader) fetch() {
	c, node := r.consumer.cluster, r.consumer.cluster.node(r.route.leader)
	c.ask(r.consumer.process, node, "committed fetch", clientPatience, func(reply func(func())) {
		answer := node.fetchCommitted(r.partition, r.position, r.route.epoch)
		reply(func() { r.answered(answer) })
	}, r.retry)
}

func (r *committedReader) retry() { r.consumer.process.After(clientBackoff, r.seek) }

func (r *committedReader) answered(f committedFetch) {
	c := r.consumer.cluster
	switch f.code {
	case wire.None:
	case wire.OffsetOutOfRange:
		c.ledgers[r.partition].fail("I10", "%s is at offset %d, which the leader of epoch %d does not have", r.consumer.process.Name(), r.position, r.route.epoch)
		return
	default:
		r.retry()
		return
	}
	end, err := committedRecords(f, r.position, func(off wire.Offset, v value) {
		if before, twice := r.seen[v]; twice && !v.loose() {
			c.ledgers[r.partition].fail("I2", "%s sees %v at offsets %d and %d", r.consumer.process.Name(), v, before, off)
		}
		r.seen[v] = off
		c.txns.visible(r.consumer.process.Name(), r.partition, off, v)
	})
	if err != nil {
		c.ledgers[r.partition].fail("I5", "%s got damaged batches at offset %d: %v", r.consumer.process.Name(), r.position, err)
		return
	}
	r.position = max(r.position, end)
	r.consumer.process.After(world.Between(c.world.Coordinators, 5*time.Millisecond, 60*time.Millisecond), r.fetch)
}

// committedRecords gives the records that a client shows of an answer, from an offset on, and says where to read on: it leaves out
// those of producers whose aborted transaction has begun and whose marker has not come yet, as every client does.
func committedRecords(f committedFetch, from wire.Offset, each func(wire.Offset, value)) (end wire.Offset, err error) {
	aborting := map[wire.ProducerID]bool{}
	aborted := f.aborted
	err = batchesOf(f.batches, func(b wire.RecordBatch) error {
		end = b.NextOffset()
		for len(aborted) > 0 && aborted[0].FirstOffset <= b.LastOffset() {
			aborting[aborted[0].ProducerID] = true
			aborted = aborted[1:]
		}
		if m, ok := wire.ReadTxnMarker(b); ok {
			if !m.Commit {
				delete(aborting, b.ProducerID())
			}
			return nil
		}
		if b.IsControl() || b.IsTransactional() && aborting[b.ProducerID()] {
			return nil
		}
		return recordsOf(b, func(b wire.RecordBatch, rec wire.Record) error {
			if off := b.BaseOffset() + wire.Offset(rec.OffsetDelta); off >= from && readValue(rec.Value) != 0 {
				each(off, readValue(rec.Value))
			}
			return nil
		})
	})
	return end, err
}

// batchesOf gives each batch, checked.
func batchesOf(batches []byte, each func(wire.RecordBatch) error) error {
	for len(batches) > 0 {
		b, tail, err := wire.ReadRecordBatch(batches)
		if err == nil {
			err = b.Check()
		}
		if err == nil {
			err = each(b)
		}
		if err != nil {
			return err
		}
		batches = tail
	}
	return nil
}

// fetchCommitted answers a read_committed consumer.
func (n *Node) fetchCommitted(index int, off wire.Offset, epoch wire.LeaderEpoch) committedFetch {
	r := n.replicas[index]
	if r == nil {
		return committedFetch{code: wire.NotLeaderOrFollower}
	}
	read := r.partition.ConsumerFetch(replicate.ConsumerPosition{Offset: off, LastEpoch: wire.NoLeaderEpoch, CurrentEpoch: epoch, Committed: true})
	if read.Code != wire.None {
		return committedFetch{code: read.Code}
	}
	f := committedFetch{batches: n.batches(r, off, read.Bound, fetchBytesMax)}
	if len(f.batches) == 0 || !n.process.Running() {
		return f
	}
	end, err := endOf(f.batches)
	if err == nil {
		f.aborted, err = n.abortedIn(r, off, end)
	}
	if err != nil {
		n.failed(fmt.Errorf("read partition %d: %w", index, err))
	}
	return f
}

// abortedIn lists the transactions that were aborted and have records in a range.
func (n *Node) abortedIn(r *replica, from, upTo wire.Offset) ([]wire.AbortedTransaction, error) {
	plan := r.log.PlanAborted(from, upTo)
	if list, ok := plan.Ready(); ok {
		return list, nil
	}
	return plan.Run(n.fs)
}

// judgeTransactions compares what the read_committed consumer has seen with what the logs say, and judges the transactions by it.
func (c *Cluster) judgeTransactions() {
	if c.txns == nil {
		return
	}
	visible, written := map[value]bool{}, map[value]bool{}
	for _, r := range c.committed.readers {
		leader := c.leaderByBelief(r.partition)
		seen, all, err := leader.replicas[r.partition].committedValues()
		if err != nil {
			c.ledgers[r.partition].fail("I12", "%s cannot read its log: %v", leader.process.Name(), err)
			return
		}
		for v := range all {
			written[v] = true
		}
		for v := range seen {
			visible[v] = true
			if _, ok := r.seen[v]; !ok {
				c.ledgers[r.partition].fail("I11", "%s has not seen %v, which is committed", r.consumer.process.Name(), v)
			}
		}
		for v, off := range r.seen {
			if !seen[v] {
				c.ledgers[r.partition].fail("I3", "%s has seen %v at offset %d, which is not committed", r.consumer.process.Name(), v, off)
			}
		}
	}
	c.txns.judge(visible, written)
	c.txns.judgeLoops(visible)
}

// committedValues reads a replica's log and says what of it its markers make visible, and what it has at all.
func (r *replica) committedValues() (visible, all map[value]bool, err error) {
	visible, all = map[value]bool{}, map[value]bool{}
	open := map[wire.ProducerID][]value{}
	err = r.read(0, r.log.LogEndOffset(), 1<<30, func(batches []byte) error {
		return batchesOf(batches, func(b wire.RecordBatch) error {
			if m, ok := wire.ReadTxnMarker(b); ok {
				for _, v := range open[b.ProducerID()] {
					visible[v] = m.Commit
					if !m.Commit {
						delete(visible, v)
					}
				}
				delete(open, b.ProducerID())
				return nil
			}
			return recordsOf(b, func(b wire.RecordBatch, rec wire.Record) error {
				v := readValue(rec.Value)
				if v == 0 {
					return nil
				}
				if all[v] = true; b.IsTransactional() {
					open[b.ProducerID()] = append(open[b.ProducerID()], v)
				} else {
					visible[v] = true
				}
				return nil
			})
		})
	})
	return visible, all, err
}
