package node

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// batchFile is a segment's file in memory.
type batchFile struct {
	segment.File
	*bytes.Reader
}

func (f batchFile) ReadAt(p []byte, at int64) (int, error) { return f.Reader.ReadAt(p, at) }
func (f batchFile) Size() (int64, error)                   { return f.Reader.Size(), nil }

// TestShareReadOfADamagedLength: a batch whose length says more than there is ends the read with an error; it is not asked for more
// and more.
func TestShareReadOfADamagedLength(t *testing.T) {
	log := bytes.Clone(batch("a", "b"))
	whole := len(log)
	log = append(log, batch("c")...)
	const lengthAt = 8
	binary.BigEndian.PutUint32(log[whole+lengthAt:], 1<<20)
	for _, from := range []int{0, whole} {
		r := &shareRead{maxBytes: 4 << 20, maxRecords: 100, whole: true}
		err := r.readRange(batchFile{Reader: bytes.NewReader(log)}, int64(from), int64(len(log)))
		if !errors.Is(err, wire.ErrShortBatch) || len(r.records) != whole-from {
			t.Errorf("from %d: %d bytes, %v", from, len(r.records), err)
		}
	}
}
