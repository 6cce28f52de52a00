package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/klauspost/compress/snappy"
)

// Java's producers frame snappy as the library of xerial.org does; librdkafka and others send one raw block. Both are read,
// the framed form is written.
//
//	| 0x82 "SNAPPY" 0x00 | version int32 = 1 | compatible int32 = 1 | { length int32 | raw snappy block } ...
//
// Frames may follow each other: where a block's length is due, the first four bytes of another frame's magic may stand.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

// xerialHeaderSize is the magic and the two versions, in bytes.
const xerialHeaderSize = 16

var errSnappyFrame = errors.New("malformed xerial frame")

// appendSnappyDecoded appends what src unfolds to, as long as dst stays within limit.
func appendSnappyDecoded(dst, src []byte, limit int) (_ []byte, err error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return appendSnappyBlock(dst, src, limit)
	}
	for len(src) > 0 {
		if bytes.HasPrefix(src, xerialMagic) {
			if len(src) < xerialHeaderSize {
				return dst, errSnappyFrame
			}
			src = src[xerialHeaderSize:]
			continue
		}
		if len(src) < 4 {
			return dst, errSnappyFrame
		}
		n := int64(binary.BigEndian.Uint32(src))
		if src = src[4:]; n > int64(len(src)) {
			return dst, errSnappyFrame
		}
		if dst, err = appendSnappyBlock(dst, src[:n], limit); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

// appendSnappyBlock unfolds one raw block. The size that the block claims is believed only as far as its bytes can go.
func appendSnappyBlock(dst, block []byte, limit int) ([]byte, error) {
	n, err := snappy.DecodedLen(block)
	switch {
	case err != nil:
		return dst, err
	case int64(n) > int64(len(block))*CompressionSnappy.expansionMax():
		return dst, snappy.ErrCorrupt
	case n > limit-len(dst):
		return dst, ErrDecompressedTooLarge
	}
	dst = slices.Grow(dst, n)
	end := len(dst) + n
	if _, err = snappy.Decode(dst[len(dst):end:end], block); err != nil {
		return dst, err
	}
	return dst[:end], nil
}
