package segment

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

func (d *dumper) dumpLog() error {
	batches, f, err := openBatches(d.fs, d.name)
	if err != nil {
		return err
	}
	defer f.Close()
	head := DumpFile{File: d.name}
	if path.Ext(d.name) != ".checkpoint" {
		head.BaseOffset = &d.base
	}
	d.emit(head)
	expected := d.base
	for d.failed == nil {
		b, at, ok, err := batches.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if b.BaseOffset() < expected {
			d.problem(Problem{path.Base(d.name), int64(at), fmt.Sprintf("base offset %d is below %d", b.BaseOffset(), expected)})
		}
		d.dumpBatch(b, at)
		expected = max(expected, b.NextOffset())
	}
	if rest := int64(batches.size - batches.position); rest > 0 {
		d.problems++
		d.emit(DumpTail{File: path.Base(d.name), Bytes: rest})
	}
	return nil
}

// dumpBatch writes a batch and, if asked to, its records.
func (d *dumper) dumpBatch(b wire.RecordBatch, at wire.Position) {
	fault := b.Check()
	d.emit(dumpLineOf(b, at, fault == nil))
	if fault != nil {
		d.problem(Problem{path.Base(d.name), int64(at), fault.Error()})
		return
	}
	if d.opt.Records || d.opt.Data {
		if err := d.dumpRecords(b); err != nil {
			d.problem(Problem{path.Base(d.name), int64(at), err.Error()})
		}
	}
}

func dumpLineOf(b wire.RecordBatch, at wire.Position, valid bool) DumpBatch {
	l := DumpBatch{
		BaseOffset: b.BaseOffset(), LastOffset: b.LastOffset(), Count: b.RecordCount(),
		BaseSequence: b.BaseSequence(), LastSequence: b.LastSequence(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
		PartitionLeaderEpoch: b.PartitionLeaderEpoch(), IsTransactional: b.IsTransactional(), IsControl: b.IsControl(),
		Position: at, TimestampType: b.TimestampType().String(), MaxTimestamp: b.MaxTimestamp(), Size: b.Length(), Magic: b.Magic(),
		CompressCodec: b.Codec().String(), CRC: b.CRC(), IsValid: valid,
	}
	if b.HasDeleteHorizon() {
		horizon := b.BaseTimestamp()
		l.DeleteHorizonMS = &horizon
	}
	return l
}

func (d *dumper) dumpRecords(b wire.RecordBatch) error {
	dec := wire.AcquireDecompressor()
	defer dec.Release()
	it, err := b.Records(dec)
	if err != nil {
		return err
	}
	last := int32(-1)
	for rec, ok := it.Next(); ok && d.failed == nil; rec, ok = it.Next() {
		d.emit(d.recordLine(b, rec))
		if rec.OffsetDelta <= last || rec.OffsetDelta > b.LastOffsetDelta() {
			return fmt.Errorf("%d is followed by %d", b.BaseOffset()+wire.Offset(last), b.BaseOffset()+wire.Offset(rec.OffsetDelta))
		}
		last = rec.OffsetDelta
	}
	return it.Err()
}

func (d *dumper) recordLine(b wire.RecordBatch, rec wire.Record) DumpRecord {
	l := DumpRecord{
		Offset: b.BaseOffset() + wire.Offset(rec.OffsetDelta), TimestampType: b.TimestampType().String(), Timestamp: b.RecordTimestamp(rec),
		KeySize: sizeOrNull(rec.Key), ValueSize: sizeOrNull(rec.Value), Sequence: b.BaseSequence(), HeaderKeys: []string{},
	}
	if l.Sequence >= 0 {
		l.Sequence = l.Sequence.Add(rec.OffsetDelta)
	}
	for _, h := range rec.Headers {
		l.HeaderKeys = append(l.HeaderKeys, string(h.Key))
	}
	switch {
	case b.IsControl():
		l.Control = readDumpControl(rec)
	case d.opt.Data:
		l.Key, l.Payload = DumpBytes{rec.Key, true}, DumpBytes{rec.Value, true}
	}
	return l
}

func sizeOrNull(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// controlTypes are the names of Kafka's ControlRecordType by number.
var controlTypes = []string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}

func readDumpControl(rec wire.Record) *DumpControl {
	c := &DumpControl{Type: "UNKNOWN", ID: -1}
	if len(rec.Key) >= 4 {
		c.ID = int16(binary.BigEndian.Uint16(rec.Key[2:]))
	}
	if c.ID >= 0 && int(c.ID) < len(controlTypes) {
		c.Type = controlTypes[c.ID]
	}
	if c.endsTxn() && len(rec.Value) >= 6 {
		c.CoordinatorEpoch = int32(binary.BigEndian.Uint32(rec.Value[2:]))
	}
	return c
}

// endsTxn reports whether it is ABORT or COMMIT.
func (c *DumpControl) endsTxn() bool { return c.ID == 0 || c.ID == 1 }

func (d *dumper) dumpJournal() error {
	f, err := d.fs.OpenFile(d.name, ReadOnly, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	d.heading()
	jr, err := ReadJournal(f, size)
	if err != nil {
		return d.journalEnd(err)
	}
	d.emit(DumpJournalHead{
		Incarnation: jr.slot.incarnation, Serial: jr.slot.serial, TrackBytes: jr.slot.trackBytes, Tracks: jr.tracks(), Floor: jr.slot.floor,
	})
	for e, ok := jr.Next(); ok && d.failed == nil; e, ok = jr.Next() {
		d.emit(DumpJournalEntry{
			Sequence: jr.Sequence(), Position: jr.position() - int64(journalEntrySize(len(e.Batch))), TopicID: e.TopicID.String(),
			Partition: e.Partition, BaseOffset: e.BaseOffset, LeaderEpoch: e.LeaderEpoch, Size: len(e.Batch),
			Truncation: e.Truncation, Void: e.Void,
		})
		if !e.Truncation {
			d.dumpJournalBatch(e)
		}
	}
	return d.journalEnd(jr.Err())
}

func (d *dumper) dumpJournalBatch(e JournalEntry) {
	b, tail, err := wire.ReadRecordBatch(slices.Clip(e.Batch))
	if err != nil || len(tail) > 0 {
		d.problem(Problem{path.Base(d.name), -1, fmt.Sprintf("the entry at offset %d holds no single batch", e.BaseOffset)})
		return
	}
	d.dumpBatch(b, 0)
}

// journalEnd makes damage a line.
func (d *dumper) journalEnd(err error) error {
	if damage, ok := err.(*JournalError); ok {
		d.problem(Problem{path.Base(d.name), damage.Position, damage.Reason})
		return nil
	}
	return err
}
