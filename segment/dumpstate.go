package segment

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// content reads the whole file and opens the dump.
func (d *dumper) content() ([]byte, error) {
	data, err := d.fs.ReadFile(d.name)
	if err == nil {
		d.heading()
	}
	return data, err
}

func (d *dumper) dumpIndex() error {
	data, err := d.content()
	if err != nil {
		return err
	}
	audit := newOffsetAudit(path.Base(d.name), d.base, data, d.problem)
	written := writtenEntries("", data, offsetEntrySize, func(Problem) {})
	for i := range len(written) / offsetEntrySize {
		d.emit(DumpOffsetEntry(readOffsetEntry(d.base, written, i)))
	}
	err = d.eachBatch(audit.batch)
	audit.end()
	return err
}

func (d *dumper) dumpTimeIndex() error {
	data, err := d.content()
	if err != nil {
		return err
	}
	audit := newTimeAudit(path.Base(d.name), d.base, data, d.problem)
	written := writtenEntries("", data, timeEntrySize, func(Problem) {})
	for i := range len(written) / timeEntrySize {
		d.emit(DumpTimeEntry(readTimeEntry(d.base, written, i)))
	}
	err = d.eachBatch(func(b wire.RecordBatch, _ wire.Position) { audit.batch(b) })
	audit.end()
	return err
}

// eachBatch goes through the .log beside an index.
func (d *dumper) eachBatch(visit func(wire.RecordBatch, wire.Position)) error {
	batches, f, err := openBatches(d.fs, d.sibling(logSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		d.problem(Problem{path.Base(d.name), -1, "there is no .log beside it"})
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		b, at, ok, err := batches.next()
		if err != nil || !ok {
			return err
		}
		visit(b, at)
	}
}

func (d *dumper) dumpAborted() error {
	data, err := d.content()
	if err != nil {
		return err
	}
	entries, err := ReadTxnIndex(d.base, data)
	for _, e := range entries {
		d.emit(DumpAbortedTransaction{
			ProducerID: e.ProducerID, FirstOffset: e.FirstOffset, LastOffset: e.LastOffset, LastStableOffset: e.LastStableOffset,
		})
	}
	if err != nil {
		d.problem(Problem{path.Base(d.name), int64(len(entries) * abortedEntrySize), err.Error()})
	}
	return nil
}

func (d *dumper) dumpProducers() error {
	data, err := d.content()
	if err != nil {
		return err
	}
	entries, err := ReadProducerSnapshot(data)
	if err != nil {
		d.broken(err)
		return nil
	}
	for _, e := range entries {
		d.emit(producerLine(e))
	}
	return nil
}

func producerLine(e ProducerEntry) DumpProducer {
	l := DumpProducer{
		ProducerID: e.ProducerID, ProducerEpoch: e.Epoch, CoordinatorEpoch: e.CoordinatorEpoch, LastTimestamp: e.Timestamp,
	}
	if e.TxnFirstOffset >= 0 {
		l.CurrentTxnFirstOffset = &e.TxnFirstOffset
	}
	if e.LastOffset >= 0 {
		l.LastBatch = &DumpProducerBatch{
			FirstSequence: e.LastSequence.Add(-e.OffsetDelta), LastSequence: e.LastSequence, LastOffset: e.LastOffset,
			OffsetDelta: e.OffsetDelta, Timestamp: e.Timestamp,
		}
	}
	return l
}

func (d *dumper) dumpEpochs() error {
	data, err := d.content()
	if err != nil {
		return err
	}
	cache, err := ReadLeaderEpochCache(data)
	if err != nil {
		d.broken(err)
		return nil
	}
	for _, e := range cache.Entries() {
		d.emit(DumpEpoch{e.Epoch, e.Start})
	}
	return nil
}

func (d *dumper) dumpOffsets() error {
	data, err := d.content()
	if err != nil {
		return err
	}
	offsets, err := ReadOffsetCheckpoint(data)
	if err != nil {
		d.broken(err)
		return nil
	}
	for _, tp := range slices.SortedFunc(maps.Keys(offsets), compareTopicPartitions) {
		d.emit(DumpCheckpoint{tp.Topic, tp.Partition, offsets[tp]})
	}
	return nil
}

func (d *dumper) dumpMetadata() error {
	data, err := d.content()
	if err != nil {
		return err
	}
	id, err := ReadPartitionMetadata(data)
	if err != nil {
		d.broken(err)
		return nil
	}
	d.emit(DumpPartitionMetadata{TopicID: id.String()})
	return nil
}
