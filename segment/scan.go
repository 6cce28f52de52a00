package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/ringmill/ringmill/wire"
)

// ErrOldFormat is returned by OpenLog for a log with message sets of magic 0 or 1, as Kafka wrote them before 0.11. Nothing
// was changed; Apache Kafka can rewrite such a log.
var ErrOldFormat = errors.New("segment: message format before version 2")

// scanBuffer is the most bytes that a scan reads at a time. Batches up to this size are checked in place, larger ones in pieces.
const scanBuffer = 256 << 10

// crcFrom is where the part of a batch begins that its checksum covers: the attributes.
const crcFrom = 21

// scanner reads the batches of a .log one after the other through one buffer. It tells bytes that are no batch, which is a
// finding, from bytes that cannot be read, which is an error.
type scanner struct {
	dir    string
	base   wire.Offset
	r      io.ReaderAt
	size   wire.Position // of the file
	buf    []byte
	window []byte // of the file, from at on
	at     wire.Position
	bytes  int64 // read so far
}

// view gives n bytes at pos; they are within the file, and n within the buffer. It is valid until the next call.
func (s *scanner) view(pos wire.Position, n int) ([]byte, error) {
	if pos < s.at || pos+wire.Position(n) > s.at+wire.Position(len(s.window)) {
		if err := s.fill(pos); err != nil {
			return nil, err
		}
	}
	return s.window[pos-s.at:][:n], nil
}

func (s *scanner) fill(pos wire.Position) error {
	want := s.buf[:min(wire.Position(len(s.buf)), s.size-pos)]
	n, err := s.r.ReadAt(want, int64(pos))
	if n < len(want) {
		return fmt.Errorf("segment: read %d bytes at %d of %s: %w", len(want), pos, logName(s.dir, s.base), err)
	}
	s.window, s.at = want, pos
	s.bytes += int64(n)
	return nil
}

// read gives the batch at pos: its header, or all of it if it fits the buffer and verify or its kind asks for that. fault says
// why the bytes are no batch, "" if they are one.
func (s *scanner) read(pos wire.Position, verify bool) (b wire.RecordBatch, fault string, err error) {
	if s.size-pos < wire.RecordBatchOverhead {
		return nil, fmt.Sprintf("%d bytes are left, less than a batch header", s.size-pos), nil
	}
	head, err := s.view(pos, wire.RecordBatchOverhead)
	if err != nil {
		return nil, "", err
	}
	b = wire.RecordBatch(head)
	if b.Magic() != 2 {
		fault, err := s.otherMagic(b, pos)
		return nil, fault, err
	}
	if fault := headerFault(b, s.size-pos); fault != "" {
		return nil, fault, nil
	}
	if verify || b.IsControl() {
		return s.whole(b, pos, verify)
	}
	return b, "", nil
}

// oldFormatFault marks a message set of magic 0 or 1.
const oldFormatFault = "message format before version 2"

// Messages of magic 0 and 1 (Kafka's LegacyRecord): after offset and length a CRC-32 of everything from the magic on.
const (
	oldCRCAt   = 12
	oldMagicAt = 16
)

// otherMagic says what bytes are that are no batch of magic 2. An old message is known by its checksum, so that a torn tail is
// not taken for one.
func (s *scanner) otherMagic(b wire.RecordBatch, pos wire.Position) (fault string, err error) {
	magic, length, sum := b.Magic(), b.Length(), binary.BigEndian.Uint32(b[oldCRCAt:])
	if magic != 0 && magic != 1 || length <= oldMagicAt || length > len(s.buf) || wire.Position(length) > s.size-pos {
		return fmt.Sprintf("magic is %d", magic), nil
	}
	all, err := s.view(pos, length)
	if err == nil && crc32.ChecksumIEEE(all[oldMagicAt:]) == sum {
		return oldFormatFault, nil
	}
	return fmt.Sprintf("magic is %d", magic), err
}

// whole reads the rest of the batch whose header is b and checks its sum.
func (s *scanner) whole(b wire.RecordBatch, pos wire.Position, verify bool) (wire.RecordBatch, string, error) {
	length, sum := b.Length(), b.CRC()
	if length <= len(s.buf) {
		all, err := s.view(pos, length)
		if err != nil {
			return nil, "", err
		}
		b = wire.RecordBatch(all)
		if verify && b.ComputeCRC() != sum {
			return nil, "its checksum does not match", nil
		}
		return b, "", nil
	}
	got, err := s.sum(pos+crcFrom, pos+wire.Position(length))
	if err != nil {
		return nil, "", err
	}
	if verify && got != sum {
		return nil, "its checksum does not match", nil
	}
	head, err := s.view(pos, wire.RecordBatchOverhead)
	return wire.RecordBatch(head), "", err
}

// sum is the CRC-32C of a range larger than the buffer.
func (s *scanner) sum(pos, end wire.Position) (crc uint32, err error) {
	for pos < end {
		n := int(min(end-pos, wire.Position(len(s.buf))))
		piece, err := s.view(pos, n)
		if err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, castagnoli, piece)
		pos += wire.Position(n)
	}
	return crc, nil
}

// walker goes through the batches of a segment in order, and knows what to make of bytes that are none: below durable they
// are damage, which is noted and stepped over; from durable on they are a torn tail, where the walk ends.
type walker struct {
	scanner
	verify   bool
	durable  wire.Offset
	limit    wire.Offset // batches stay below it: the next segment's base
	position wire.Position
	expected wire.Offset      // the next batch's base offset, or less
	damage   *CorruptionError // the first
	badEnd   wire.Position    // where the last damage ends
	torn     string           // why the walk ended before the file did; "" if it did not
}

// start begins a walk of a file of size bytes; set verify, durable and limit for other than all headers, all of it damage.
func (w *walker) start(dir string, base wire.Offset, r io.ReaderAt, size wire.Position) {
	if want := int(min(scanBuffer, max(size, wire.RecordBatchOverhead))); len(w.buf) < want {
		w.buf = make([]byte, want)
	}
	*w = walker{
		scanner: scanner{dir: dir, base: base, r: r, size: size, buf: w.buf, bytes: w.bytes},
		durable: math.MaxInt64, limit: math.MaxInt64, expected: base,
	}
}

// next gives the next batch and its position; ok is false at the end.
func (w *walker) next() (b wire.RecordBatch, at wire.Position, ok bool, err error) {
	for w.position < w.size {
		b, fault, err := w.batchAt(w.position)
		if err != nil {
			return nil, 0, false, err
		}
		if fault == "" {
			at = w.position
			w.position += wire.Position(b.Length())
			w.expected = b.NextOffset()
			return b, at, true, nil
		}
		if fault == oldFormatFault {
			return nil, 0, false, fmt.Errorf("%w: %s at byte %d", ErrOldFormat, logName(w.dir, w.base), w.position)
		}
		if w.expected >= w.durable {
			w.torn = fault
			return nil, 0, false, nil
		}
		if err := w.stepOver(fault); err != nil {
			return nil, 0, false, err
		}
	}
	return nil, 0, false, nil
}

// batchAt reads the batch at pos and checks that its offsets continue the log.
func (w *walker) batchAt(pos wire.Position) (wire.RecordBatch, string, error) {
	b, fault, err := w.read(pos, w.verify)
	if err != nil || fault != "" {
		return nil, fault, err
	}
	switch first, last := b.BaseOffset(), b.LastOffset(); {
	case first < w.expected:
		return nil, fmt.Sprintf("its base offset is %d", first), nil
	case last >= w.limit || !canHold(w.base, last):
		return nil, fmt.Sprintf("its last offset is %d, beyond the segment", last), nil
	}
	return b, "", nil
}

// stepOver notes damage and goes on at the next good batch, or at the end of the file.
func (w *walker) stepOver(fault string) error {
	from := w.position
	for w.position++; w.position < w.size; w.position++ {
		if w.size-w.position < wire.RecordBatchOverhead {
			w.position = w.size
			break
		}
		found, err := w.goodBatch(w.position)
		if err != nil {
			return err
		}
		if found {
			break
		}
	}
	w.badEnd = w.position
	if w.damage == nil {
		w.damage = &CorruptionError{
			Dir: w.dir, Segment: w.base, Position: from, End: w.position, Offset: w.expected, Reason: fault,
		}
	}
	return nil
}

// goodBatch reports whether a batch with a matching checksum that continues the log begins at pos.
func (w *walker) goodBatch(pos wire.Position) (bool, error) {
	head, err := w.view(pos, wire.RecordBatchOverhead)
	if err != nil || wire.RecordBatch(head).Magic() != 2 || headerFault(wire.RecordBatch(head), w.size-pos) != "" {
		return false, err
	}
	verify := w.verify
	w.verify = true
	_, fault, err := w.batchAt(pos)
	w.verify = verify
	return fault == "", err
}
