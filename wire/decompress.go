package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/pierrec/lz4/v4"
)

// DecompressedMax is the default bound on what one batch may unfold to. The batch's own size is bounded by
// max.message.bytes (1 MiB by default), which a few kilobytes of zstd can expand to gigabytes.
const DecompressedMax = 64 << 20

// decompressedKept is the largest output buffer that a released Decompressor keeps.
const decompressedKept = 1 << 20

// ErrDecompressedTooLarge means that a stream unfolds to more than the limit.
var ErrDecompressedTooLarge = errors.New("wire: decompressed records exceed the limit")

// Decompressor unfolds the records of compressed batches into a buffer that it owns. The zero value works, with the limit
// DecompressedMax. It is not for concurrent use, and belongs to cold paths: it allocates what a codec needs on that codec's
// first use, and grows its output as bytes arrive, never by what a stream's header claims.
type Decompressor struct {
	// Limit bounds the output in bytes; 0 means DecompressedMax.
	Limit int

	out  []byte
	src  bytes.Reader
	gzip *gzip.Reader
	lz4  *lz4.Reader
	zstd zstdDecoder
}

var decompressors = sync.Pool{New: func() any { return new(Decompressor) }}

// AcquireDecompressor takes a Decompressor with the default limit from the pool; give it back with Release.
func AcquireDecompressor() *Decompressor {
	d := decompressors.Get().(*Decompressor)
	d.Limit = 0
	return d
}

// Release gives d back to the pool. What Decompress returned, and the records in it, must not be used any more.
func (d *Decompressor) Release() {
	if cap(d.out) > decompressedKept {
		d.out = nil
	}
	d.src.Reset(nil)
	decompressors.Put(d)
}

// Decompress unfolds src. The result is valid until the next call. Errors: ErrDecompressedTooLarge, or the codec's own.
func (d *Decompressor) Decompress(c Compression, src []byte) (out []byte, err error) {
	d.out = d.out[:0]
	switch c {
	case CompressionNone:
		return src, nil
	case CompressionGzip:
		err = d.unfoldGzip(src)
	case CompressionSnappy:
		d.out, err = appendSnappyDecoded(d.out, src, d.limit())
	case CompressionLZ4:
		err = d.unfoldLZ4(src)
	case CompressionZstd:
		d.out, err = d.zstd.appendDecoded(d.out, src, d.limit())
	default:
		err = errors.New("unknown codec")
	}
	if err != nil && !errors.Is(err, ErrDecompressedTooLarge) {
		err = fmt.Errorf("wire: %s: %w", c, err)
	}
	return d.out, err
}

func (d *Decompressor) limit() int {
	if d.Limit > 0 {
		return d.Limit
	}
	return DecompressedMax
}

func (d *Decompressor) unfoldGzip(src []byte) (err error) {
	d.src.Reset(src)
	if d.gzip == nil {
		d.gzip = new(gzip.Reader)
	}
	if err = d.gzip.Reset(&d.src); err != nil {
		return err
	}
	return d.readAll(d.gzip)
}

func (d *Decompressor) unfoldLZ4(src []byte) error {
	d.src.Reset(src)
	if d.lz4 == nil {
		d.lz4 = lz4.NewReader(nil)
	}
	d.lz4.Reset(&d.src)
	return d.readAll(d.lz4)
}

// readAll appends everything that r gives to the output, within the limit.
func (d *Decompressor) readAll(r io.Reader) error {
	for limit := d.limit(); ; {
		d.out = slices.Grow(d.out, 512)
		n, err := r.Read(d.out[len(d.out):min(cap(d.out), limit+1)])
		d.out = d.out[:len(d.out)+n]
		switch {
		case len(d.out) > limit:
			return ErrDecompressedTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
