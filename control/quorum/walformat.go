package quorum

import (
	"encoding/binary"
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/wire"
)

// The log is a sequence of record batches (FORMAT.md). Each begins with a state record; what one Ready writes is one batch,
// or several if it is large.

// Kinds of records: the first byte of their keys. The second is a version.
const (
	stateRecord = 1
	resetRecord = 2
	entryRecord = 3

	recordVersion = 0
)

// walState is the state record: what must not be forgotten beside the entries, and what recovery tells a torn end from
// damage by.
type walState struct {
	term, vote uint64
	commit     uint64 // never beyond the batch's last entry
	snapshot   uint64 // index of the newest snapshot that was durable when the batch was written
	synced     int64  // every record with a smaller sequence number was durable when the batch was written
}

const (
	stateBytes = 5 * 8
	resetBytes = 2 * 8
	entryKey   = 2 + 1 + 8 + 8 // kind, version, raft's type, term, index
)

func (s walState) record() wire.Record {
	v := make([]byte, 0, stateBytes)
	for _, n := range [...]uint64{s.term, s.vote, s.commit, s.snapshot, uint64(s.synced)} {
		v = binary.BigEndian.AppendUint64(v, n)
	}
	return wire.Record{Key: []byte{stateRecord, recordVersion}, Value: v}
}

// position is an entry's place in the order of all entries.
type position struct{ index, term uint64 }

// record says that the log is empty and that the entry after p comes next: a snapshot was installed.
func (p position) record() wire.Record {
	v := binary.BigEndian.AppendUint64(make([]byte, 0, resetBytes), p.index)
	return wire.Record{Key: []byte{resetRecord, recordVersion}, Value: binary.BigEndian.AppendUint64(v, p.term)}
}

func entryToRecord(e *pb.Entry) wire.Record {
	k := append(make([]byte, 0, entryKey), entryRecord, recordVersion, uint8(e.GetType()))
	k = binary.BigEndian.AppendUint64(k, e.GetTerm())
	return wire.Record{Key: binary.BigEndian.AppendUint64(k, e.GetIndex()), Value: e.GetData()}
}

// walBatch is a batch, read.
type walBatch struct {
	state   walState
	reset   *position
	entries []*pb.Entry // their data is a copy
	next    int64       // sequence number after it
}

// readWalBatch reads the sound batch b and checks that it makes sense by itself.
func readWalBatch(b wire.RecordBatch) (batch walBatch, err error) {
	it, err := b.Records(nil)
	if err != nil {
		return batch, err
	}
	n := int32(0)
	for ; ; n++ {
		rec, ok := it.Next()
		if !ok {
			break
		}
		if rec.OffsetDelta != n {
			return batch, fmt.Errorf("%w: record %d has delta %d", errFormat, n, rec.OffsetDelta)
		}
		if err := batch.read(int(n), rec); err != nil {
			return batch, err
		}
	}
	if it.Err() != nil {
		return batch, it.Err()
	}
	if n == 0 || b.LastOffsetDelta() != n-1 || b.PartitionLeaderEpoch() != 0 {
		return batch, fmt.Errorf("%w: a batch of %d records", errFormat, n)
	}
	if batch.state.synced < 0 || batch.state.synced > int64(b.BaseOffset()) || batch.state.term > termMax {
		return batch, fmt.Errorf("%w: an impossible state", errFormat)
	}
	batch.next = int64(b.NextOffset())
	return batch, nil
}

func (b *walBatch) read(n int, rec wire.Record) error {
	if len(rec.Key) < 2 || (n == 0) != (rec.Key[0] == stateRecord) {
		return fmt.Errorf("%w: record %d", errFormat, n)
	}
	if rec.Key[1] != recordVersion || rec.Key[0] < stateRecord || rec.Key[0] > entryRecord {
		return fmt.Errorf("%w: a record of kind %d, version %d", ErrNewerFormat, rec.Key[0], rec.Key[1])
	}
	k, v := cursor{src: rec.Key[2:]}, cursor{src: rec.Value}
	switch rec.Key[0] {
	case stateRecord:
		b.state = walState{term: v.uint64(), vote: v.uint64(), commit: v.uint64(), snapshot: v.uint64(), synced: int64(v.uint64())}
	case resetRecord:
		b.reset = &position{index: v.uint64(), term: v.uint64()}
		v.failed = v.failed || n != 1
	case entryRecord:
		e := &pb.Entry{Type: pb.EntryType(k.uint8()).Enum(), Term: new(k.uint64()), Index: new(k.uint64())}
		if rec.Value != nil {
			e.Data = append([]byte{}, rec.Value...)
		}
		b.entries, v.src = append(b.entries, e), nil
		v.failed = e.GetType() > pb.EntryConfChangeV2 || e.GetIndex() == 0 || e.GetTerm() == 0
	}
	if !k.done() || !v.done() {
		return fmt.Errorf("%w: record %d", errFormat, n)
	}
	return nil
}
