package segment

import (
	"bufio"
	"fmt"
	"io"

	"github.com/ringmill/ringmill/wire"
)

// cleanBatchMax is the largest batch that is cleaned: more than a request may have (socket.request.max.bytes is 100 MB). A length
// beyond it is taken for damage before memory is spent on it.
const cleanBatchMax = 128 << 20

// cleanReader reads the batches of a sealed segment one after the other, whole and checked.
type cleanReader struct {
	dir      string
	source   *cleanSource
	file     File
	in       *bufio.Reader
	buf      []byte
	position wire.Position // of the next batch
	expected wire.Offset   // the next batch's base offset, or less
}

func (j *CleanJob) open(s *cleanSource) (*cleanReader, error) {
	name := logName(j.plan.dir, s.base)
	f, err := j.fs.OpenFile(name, ReadOnly, 0)
	if err != nil {
		return nil, fmt.Errorf("segment: open %s: %w", name, err)
	}
	return &cleanReader{
		dir: j.plan.dir, source: s, file: f, expected: s.base,
		in: bufio.NewReaderSize(io.NewSectionReader(f, 0, int64(s.size)), scanBuffer),
	}, nil
}

func (r *cleanReader) close() { _ = r.file.Close() }

func (r *cleanReader) atEnd() bool { return r.position == r.source.size }

// next gives the next batch, a view until the next call; nil at the end. The error is a *CorruptionError or the file's.
func (r *cleanReader) next() (wire.RecordBatch, error) {
	if r.atEnd() {
		return nil, nil
	}
	head, err := r.in.Peek(wire.RecordBatchOverhead)
	if err == io.EOF {
		return nil, r.damage(fmt.Sprintf("%d bytes are left, less than a batch header", len(head)))
	}
	if err != nil {
		return nil, r.failed(err)
	}
	b := wire.RecordBatch(head)
	if fault := headerFault(b, r.source.size-r.position); fault != "" {
		return nil, r.damage(fault)
	}
	length := b.Length()
	if length > cleanBatchMax {
		return nil, r.damage(fmt.Sprintf("a batch of %d bytes", length))
	}
	if cap(r.buf) < length {
		r.buf = make([]byte, length)
	}
	b = r.buf[:length]
	if _, err := io.ReadFull(r.in, b); err != nil {
		return nil, r.failed(err)
	}
	if err := b.Check(); err != nil {
		return nil, r.damage(err.Error())
	}
	if b.BaseOffset() < r.expected || b.LastOffset() >= r.source.next {
		return nil, r.damage(fmt.Sprintf("offsets %d to %d, between %d and %d", b.BaseOffset(), b.LastOffset(), r.expected, r.source.next))
	}
	r.position += wire.Position(length)
	r.expected = b.NextOffset()
	return b, nil
}

func (r *cleanReader) damage(reason string) error {
	return &CorruptionError{
		Dir: r.dir, Segment: r.source.base, Position: r.position, End: r.source.size, Offset: r.expected, Reason: reason,
	}
}

func (r *cleanReader) failed(err error) error {
	return fmt.Errorf("segment: read %s at %d: %w", logName(r.dir, r.source.base), r.position, err)
}

// place notes a batch at the end of the new segment; flush writes it.
func (j *CleanJob) place(next *Segment, b wire.RecordBatch) error {
	if int64(next.size)+int64(len(b)) > maxSegmentBytes {
		return fmt.Errorf("segment: %s grows beyond %d bytes when it is cleaned", next.LogName(), int64(maxSegmentBytes))
	}
	next.place(b, wire.Position(len(b)), j.plan.indexInterval)
	j.filter.result.BytesWritten += int64(len(b))
	return nil
}

// flush writes what has gathered.
func (j *CleanJob) flush(next *Segment, f File) error {
	at := int64(next.size) - int64(len(j.buf))
	if len(j.buf) > 0 {
		if _, err := f.WriteAt(j.buf, at); err != nil {
			return fmt.Errorf("segment: write %d bytes at %d of %s%s: %w", len(j.buf), at, next.LogName(), cleanedSuffix, err)
		}
	}
	if j.buf = j.buf[:0]; cap(j.buf) > 2*cleanWriteBytes {
		j.buf = nil
	}
	return nil
}

// finish writes the new segment's indexes, and makes all its names durable. A .txnindex is written, even an empty one, where there
// was one: it will take its place.
func (j *CleanJob) finish(g *CleanedGroup) error {
	s := g.next
	for _, e := range j.filter.txns.takeKept() {
		s.txn.append(e)
	}
	s.txn.stale = g.indexed
	g.indexed = g.indexed || s.txn.Count() > 0
	times, offsets, aborted := s.planTimeIndex(true), s.planIndex(), s.planTxnIndex()
	for _, w := range []*indexWrite{&times, &offsets, &aborted.indexWrite} {
		if w == &aborted.indexWrite && !aborted.due {
			continue
		}
		w.name += cleanedSuffix
		if err := w.run(j.fs); err != nil {
			return err
		}
	}
	s.sealed(times)
	s.txn.written(aborted)
	s.index.release()
	s.txn.release(keepAll)
	if err := j.fs.SyncDir(g.dir); err != nil {
		return fmt.Errorf("segment: sync directory %s: %w", g.dir, err)
	}
	return nil
}
