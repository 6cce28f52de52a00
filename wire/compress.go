package wire

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy/xerial"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compressor folds records with one of the codecs. The zero value works; it keeps each codec's state and is not for
// concurrent use. Levels are the libraries' defaults: whoever wants another pays for it in the producer.
type Compressor struct {
	sink appender
	gzip *gzip.Writer
	lz4  *lz4.Writer
	zstd *zstd.Encoder
	snap []byte
}

// appender is an io.Writer that appends.
type appender struct{ dst []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.dst = append(a.dst, p...)
	return len(p), nil
}

// AppendTo appends src, folded, to dst. An unknown codec is the caller's fault and panics.
func (c *Compressor) AppendTo(dst []byte, codec Compression, src []byte) []byte {
	switch codec {
	case CompressionNone:
		return append(dst, src...)
	case CompressionGzip:
		return c.write(dst, c.gzipWriter(), src)
	case CompressionSnappy:
		c.snap = xerial.Encode(c.snap[:0], src)
		return append(dst, c.snap...)
	case CompressionLZ4:
		return c.write(dst, c.lz4Writer(), src)
	case CompressionZstd:
		return c.zstdEncoder().EncodeAll(src, dst)
	}
	panic("BUG: unknown codec " + codec.String())
}

// write sends src through w, which writes to the sink; memory does not fail.
func (c *Compressor) write(dst []byte, w io.WriteCloser, src []byte) []byte {
	c.sink.dst = dst
	_, err := w.Write(src)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		panic("BUG: compressing into memory failed: " + err.Error())
	}
	dst, c.sink.dst = c.sink.dst, nil
	return dst
}

func (c *Compressor) gzipWriter() *gzip.Writer {
	if c.gzip == nil {
		c.gzip = gzip.NewWriter(&c.sink)
	}
	c.gzip.Reset(&c.sink)
	return c.gzip
}

// lz4Writer makes frames as Kafka's KafkaLZ4BlockOutputStream does: blocks of 64 KiB, no checksums but the header's.
func (c *Compressor) lz4Writer() *lz4.Writer {
	if c.lz4 == nil {
		c.lz4 = lz4.NewWriter(&c.sink)
		if err := c.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)); err != nil {
			panic("BUG: lz4 options: " + err.Error())
		}
	}
	c.lz4.Reset(&c.sink)
	return c.lz4
}

func (c *Compressor) zstdEncoder() *zstd.Encoder {
	if c.zstd == nil {
		var err error
		if c.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
			panic("BUG: zstd options: " + err.Error())
		}
	}
	return c.zstd
}
