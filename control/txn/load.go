package txn

import (
	"encoding/binary"
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// RecordError says why a record of __transaction_state cannot be read. The record is left out; those after it may be
// loaded.
type RecordError struct {
	Reason string // what is wrong with it
	Err    error  // the decoder's error, or nil
}

func (e *RecordError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("txn: transaction record: %s: %v", e.Reason, e.Err)
	}
	return "txn: transaction record: " + e.Reason
}

func (e *RecordError) Unwrap() error { return e.Err }

// Load takes one record of the shard's log, in the order of the log, before Loaded. The record's bytes are not kept. The
// error is a *RecordError.
func (c *Coordinator) Load(rec wire.Record) error {
	if c.loaded {
		panic("BUG: Load after Loaded")
	}
	var key kmsg.TxnMetadataKey
	if err := key.ReadFrom(rec.Key); err != nil || key.Version != keyVersion {
		return &RecordError{fmt.Sprintf("a key of %d bytes, version %d", len(rec.Key), key.Version), err}
	}
	if before := c.ids[key.TransactionalID]; before != nil {
		c.discharge(before)
	}
	if rec.Value == nil {
		delete(c.ids, key.TransactionalID)
		return nil
	}
	m, err := readValue(rec.Value)
	if err != nil {
		return err
	}
	t := &transaction{id: key.TransactionalID, metadata: m}
	c.ids[t.id] = t
	c.charge(t)
	return nil
}

func readValue(src []byte) (m metadata, err error) {
	if len(src) < 2 {
		return m, &RecordError{Reason: "the value is shorter than its version"}
	}
	if v := int16(binary.BigEndian.Uint16(src)); v < 0 || v > valueVersion {
		return m, &RecordError{Reason: fmt.Sprintf("the value has version %d, known are 0 to %d", v, valueVersion)}
	}
	v := kmsg.NewTxnMetadataValue()
	if err := v.ReadFrom(src); err != nil {
		return m, &RecordError{"the value is damaged", err}
	}
	if reason := implausible(&v); reason != "" {
		return m, &RecordError{Reason: reason}
	}
	m = metadata{
		producerID: wire.ProducerID(v.ProducerID), previousProducerID: wire.ProducerID(v.PreviousProducerID),
		nextProducerID: wire.ProducerID(v.NextProducerID),
		epoch:          wire.ProducerEpoch(v.ProducerEpoch), lastEpoch: wire.NoProducerEpoch, timeoutMS: v.TimeoutMillis,
		state: State(v.State), start: wire.Timestamp(v.StartTimestamp), lastUpdate: wire.Timestamp(v.LastUpdateTimestamp),
		version: Version(v.ClientTransactionVersion),
	}
	for _, t := range v.Topics {
		for _, p := range t.Partitions {
			m.partitions = append(m.partitions, wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(p)})
		}
	}
	m.partitions = union(nil, m.partitions)
	if m.state == Ongoing && m.start < 0 {
		m.start = m.lastUpdate
	}
	return m, nil
}

// implausible says what no coordinator would have written.
func implausible(v *kmsg.TxnMetadataValue) string {
	switch state := State(v.State); {
	case v.State < 0 || state >= Dead:
		return fmt.Sprintf("state %d", v.State)
	case v.ProducerID < 0 || v.ProducerEpoch < 0:
		return fmt.Sprintf("producer %d epoch %d", v.ProducerID, v.ProducerEpoch)
	case state.idle() && len(v.Topics) > 0:
		return fmt.Sprintf("%s with partitions", state)
	}
	return ""
}

// Loaded ends the replay: transactions whose outcome is decided get their markers, perhaps once more, and those that are
// open go on with what is left of their time.
func (c *Coordinator) Loaded(nowMS int64, wall wire.Timestamp) Effects {
	c.begin(nowMS, wall)
	c.loaded = true
	c.nextAbortMS = c.nowMS + max(c.cfg.AbortIntervalMS, 1)
	c.nextExpiryMS = c.nowMS + max(c.cfg.ExpirationIntervalMS, 1)
	var decided []*transaction
	for _, t := range c.ids {
		switch {
		case t.state == Ongoing:
			t.startMS = c.nowMS - max(int64(wall-t.start), 0)
		case t.state.prepared():
			decided = append(decided, t)
		}
	}
	for _, t := range sorted(decided) {
		c.sendMarkers(t)
	}
	return c.end()
}
