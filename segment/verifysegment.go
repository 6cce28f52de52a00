package segment

import (
	"errors"
	"io/fs"

	"github.com/ringmill/ringmill/wire"
)

// verifiedSegment is one segment while VerifyDir reads it.
type verifiedSegment struct {
	*verifier
	name   string // of the .log, in the directory
	base   wire.Offset
	end    wire.Offset // the next segment's base offset; NoOffset for the last one
	offset *offsetAudit
	time   *timeAudit
	txn    *txnAudit
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// verifySegment reads the i-th segment's batches, and its indexes against them. One that went meanwhile is passed over.
func (v *verifier) verifySegment(i int) error {
	s := &verifiedSegment{verifier: v, base: v.segments[i], end: wire.NoOffset, name: fileName("", v.segments[i], logSuffix)[1:]}
	if i+1 < len(v.segments) {
		s.end = v.segments[i+1]
	}
	batches, f, err := openBatches(v.fs, v.dir+"/"+s.name)
	if err == nil {
		defer f.Close()
		err = s.openAudits()
	}
	if v.wentMeanwhile(err) {
		v.next = max(v.next, s.end)
		return nil
	}
	if err != nil {
		return err
	}
	if s.base != v.next && !v.opt.Compacted {
		s.problemf(s.name, -1, "it begins at offset %d, the log before it ends at %d", s.base, v.next)
	}
	v.next = max(v.next, s.base)
	v.dec = wire.AcquireDecompressor()
	defer v.dec.Release()
	if err := s.verifyBatches(batches); err != nil {
		return err
	}
	s.closeAudits()
	if rest := batches.size - batches.position; rest > 0 && !(v.opt.Live && s.end < 0) {
		s.problemf(s.name, batches.position, "%d bytes follow the last batch", rest)
	}
	return nil
}

// openAudits reads the segment's indexes. Those of an active segment may be missing, and are not to be looked at while a node
// writes them.
func (s *verifiedSegment) openAudits() error {
	if s.opt.Live && s.end < 0 {
		s.txn = &txnAudit{skip: true}
		return nil
	}
	name, data, _, err := s.index(txnIndexSuffix)
	if err != nil {
		return err
	}
	s.txn = newTxnAudit(name, s.base, data, s.problem)
	name, data, there, err := s.index(indexSuffix)
	if err != nil {
		return err
	}
	if there {
		s.offset = newOffsetAudit(name, s.base, data, s.problem)
	} else if s.end >= 0 {
		s.problemf(name, -1, "it is missing")
	}
	name, data, there, err = s.index(timeIndexSuffix)
	if err != nil {
		return err
	}
	if there {
		s.time = newTimeAudit(name, s.base, data, s.problem)
	} else if s.end >= 0 {
		s.problemf(name, -1, "it is missing")
	}
	return nil
}

// index reads one of the segment's indexes, if it was there when the directory was listed.
func (s *verifiedSegment) index(suffix string) (name string, data []byte, there bool, err error) {
	name = fileName("", s.base, suffix)[1:]
	if there = s.indexes[name]; there {
		data, err = s.fs.ReadFile(s.dir + "/" + name)
	}
	return name, data, there, err
}

func (s *verifiedSegment) closeAudits() {
	if s.offset != nil {
		s.offset.end()
	}
	if s.time != nil {
		s.time.end()
	}
	s.txn.end()
}

func (s *verifiedSegment) verifyBatches(batches *batchReader) error {
	for {
		b, at, ok, err := batches.next()
		if err != nil || !ok {
			return err
		}
		if fault := b.Check(); fault != nil {
			s.problemf(s.name, at, "%v", fault)
		} else if s.opt.Records {
			s.verifyRecords(b, at)
		}
		s.verifyOffsets(b, at)
		s.verifyEpoch(b, at)
		if s.offset != nil {
			s.offset.batch(b, at)
		}
		if s.time != nil {
			s.time.batch(b)
		}
		s.txn.batch(b, s.openTxns)
		s.count(b)
	}
}

func (s *verifiedSegment) verifyOffsets(b wire.RecordBatch, at wire.Position) {
	first, last := b.BaseOffset(), b.LastOffset()
	if first != s.next && !(s.opt.Compacted && first > s.next) {
		s.problemf(s.name, at, "its base offset is %d, not %d", first, s.next)
	}
	if s.end >= 0 && last >= s.end {
		s.problemf(s.name, at, "its last offset is %d, but the next segment begins at %d", last, s.end)
	}
	s.next = max(s.next, last+1)
}

// verifyEpoch compares a batch's leader epoch with the batch before it and with the cache, whose entry must not be later.
func (s *verifiedSegment) verifyEpoch(b wire.RecordBatch, at wire.Position) {
	epoch := b.PartitionLeaderEpoch()
	if epoch < s.epoch {
		s.problemf(s.name, at, "its leader epoch is %d, the batch before it has %d", epoch, s.epoch)
		return
	}
	s.epoch = epoch
	if s.epochs == nil || epoch < 0 {
		return
	}
	if known := s.epochs.EpochAt(b.BaseOffset()); known != epoch {
		s.problemf(s.name, at, "its leader epoch is %d, %s says %d at offset %d", epoch, LeaderEpochCheckpoint, known, b.BaseOffset())
	}
}

func (s *verifiedSegment) verifyRecords(b wire.RecordBatch, at wire.Position) {
	it, err := b.Records(s.dec)
	if err != nil {
		s.problemf(s.name, at, "%v", err)
		return
	}
	last := int32(-1)
	for rec, ok := it.Next(); ok; rec, ok = it.Next() {
		if rec.OffsetDelta <= last || rec.OffsetDelta > b.LastOffsetDelta() || rec.OffsetDelta != last+1 && !s.opt.Compacted {
			s.problemf(s.name, at, "record %d follows record %d", rec.OffsetDelta, last)
		}
		last = rec.OffsetDelta
	}
	if err := it.Err(); err != nil {
		s.problemf(s.name, at, "%v", err)
	}
}

func (s *verifiedSegment) count(b wire.RecordBatch) {
	r := &s.report
	if r.Batches == 0 {
		r.StartOffset = b.BaseOffset()
	}
	r.Batches++
	r.Records += int64(b.RecordCount())
	r.Bytes += int64(b.Length())
	r.EndOffset = s.next
}
