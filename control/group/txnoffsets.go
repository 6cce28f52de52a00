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

// txnOffsets are the offsets of open transactions, by producer. A producer has one open at a time in a log; the next one's
// first commits may be under way before the end of the last is told.
type txnOffsets map[wire.ProducerID]map[txnPlace]*txnOffset

// txnPlace is a partition of which a group commits the offset. A group is named by its id: while the log is read, the
// group itself is made anew with each of its records.
type txnPlace struct {
	group, topic string
	partition    int32
}

// txnOffset is one partition's offset in an open transaction. While it is there the partition's offset is not stable.
type txnOffset struct {
	value  committedOffset
	by     AppendID // the append that wrote value
	stored bool     // value is durable
	writes int      // appends under way
}

// openTxnOffset gives the entry of a place in a producer's open transaction, a new one if there is none.
func (c *Coordinator) openTxnOffset(id wire.ProducerID, g *group, at txnPlace) *txnOffset {
	offsets := c.txns[id]
	if offsets == nil {
		offsets = map[txnPlace]*txnOffset{}
		c.txns[id] = offsets
	}
	o := offsets[at]
	if o == nil {
		o = &txnOffset{}
		offsets[at] = o
		c.changeOffsets(g, func() { g.offsets.place(at.topic, at.partition).unstable++ })
	}
	return o
}

// storeTxnOffset keeps a durable value of an open transaction.
func (c *Coordinator) storeTxnOffset(o *txnOffset, value committedOffset, by AppendID) {
	c.memoryBytes += int64(len(value.metadata) - len(o.value.metadata))
	o.value, o.by, o.stored = value, by, true
}

// closeTxnOffset takes an entry's value away, and the entry unless more is under way for it.
func (c *Coordinator) closeTxnOffset(id wire.ProducerID, at txnPlace) {
	o := c.txns[id][at]
	if o.stored = false; o.writes == 0 {
		c.forgetTxnOffset(id, at)
	}
}

func (c *Coordinator) forgetTxnOffset(id wire.ProducerID, at txnPlace) {
	c.memoryBytes -= int64(len(c.txns[id][at].value.metadata))
	if delete(c.txns[id], at); len(c.txns[id]) == 0 {
		delete(c.txns, id)
	}
	g := c.groups[at.group]
	c.changeOffsets(g, func() {
		g.offsets.get(at.topic, at.partition).unstable--
		g.offsets.prune(at.topic, at.partition)
	})
}

// TxnEnded says that a marker of the producer is durable in the shard's log, after all that Appended has reported: what the
// transaction committed counts from now, or never did.
func (c *Coordinator) TxnEnded(nowMS int64, wall wire.Timestamp, id wire.ProducerID, commit bool) Effects {
	c.begin(nowMS, wall)
	c.endTxn(id, commit)
	return c.end()
}

func (c *Coordinator) endTxn(id wire.ProducerID, commit bool) {
	for at, o := range c.txns[id] {
		g := c.groups[at.group]
		if o.stored && commit {
			e := g.offsets.get(at.topic, at.partition)
			c.changeOffsets(g, func() { g.offsets.set(e, o.by, o.value) })
			g.durable = g.durable || e.stored // a tombstone that came later wins
		}
		c.closeTxnOffset(id, at)
		c.dropIfNothing(g)
	}
}

// dropTxns forgets what open transactions hold for a group that goes, also what is under way.
func (c *Coordinator) dropTxns(group string) {
	for id, offsets := range c.txns {
		for at := range offsets {
			if at.group == group {
				c.forgetTxnOffset(id, at)
			}
		}
	}
}

// dropTxnTopic forgets what open transactions commit for a topic that is no more.
func (c *Coordinator) dropTxnTopic(topic string) {
	for id, offsets := range c.txns {
		for at := range offsets {
			if at.topic == topic {
				c.closeTxnOffset(id, at)
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
	o := c.openTxnOffset(id, g, txnPlace{key.Group, key.Topic, key.Partition})
	c.storeTxnOffset(o, value, c.lastAppend)
	return nil
}

// LoadTxnEnd is the replay of a marker.
func (c *Coordinator) LoadTxnEnd(id wire.ProducerID, commit bool) { c.endTxn(id, commit) }
