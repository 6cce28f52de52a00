package wire

import (
	"bytes"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// zstdDecoder decodes whole streams within a limit. The library's limit is one for output and window together, while a
// client's stream may ask for a window far beyond what it holds: zstd at its highest levels asks for 128 MiB, whatever it
// is given. Where the window asked for is beyond the limit the stream's header is rewritten to ask for no more than the limit:
// no match can reach back further than the output is long.
type zstdDecoder struct {
	decoder *zstd.Decoder
	limit   int // that decoder was made for
	patched []byte
}

const (
	zstdDescriptorAt  = 4 // of the frame header, after the magic
	zstdWindowAt      = 5 // of the window descriptor, where there is one
	zstdSingleSegment = 0x20
	// zstdLimitMin is two blocks: a decoder with less refuses streams of small windows for their blocks' sizes.
	zstdLimitMin = 256 << 10
)

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func (z *zstdDecoder) appendDecoded(dst, src []byte, limit int) ([]byte, error) {
	window := zstdWindowFor(max(limit, zstdLimitMin))
	if z.decoder == nil || z.limit != limit {
		// One decoder without goroutines. DecodeAll sizes its output by what its input can hold, not by what a header claims.
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(zstdWindowSize(window)))
		if err != nil {
			return dst, err
		}
		z.decoder, z.limit = decoder, limit
	}
	start := len(dst)
	dst, err := z.decoder.DecodeAll(z.withWindow(src, window), dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || err == nil && len(dst)-start > limit {
		return dst[:min(len(dst), start+limit)], ErrDecompressedTooLarge
	}
	return dst, err
}

// withWindow gives src, or a copy of it that asks for window if src asks for more.
func (z *zstdDecoder) withWindow(src []byte, window byte) []byte {
	if len(src) <= zstdWindowAt || !bytes.HasPrefix(src, zstdMagic) || src[zstdDescriptorAt]&zstdSingleSegment != 0 ||
		src[zstdWindowAt] <= window {
		return src
	}
	z.patched = append(z.patched[:0], src...)
	z.patched[zstdWindowAt] = window
	return z.patched
}

// zstdWindowSize is the window in bytes that a descriptor asks for (RFC 8878, 3.1.1.1.2). It rises with the descriptor.
func zstdWindowSize(descriptor byte) uint64 {
	base := uint64(1) << (10 + descriptor>>3)
	return base + base/8*uint64(descriptor&7)
}

// zstdWindowFor is the descriptor of the smallest window of at least size bytes.
func zstdWindowFor(size int) (descriptor byte) {
	for zstdWindowSize(descriptor) < uint64(size) {
		descriptor++
	}
	return descriptor
}
