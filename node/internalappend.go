package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// internalBatch is what a coordinator of this node appends: records, or the marker of a transaction.
type internalBatch struct {
	records []wire.Record
	// producer is whose transaction the records belong to, nil if they belong to none; claim says so to that
	// transaction's coordinator.
	producer *verificationKey
	claim    claim
	// marker is a whole control batch, order where it stands among what its coordinator decided.
	marker []byte
	order  txnOrder
	// epoch is the leader epoch that the batch may be appended under, nil for any.
	epoch *wire.LeaderEpoch
}

// encode gives the batch's bytes. Offsets of a transaction carry no sequence number, as in Kafka.
func (b *internalBatch) encode() wire.RecordBatch {
	if b.marker != nil {
		return b.marker
	}
	h := wire.BatchHeader{BaseTimestamp: wallNow()}
	if p := b.producer; p != nil {
		h.Transactional, h.Idempotent = true, true
		h.ProducerID, h.ProducerEpoch, h.BaseSequence = p.id, p.epoch, wire.NoSequence
	}
	return wire.AppendRecordBatch(nil, h, b.records)
}

// appendInternal appends to a partition as a producer with acks=all would, to internal topics too. then runs on a loop and
// must not block.
func (n *Node) appendInternal(topic string, index wire.PartitionIndex, b internalBatch, then func(wire.ErrorCode)) {
	n.appendPlaced(topic, index, b, func(c replicate.Completion) { then(c.Code) })
}

// appendPlaced is appendInternal that says where the batch stands.
func (n *Node) appendPlaced(topic string, index wire.PartitionIndex, b internalBatch, then func(replicate.Completion)) {
	p, code := n.topics.named([]byte(topic)).leaderOf(index)
	if code != wire.None {
		then(replicate.Refused(nil, code))
		return
	}
	p.loop.send(&produceItem{
		request: &produceRequest{acks: replicate.AcksAll, claim: b.claim}, part: p, index: index, batch: b.encode(), order: b.order,
		epoch: b.epoch, appended: then,
	})
}

// errNotWritten is of a log whose appended records do not come to stand in its files.
var errNotWritten = errors.New("node: what was appended is not written")

// writtenTries is how often readRecords looks whether what was appended is written, at writtenPause: half a minute.
const (
	writtenTries = 3000
	writtenPause = 10 * time.Millisecond
)

// readRecords calls f for each record of a partition that this node leads, those too that replicas do not have yet, and for each control
// batch with its first record. It blocks on the disk. end is that of the log that was read.
func (n *Node) readRecords(p *partition, f func(wire.RecordBatch, wire.Record)) (end wire.Offset, err error) {
	type span struct {
		name string
		size int64
	}
	var spans []span
	written := false
	plan := func() { // a follower that becomes the leader may have records on their way to the file
		if written = len(p.plans) == 0 && len(p.writing) == 0; !written {
			return
		}
		for _, s := range p.log().Segments() {
			spans = append(spans, span{s.LogName(), int64(s.Size())})
		}
		end = p.log().LogEndOffset()
	}
	release := p.holdNames(plan)
	for try := 0; !written && try < writtenTries && n.sleep(writtenPause); try++ {
		release()
		release = p.holdNames(plan)
	}
	defer release()
	if !written {
		return 0, errNotWritten
	}
	dec := wire.AcquireDecompressor()
	defer dec.Release()
	for _, s := range spans {
		if err := readSegmentRecords(p.dir().fs, s.name, s.size, dec, f); err != nil {
			return 0, fmt.Errorf("read %s: %w", s.name, err)
		}
	}
	return end, nil
}
