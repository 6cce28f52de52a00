package wire

import "math/bits"

// Kafka's varints are protocol buffers': 7 bits a byte, least significant first, the high bit set on all but the last.
// Signed ones are zig-zag. Unlike encoding/binary these refuse more than 32 bits where 32 are due.

// uvarint32 reads an unsigned varint of at most 32 bits; n is the bytes used, 0 if src is too short, -1 if it overflows.
func uvarint32(src []byte) (u uint32, n int) {
	for i := 0; i < 5; i++ {
		if i >= len(src) {
			return 0, 0
		}
		b := src[i]
		if i == 4 && b > 0x0f {
			return 0, -1
		}
		u |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			return u, i + 1
		}
	}
	return 0, -1
}

// uvarint64 is uvarint32 for 64 bits.
func uvarint64(src []byte) (u uint64, n int) {
	for i := 0; i < 10; i++ {
		if i >= len(src) {
			return 0, 0
		}
		b := src[i]
		if i == 9 && b > 1 {
			return 0, -1
		}
		u |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return u, i + 1
		}
	}
	return 0, -1
}

// varint32 and varint64 read zig-zag varints; n as in uvarint32.
func varint32(src []byte) (v int32, n int) {
	u, n := uvarint32(src)
	return int32(u>>1) ^ -int32(u&1), n
}

func varint64(src []byte) (v int64, n int) {
	u, n := uvarint64(src)
	return int64(u>>1) ^ -int64(u&1), n
}

func appendUvarint(dst []byte, u uint32) []byte {
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

func appendVarint(dst []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// varintSize is the number of bytes that appendVarint writes for v.
func varintSize(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}

// uvarintSize is the number of bytes that appendUvarint writes for u.
func uvarintSize(u uint32) int { return (bits.Len32(u|1) + 6) / 7 }
