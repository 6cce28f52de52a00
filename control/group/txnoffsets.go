package group

import (
	"encoding/binary"

	"github.com/ringmill/ringmill/wire"
)

// Txn says that the records of an Append belong to a producer's transaction: they count once TxnEnded says so.
type Txn struct {
	TransactionalID string
	ProducerID      wire.ProducerID
	ProducerEpoch   wire.ProducerEpoch
	// Version is that of the TxnOffsetCommit: it says which errors the client knows.
	Version int16
	// Implicit says that writing the records adds the partition to the transaction (transaction.version 2); otherwise the
	// producer has done so with AddOffsetsToTxn.
	Implicit bool
}

// txnOffsets are the offsets that a producer's open transactions committed, by group. A producer has one open at a time in
// a log; the next one's first commits may be under way before the end of the last is told.
type txnOffsets map[*group]map[wire.TopicPartition]*txnOffset

// txnOffset is one partition's offset in an open transaction.
type txnOffset struct {
	value  committedOffset
	by     AppendID // the append that wrote value
	stored bool     // value is durable
	writes int      // appends under way
}

func offsetPlace(topic string, partition int32) wire.TopicPartition {
	return wire.TopicPartition{Topic: topic, Partition: wire.PartitionIndex(partition)}
}

// txnPlace gives the entry of a partition in a producer's open transaction, a new one if there is none. While it is there
// the partition's offset is not stable.
func (c *Coordinator) txnPlace(id wire.ProducerID, g *group, tp wire.TopicPartition) *txnOffset {
	groups := c.txns[id]
	if groups == nil {
		groups = txnOffsets{}
		c.txns[id] = groups
	}
	offsets := groups[g]
	if offsets == nil {
		offsets = map[wire.TopicPartition]*txnOffset{}
		groups[g] = offsets
		g.openTxns++
	}
	o := offsets[tp]
	if o == nil {
		o = &txnOffset{}
		offsets[tp] = o
		c.changeOffsets(g, func() { g.offsets.place(tp.Topic, int32(tp.Partition)).unstable++ })
	}
	return o
}

// txnStore keeps a durable value of an open transaction.
func (c *Coordinator) txnStore(o *txnOffset, value committedOffset, by AppendID) {
	c.memoryBytes += int64(len(value.metadata) - len(o.value.metadata))
	o.value, o.by, o.stored = value, by, true
}

// txnForget drops an entry; it holds the partition's offset up no more.
func (c *Coordinator) txnForget(id wire.ProducerID, g *group, tp wire.TopicPartition) {
	offsets := c.txns[id][g]
	c.memoryBytes -= int64(len(offsets[tp].value.metadata))
	delete(offsets, tp)
	c.changeOffsets(g, func() {
		g.offsets.get(tp.Topic, int32(tp.Partition)).unstable--
		g.offsets.prune(tp.Topic, int32(tp.Partition))
	})
	if len(offsets) > 0 {
		return
	}
	delete(c.txns[id], g)
	g.openTxns--
	if len(c.txns[id]) == 0 {
		delete(c.txns, id)
	}
}

// TxnEnded says that a marker of the producer is durable in the shard's log, after all that Appended has reported: what the
// transaction committed counts from now, or never did.
func (c *Coordinator) TxnEnded(nowMS int64, wall wire.Timestamp, id wire.ProducerID, commit bool) Effects {
	c.begin(nowMS, wall)
	c.endTxn(id, commit)
	return c.end()
}

func (c *Coordinator) endTxn(id wire.ProducerID, commit bool) {
	groups := c.txns[id]
	for g, offsets := range groups {
		for tp, o := range offsets {
			if o.stored && commit {
				c.changeOffsets(g, func() { g.offsets.set(g.offsets.get(tp.Topic, int32(tp.Partition)), o.by, o.value) })
				g.durable = true
			}
			if o.stored = false; o.writes == 0 {
				c.txnForget(id, g, tp)
			}
		}
		c.dropIfNothing(g)
	}
}

// dropTxns forgets what open transactions hold for a group that is gone.
func (c *Coordinator) dropTxns(g *group) {
	if g.openTxns == 0 {
		return
	}
	for id, groups := range c.txns {
		for tp, o := range groups[g] {
			if o.stored = false; o.writes == 0 {
				c.txnForget(id, g, tp)
			}
		}
	}
}

// dropTxnTopic forgets what open transactions commit for a topic that is no more.
func (c *Coordinator) dropTxnTopic(g *group, topic string) {
	if g.openTxns == 0 {
		return
	}
	for id, groups := range c.txns {
		for tp, o := range groups[g] {
			if tp.Topic != topic {
				continue
			}
			if o.stored = false; o.writes == 0 {
				c.txnForget(id, g, tp)
			}
		}
	}
}

// LoadTxn is Load for a record of a transactional batch: a commit counts once LoadTxnEnd says so.
func (c *Coordinator) LoadTxn(id wire.ProducerID, rec wire.Record) error {
	if len(rec.Key) < 2 || rec.Value == nil || int16(binary.BigEndian.Uint16(rec.Key)) > keyOffsetCommit {
		return &RecordError{KeyVersion: -1, Reason: "a transaction commits offsets only"}
	}
	key, value, err := readOffset(int16(binary.BigEndian.Uint16(rec.Key)), rec)
	if err != nil {
		return err
	}
	c.lastAppend++
	g := c.groups[key.Group]
	if g == nil {
		g = newGroup(key.Group, wire.NoTimestamp)
		c.groups[key.Group] = g
	}
	o := c.txnPlace(id, g, offsetPlace(key.Topic, key.Partition))
	c.txnStore(o, value, c.lastAppend)
	return nil
}

// LoadTxnEnd is the replay of a marker.
func (c *Coordinator) LoadTxnEnd(id wire.ProducerID, commit bool) { c.endTxn(id, commit) }
