package segment

import "github.com/ringmill/ringmill/wire"

// producerWindow is how many batches of a producer are remembered to answer its retries: as many as a client may have in
// flight (Kafka's ProducerStateEntry.NUM_BATCHES_TO_RETAIN, max.in.flight.requests.per.connection of an idempotent producer).
const producerWindow = 5

// ProducerStateTable knows, for each producer id that wrote to the log, its epoch and its newest batches.
type ProducerStateTable struct {
	producers map[wire.ProducerID]*producerState // nil until the first
	open      openTxns
}

// producerBatch is one batch in a producer's window.
type producerBatch struct {
	lastOffset   wire.Offset
	timestamp    wire.Timestamp // greatest of the batch, or its append time
	lastSequence wire.Sequence
	offsetDelta  int32 // last offset minus first
}

func (b *producerBatch) firstSequence() wire.Sequence { return b.lastSequence.Add(-b.offsetDelta) }

func (b *producerBatch) firstOffset() wire.Offset { return b.lastOffset - wire.Offset(b.offsetDelta) }

// producerState is a producer's entry. It is a plain value, so that undo can keep a copy.
type producerState struct {
	batches          [producerWindow]producerBatch // oldest first
	lastTimestamp    wire.Timestamp
	txnFirstOffset   wire.Offset // first offset of its open transaction; NoOffset if none is open
	coordinatorEpoch int32       // of the last transaction marker; -1: none
	epoch            wire.ProducerEpoch
	count            uint8 // batches in use
}

func newProducerState() producerState {
	return producerState{
		lastTimestamp: wire.NoTimestamp, txnFirstOffset: wire.NoOffset, coordinatorEpoch: -1, epoch: wire.NoProducerEpoch,
	}
}

// producerUndo is what ProducerStateTable.undo needs to take an update back.
type producerUndo struct {
	id     wire.ProducerID
	before producerState
	known  bool // there was an entry before
	used   bool
}

// Verdict is the answer to whether a producer's batch may be appended.
type Verdict struct {
	Code       wire.ErrorCode // None, InvalidProducerEpoch, OutOfOrderSequenceNumber, InvalidTxnState or TransactionCoordinatorFenced
	Duplicate  bool           // the batch is in the log already: answer with these, append nothing
	BaseOffset wire.Offset    // of the original, if Duplicate
	Timestamp  wire.Timestamp // of the original, if Duplicate
}

// CheckProducer says whether b continues its producer's sequence (Kafka's ProducerAppendInfo for AppendOrigin.CLIENT). A batch
// without a producer id always does. A retry of one of the last five batches is a duplicate; an older epoch is fenced; a new
// epoch starts at sequence 0; a producer that is not known may start anywhere, since what was known may have expired; one with
// a transaction open writes nothing outside it. Expiry is ExpireProducers' alone.
func (l *Log) CheckProducer(b wire.RecordBatch) Verdict {
	if b.ProducerID() < 0 {
		return Verdict{}
	}
	s := l.producers.producers[b.ProducerID()]
	if s == nil {
		return Verdict{}
	}
	return s.check(b)
}

func (s *producerState) check(b wire.RecordBatch) Verdict {
	if b.BaseSequence() < 0 { // a coordinator's: a marker, or the offsets of a transaction
		return Verdict{Code: s.checkCoordinator(b)}
	}
	if d := s.duplicate(b); d != nil {
		return Verdict{Duplicate: true, BaseOffset: d.firstOffset(), Timestamp: d.timestamp}
	}
	epoch, first := b.ProducerEpoch(), b.BaseSequence()
	switch {
	case epoch < s.epoch:
		return Verdict{Code: wire.InvalidProducerEpoch}
	case epoch > s.epoch && s.epoch != wire.NoProducerEpoch && first != 0,
		epoch == s.epoch && !s.continues(first):
		return Verdict{Code: wire.OutOfOrderSequenceNumber}
	case s.txnFirstOffset >= 0 && !b.IsTransactional():
		return Verdict{Code: wire.InvalidTxnState}
	}
	return Verdict{}
}

// checkCoordinator judges a batch that has no sequence number by its epochs: the producer's and, of a marker, the
// coordinator's.
func (s *producerState) checkCoordinator(b wire.RecordBatch) wire.ErrorCode {
	if b.ProducerEpoch() < s.epoch {
		return wire.InvalidProducerEpoch
	}
	if m, ok := wire.ReadTxnMarker(b); ok && m.CoordinatorEpoch < s.coordinatorEpoch {
		return wire.TransactionCoordinatorFenced
	}
	return wire.None
}

// InTransaction reports whether the producer has a transaction open under this epoch.
func (l *Log) InTransaction(id wire.ProducerID, epoch wire.ProducerEpoch) bool {
	s := l.producers.producers[id]
	return s != nil && s.txnFirstOffset >= 0 && s.epoch == epoch
}

// duplicate gives the batch of the window with b's epoch and sequence numbers.
func (s *producerState) duplicate(b wire.RecordBatch) *producerBatch {
	if b.ProducerEpoch() != s.epoch {
		return nil
	}
	first, last := b.BaseSequence(), b.LastSequence()
	for i := range s.batches[:s.count] {
		if d := &s.batches[i]; d.lastSequence == last && d.firstSequence() == first {
			return d
		}
	}
	return nil
}

// continues reports whether first comes after the newest batch. With a known epoch but no batch, which a transaction marker
// leaves, the sequence starts at 0.
func (s *producerState) continues(first wire.Sequence) bool {
	if s.epoch == wire.NoProducerEpoch {
		return true
	}
	if s.count == 0 {
		return first == 0
	}
	return first == s.batches[s.count-1].lastSequence.Add(1)
}

// add notes a data batch; another epoch, even a lower one in a replicated log, starts the window anew.
func (s *producerState) add(epoch wire.ProducerEpoch, b producerBatch) {
	s.setEpoch(epoch)
	if s.count == producerWindow {
		copy(s.batches[:], s.batches[1:])
		s.count--
	}
	s.batches[s.count] = b
	s.count++
	s.lastTimestamp = b.timestamp
}

func (s *producerState) setEpoch(epoch wire.ProducerEpoch) {
	if s.epoch != epoch {
		s.epoch, s.count = epoch, 0
	}
}

// update notes a batch that is appended or found in the log; u keeps the entry as it was. A control batch must be whole: its
// one record is read. ended is the transaction that the batch ends, if it has records: then ok is true.
func (t *ProducerStateTable) update(b wire.RecordBatch, u *producerUndo) (ended endedTxn, ok bool) {
	id := b.ProducerID()
	if id < 0 {
		return ended, false
	}
	marker, isMarker := wire.ReadTxnMarker(b)
	if b.IsControl() && !isMarker {
		return ended, false // a transaction that compaction has taken out
	}
	s := t.producers[id]
	*u = producerUndo{id: id, known: s != nil, used: true}
	if s == nil {
		s = t.create(id)
	}
	u.before = *s
	if isMarker {
		ended = endedTxn{id: id, first: s.txnFirstOffset, last: b.LastOffset(), aborted: !marker.Commit}
		t.endTxn(s, b, marker)
		return ended, ended.first >= 0
	}
	s.add(b.ProducerEpoch(), producerBatch{
		lastOffset: b.LastOffset(), timestamp: b.MaxTimestamp(), lastSequence: b.LastSequence(), offsetDelta: b.LastOffsetDelta(),
	})
	if b.IsTransactional() && s.txnFirstOffset < 0 {
		s.txnFirstOffset = b.BaseOffset()
		t.open.add(s.txnFirstOffset, id)
	}
	return ended, false
}

func (t *ProducerStateTable) create(id wire.ProducerID) *producerState {
	if t.producers == nil {
		t.producers = make(map[wire.ProducerID]*producerState)
	}
	s := newProducerState()
	t.producers[id] = &s
	return &s
}

func (t *ProducerStateTable) endTxn(s *producerState, b wire.RecordBatch, m wire.TxnMarker) {
	s.setEpoch(b.ProducerEpoch())
	s.coordinatorEpoch = m.CoordinatorEpoch
	s.lastTimestamp = b.MaxTimestamp()
	if s.txnFirstOffset >= 0 {
		t.open.remove(s.txnFirstOffset)
		s.txnFirstOffset = wire.NoOffset
	}
}

// undo takes the newest update back.
func (t *ProducerStateTable) undo(u *producerUndo) {
	if !u.used {
		return
	}
	s := t.producers[u.id]
	if s == nil { // it has expired
		if !u.known {
			return
		}
		s = t.create(u.id)
	}
	if s.txnFirstOffset >= 0 && u.before.txnFirstOffset < 0 {
		t.open.remove(s.txnFirstOffset)
	}
	if s.txnFirstOffset < 0 && u.before.txnFirstOffset >= 0 {
		t.open.add(u.before.txnFirstOffset, u.id)
	}
	*s = u.before
	if !u.known {
		delete(t.producers, u.id)
	}
}
