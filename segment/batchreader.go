package segment

import (
	"errors"
	"io"

	"github.com/ringmill/ringmill/wire"
)

// batchReader reads the batches of a .log one after the other, whole and unjudged, for tools: dump and VerifyDir. Recovery has
// its own (walker), which reads no more than it must and knows torn from damaged.
type batchReader struct {
	r        io.ReaderAt
	size     wire.Position // of the file
	position wire.Position // of the next batch
	buf      []byte
}

// next gives the next batch, a view until the next call, and its position. ok is false at the end of the batches: of the file,
// or where bytes begin that no batch of magic 2 can be (then position is less than size). A batch's checksum is not looked at.
func (br *batchReader) next() (b wire.RecordBatch, at wire.Position, ok bool, err error) {
	head, err := br.read(min(wire.RecordBatchOverhead, br.size-br.position))
	if err != nil {
		return nil, 0, false, err
	}
	if len(head) < wire.RecordBatchOverhead || wire.RecordBatch(head).Magic() != 2 {
		return nil, 0, false, nil
	}
	length := wire.Position(wire.RecordBatch(head).Length())
	if length < wire.RecordBatchOverhead || length > br.size-br.position {
		return nil, 0, false, nil
	}
	whole, err := br.read(length)
	if err != nil {
		return nil, 0, false, err
	}
	at = br.position
	br.position += length
	return wire.RecordBatch(whole), at, true, nil
}

// read gives n bytes from the position on; n is within the file, so that no length in it can ask for more memory than it has.
func (br *batchReader) read(n wire.Position) ([]byte, error) {
	if wire.Position(cap(br.buf)) < n {
		br.buf = make([]byte, n)
	}
	got, err := br.r.ReadAt(br.buf[:n], int64(br.position))
	if wire.Position(got) < n {
		return nil, err
	}
	return br.buf[:n:n], nil
}

// openBatches opens a .log for reading; the caller closes the file.
func openBatches(fsys FS, name string) (*batchReader, File, error) {
	f, err := fsys.OpenFile(name, ReadOnly, 0)
	if err != nil {
		return nil, nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return &batchReader{r: f, size: wire.Position(size)}, f, nil
}
