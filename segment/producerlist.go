package segment

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// ExpireProducers forgets producers without an open transaction whose newest record is ProducerExpirationMS old, and says how
// many (ProducerStateManager.removeExpiredProducers).
func (l *Log) ExpireProducers(now wire.Timestamp) int {
	return l.producers.expire(now, l.config.ProducerExpirationMS)
}

func (t *ProducerStateTable) expire(now wire.Timestamp, afterMS int64) int {
	n := len(t.producers)
	for id, s := range t.producers {
		if s.expired(now, afterMS) {
			delete(t.producers, id)
		}
	}
	if len(t.producers) == 0 {
		t.producers = nil
	}
	return n - len(t.producers)
}

func (s *producerState) expired(now wire.Timestamp, afterMS int64) bool {
	return s.txnFirstOffset < 0 && int64(now-s.lastTimestamp) >= afterMS
}

// ActiveProducer is a producer as DescribeProducers shows it.
type ActiveProducer struct {
	ID               wire.ProducerID
	Epoch            wire.ProducerEpoch
	LastSequence     wire.Sequence // -1: no batch is known
	LastTimestamp    wire.Timestamp
	CoordinatorEpoch int32       // -1: no transaction has ended
	TxnStartOffset   wire.Offset // -1: no transaction is open
}

// Producers lists the producers that the log knows, by id.
func (l *Log) Producers() []ActiveProducer {
	out := make([]ActiveProducer, 0, len(l.producers.producers))
	for _, e := range l.producers.entries() {
		out = append(out, ActiveProducer{
			ID: e.ProducerID, Epoch: e.Epoch, LastSequence: e.LastSequence, LastTimestamp: e.Timestamp,
			CoordinatorEpoch: e.CoordinatorEpoch, TxnStartOffset: e.TxnFirstOffset,
		})
	}
	return out
}

// producerIDMax bounds the ids that ProducerIDsEnd minds. A client may write under any id; one beyond this was never handed
// out, and must not use up those that are left.
const producerIDMax = 1 << 62

// ProducerIDsEnd is one beyond the greatest producer id that the log knows; 0 if it knows none.
func (l *Log) ProducerIDsEnd() (end wire.ProducerID) {
	for id := range l.producers.producers {
		if id < producerIDMax {
			end = max(end, id+1)
		}
	}
	return end
}

// entries gives the table as a snapshot's entries, by producer id.
func (t *ProducerStateTable) entries() []ProducerEntry {
	out := make([]ProducerEntry, 0, len(t.producers))
	for id, s := range t.producers {
		out = append(out, s.entry(id))
	}
	slices.SortFunc(out, func(a, b ProducerEntry) int {
		if a.ProducerID < b.ProducerID {
			return -1
		}
		return 1
	})
	return out
}

// restore puts a snapshot's entry in the table.
func (t *ProducerStateTable) restore(e ProducerEntry) {
	s := t.create(e.ProducerID)
	s.epoch, s.coordinatorEpoch, s.lastTimestamp = e.Epoch, e.CoordinatorEpoch, e.Timestamp
	if e.TxnFirstOffset >= 0 {
		s.txnFirstOffset = e.TxnFirstOffset
		t.open.add(e.TxnFirstOffset, e.ProducerID)
	}
	if e.LastOffset >= 0 {
		s.batches[0] = producerBatch{
			lastOffset: e.LastOffset, timestamp: e.Timestamp, lastSequence: e.LastSequence, offsetDelta: e.OffsetDelta,
		}
		s.count = 1
	}
}
