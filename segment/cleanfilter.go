package segment

import "github.com/ringmill/ringmill/wire"

// cleanFilter decides what of each batch stays: Kafka's Cleaner.cleanInto and MemoryRecords.filterTo, for batches of magic 2.
//
//	a record of an aborted transaction           goes
//	a record without a key                       goes
//	a record with a newer one of its key         goes
//	a tombstone that the delete horizon passed   goes
//	a marker without batches of its transaction  goes, once the delete horizon has passed
//	all others                                   stay, with their offsets, timestamps and headers
//
// A batch of which something went is packed anew with its own codec; its base offset, last offset, sequence numbers and leader
// epoch stay, so that readers and producers still find their way. One of which nothing is left goes, unless a producer's state
// hangs on it or its segment ends with it: then its header stays.
//
// The delete horizon (KIP-534) is the time from which tombstones may go: delete.retention.ms after the first cleaning that took the
// older records of their keys. It stands in the batch, in the place of the base timestamp. A batch beyond what the map of keys covers
// gets none yet: Kafka sets it there too, and may so take a tombstone in the same cleaning as the value that a reader has seen.
type cleanFilter struct {
	plan    *CleanPlan
	newest  *offsetMap
	txns    *cleanTxns
	dec     *wire.Decompressor
	builder wire.BatchBuilder
	retain  []bool // of the batch at hand, by record
	result  CleanResult
}

// batch appends what stays of b to dst. last says that b ends its segment.
func (f *cleanFilter) batch(dst []byte, b wire.RecordBatch, last bool) []byte {
	discard := f.txns.read(b)
	markerOfNone := discard && b.IsControl()
	if b.IsControl() {
		discard = discard && b.HasDeleteHorizon() && b.BaseTimestamp() <= f.plan.now
	}
	f.result.RecordsRead += int64(b.RecordCount())
	f.retain = f.retain[:0]
	kept, tombstones := 0, false
	if !discard {
		var ok bool
		if kept, tombstones, ok = f.choose(b); !ok {
			f.result.Undecodable++
			return append(dst, b...)
		}
	}
	f.result.RecordsKept += int64(kept)
	covered := b.LastOffset() <= f.newest.latest
	horizon := (tombstones && covered || markerOfNone) && !b.HasDeleteHorizon()
	switch {
	case kept == 0 && (last || f.needed(b)):
		f.result.Changed = f.result.Changed || b.RecordCount() > 0
		return appendEmptied(dst, b)
	case kept == 0:
		f.result.Changed = true
		return dst
	case kept == int(b.RecordCount()) && !horizon:
		return append(dst, b...)
	}
	f.result.Changed = true
	return f.repack(dst, b, horizon)
}

// needed says that a producer's state hangs on the batch: on the sequence number of its newest data, or if it has none in its
// epoch, on the epoch of its marker; or that the round ends there (Kafka keeps that batch too).
func (f *cleanFilter) needed(b wire.RecordBatch) bool {
	if b.NextOffset() == f.plan.FirstUncleanable {
		return true
	}
	r, known := f.plan.producers[b.ProducerID()]
	switch {
	case !known || b.ProducerID() < 0:
		return false
	case r.dataOffset >= 0:
		return b.LastOffset() == r.dataOffset
	}
	return b.IsControl() && b.ProducerEpoch() == r.epoch
}

// choose decides for each record. ok is false if the records make no sense: then all of the batch stays as it is.
func (f *cleanFilter) choose(b wire.RecordBatch) (kept int, tombstones, ok bool) {
	it, ok := soundRecords(b, f.dec)
	if !ok {
		return 0, false, false
	}
	for rec, more := it.Next(); more; rec, more = it.Next() {
		stays := b.IsControl() || f.stays(b, &rec)
		f.retain = append(f.retain, stays)
		if stays {
			kept++
			tombstones = tombstones || rec.Value == nil
		}
	}
	return kept, tombstones, true
}

// soundRecords gives an iterator over b's records if all of them can be decoded and their offsets rise within the batch. A log
// that was not always compacted may have batches that nobody has looked into.
func soundRecords(b wire.RecordBatch, dec *wire.Decompressor) (records wire.RecordIterator, ok bool) {
	it, err := b.Records(dec)
	if err != nil {
		return it, false
	}
	records = it // a copy, at the first record
	last := int32(-1)
	for rec, more := it.Next(); more; rec, more = it.Next() {
		if rec.OffsetDelta <= last {
			return it, false
		}
		last = rec.OffsetDelta
	}
	return records, it.Err() == nil && last <= b.LastOffsetDelta()
}

func (f *cleanFilter) stays(b wire.RecordBatch, rec *wire.Record) bool {
	off := b.BaseOffset() + wire.Offset(rec.OffsetDelta)
	switch {
	case off > f.newest.latest:
		return true // not looked at in this round
	case rec.Key == nil, off < f.newest.get(rec.Key):
		return false
	}
	return rec.Value != nil || !b.HasDeleteHorizon() || f.plan.now < b.BaseTimestamp()
}

// repack builds the batch anew of the records that stay.
func (f *cleanFilter) repack(dst []byte, b wire.RecordBatch, horizon bool) []byte {
	it, err := b.Records(f.dec)
	if err != nil {
		panic("BUG: a batch that was decoded cannot be decoded: " + err.Error())
	}
	h := wire.BatchHeader{
		BaseOffset: b.BaseOffset(), PartitionLeaderEpoch: b.PartitionLeaderEpoch(), Codec: b.Codec(), TimestampType: b.TimestampType(),
		BaseTimestamp: b.BaseTimestamp(), Transactional: b.IsTransactional(), Control: b.IsControl(),
		DeleteHorizon: horizon || b.HasDeleteHorizon(),
		Idempotent:    true, ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
	}
	if horizon {
		h.BaseTimestamp = f.plan.now + wire.Timestamp(f.plan.deleteRetention)
	}
	first := true
	for i := 0; ; i++ {
		rec, more := it.Next()
		if !more {
			break
		}
		if !f.retain[i] {
			continue
		}
		at := b.RecordTimestamp(rec)
		if first {
			if first = false; !h.DeleteHorizon {
				h.BaseTimestamp = at
			}
			f.builder.Reset(dst, h)
		}
		rec.TimestampDelta = int64(at - h.BaseTimestamp)
		f.builder.AddAt(rec)
	}
	return f.builder.FinishAt(b.LastOffsetDelta())
}

// appendEmptied appends the header of b as it is when no record is left: uncompressed, without a base timestamp or a delete
// horizon, the greatest timestamp as it was (DefaultRecordBatch.writeEmptyHeader).
func appendEmptied(dst []byte, b wire.RecordBatch) []byte {
	var builder wire.BatchBuilder
	start := len(dst)
	builder.Reset(dst, wire.BatchHeader{
		BaseOffset: b.BaseOffset(), PartitionLeaderEpoch: b.PartitionLeaderEpoch(), TimestampType: b.TimestampType(),
		BaseTimestamp: wire.NoTimestamp, Transactional: b.IsTransactional(), Control: b.IsControl(),
		Idempotent: true, ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
	})
	dst = builder.FinishAt(b.LastOffsetDelta())
	wire.RecordBatch(dst[start:]).SetMaxTimestamp(b.MaxTimestamp())
	return dst
}
