package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/ringmill/ringmill/wire"
)

// The .snapshot file (Kafka's ProducerSnapshot.json, version 1); FORMAT.md has its layout.
const (
	snapshotVersion    = 1
	snapshotHeaderSize = 2 + 4 + 4 // version, checksum, count
	snapshotCRCFrom    = 2 + 4     // the checksum covers what follows it
	producerEntrySize  = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ProducerEntry is a producer in a .snapshot file: its epoch and its newest batch. Older batches of its window are not kept,
// so after a clean restart only a retry of the newest is known as a duplicate.
type ProducerEntry struct {
	ProducerID       wire.ProducerID
	Epoch            wire.ProducerEpoch
	LastSequence     wire.Sequence // -1 if there is no batch
	LastOffset       wire.Offset   // -1 if there is no batch
	OffsetDelta      int32         // last offset of the batch minus its first
	Timestamp        wire.Timestamp
	CoordinatorEpoch int32       // -1 if no transaction has ended
	TxnFirstOffset   wire.Offset // -1 if no transaction is open
}

// AppendProducerSnapshot appends the bytes of a .snapshot file.
func AppendProducerSnapshot(dst []byte, entries []ProducerEntry) []byte {
	start := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint16(dst, snapshotVersion)
	dst = be.AppendUint32(dst, 0) // the checksum's place
	dst = be.AppendUint32(dst, uint32(len(entries)))
	for i := range entries {
		dst = entries[i].appendTo(dst)
	}
	file := dst[start:]
	be.PutUint32(file[2:], crc32.Checksum(file[snapshotCRCFrom:], castagnoli))
	return dst
}

func (e *ProducerEntry) appendTo(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(e.ProducerID))
	dst = be.AppendUint16(dst, uint16(e.Epoch))
	dst = be.AppendUint32(dst, uint32(e.LastSequence))
	dst = be.AppendUint64(dst, uint64(e.LastOffset))
	dst = be.AppendUint32(dst, uint32(e.OffsetDelta))
	dst = be.AppendUint64(dst, uint64(e.Timestamp))
	dst = be.AppendUint32(dst, uint32(e.CoordinatorEpoch))
	return be.AppendUint64(dst, uint64(e.TxnFirstOffset))
}

// ReadProducerSnapshot reads a .snapshot file. Any fault is ErrSnapshot, wrapped with what is wrong.
func ReadProducerSnapshot(data []byte) ([]ProducerEntry, error) {
	be := binary.BigEndian
	if len(data) < snapshotHeaderSize {
		return nil, fmt.Errorf("%w: %d bytes", ErrSnapshot, len(data))
	}
	if v := be.Uint16(data); v != snapshotVersion {
		return nil, fmt.Errorf("%w: version %d", ErrSnapshot, v)
	}
	if got, want := be.Uint32(data[2:]), crc32.Checksum(data[snapshotCRCFrom:], castagnoli); got != want {
		return nil, fmt.Errorf("%w: checksum %#08x, computed %#08x", ErrSnapshot, got, want)
	}
	n, body := int64(be.Uint32(data[6:])), data[snapshotHeaderSize:]
	if n*producerEntrySize != int64(len(body)) {
		return nil, fmt.Errorf("%w: %d entries in %d bytes", ErrSnapshot, n, len(body))
	}
	entries := make([]ProducerEntry, n)
	for i := range entries {
		entries[i].read(body[i*producerEntrySize:])
	}
	return entries, nil
}

func (e *ProducerEntry) read(src []byte) {
	be := binary.BigEndian
	*e = ProducerEntry{
		ProducerID:       wire.ProducerID(be.Uint64(src)),
		Epoch:            wire.ProducerEpoch(be.Uint16(src[8:])),
		LastSequence:     wire.Sequence(be.Uint32(src[10:])),
		LastOffset:       wire.Offset(be.Uint64(src[14:])),
		OffsetDelta:      int32(be.Uint32(src[22:])),
		Timestamp:        wire.Timestamp(be.Uint64(src[26:])),
		CoordinatorEpoch: int32(be.Uint32(src[34:])),
		TxnFirstOffset:   wire.Offset(be.Uint64(src[38:])),
	}
}

func (s *producerState) entry(id wire.ProducerID) ProducerEntry {
	e := ProducerEntry{
		ProducerID: id, Epoch: s.epoch, LastSequence: -1, LastOffset: wire.NoOffset,
		Timestamp: s.lastTimestamp, CoordinatorEpoch: s.coordinatorEpoch, TxnFirstOffset: s.txnFirstOffset,
	}
	if s.count > 0 {
		b := &s.batches[s.count-1]
		e.LastSequence, e.LastOffset, e.OffsetDelta = b.lastSequence, b.lastOffset, b.offsetDelta
	}
	return e
}
