package group

import (
	"encoding/binary"
	"math/bits"
)

// xxh3 is XXH3-64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md): the hash that Apache Kafka 4.1 keeps of the
// topics a group reads. It runs when topics or subscriptions change, so that it needs no vector instructions.
func xxh3(b []byte) uint64 {
	switch n := uint64(len(b)); {
	case n == 0:
		return xxh64Avalanche(secret64(56) ^ secret64(64))
	case n <= 3:
		mixed := uint32(b[0])<<16 | uint32(b[n>>1])<<24 | uint32(b[n-1]) | uint32(n)<<8
		return xxh64Avalanche(uint64(mixed ^ uint32(secret64(0)) ^ uint32(secret64(4))))
	case n <= 8:
		mixed := uint64(binary.LittleEndian.Uint32(b[n-4:])) + uint64(binary.LittleEndian.Uint32(b))<<32
		return xxh3Short(mixed^secret64(8)^secret64(16), n)
	case n <= 16:
		lo := binary.LittleEndian.Uint64(b) ^ secret64(24) ^ secret64(32)
		hi := binary.LittleEndian.Uint64(b[n-8:]) ^ secret64(40) ^ secret64(48)
		return xxh3Avalanche(n + bits.ReverseBytes64(lo) + hi + fold(lo, hi))
	case n <= 128:
		return xxh3Middle(b)
	case n <= 240:
		return xxh3Upper(b)
	}
	return xxh3Long(b)
}

// xxh3Secret is the specification's default secret.
const xxh3Secret = "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64" +
	"\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e" +
	"\x2b\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

// The specification's primes.
const (
	prime32x1 = 0x9e3779b1
	prime32x2 = 0x85ebca77
	prime32x3 = 0xc2b2ae3d
	prime64x1 = 0x9e3779b185ebca87
	prime64x2 = 0xc2b2ae3d27d4eb4f
	prime64x3 = 0x165667b19e3779f9
	prime64x4 = 0x85ebca77c2b2ae63
	prime64x5 = 0x27d4eb2f165667c5
)

var xxh3SecretBytes = []byte(xxh3Secret)

func secret64(at uint64) uint64 { return binary.LittleEndian.Uint64(xxh3SecretBytes[at:]) }

// fold is the exclusive or of the two halves of a product.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

func mix16(b []byte, at, secret uint64) uint64 {
	return fold(binary.LittleEndian.Uint64(b[at:])^secret64(secret), binary.LittleEndian.Uint64(b[at+8:])^secret64(secret+8))
}

func xxh64Avalanche(h uint64) uint64 {
	h = (h ^ h>>33) * prime64x2
	h = (h ^ h>>29) * prime64x3
	return h ^ h>>32
}

func xxh3Avalanche(h uint64) uint64 {
	h = (h ^ h>>37) * 0x165667919e3779f9
	return h ^ h>>32
}

func xxh3Short(h, n uint64) uint64 {
	const prime = 0x9fb21c651e98df25
	h = (h ^ bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)) * prime
	h = (h ^ (h>>35 + n)) * prime
	return h ^ h>>28
}

// xxh3Middle is for 17 to 128 bytes: pairs of 16 from both ends towards the middle.
func xxh3Middle(b []byte) uint64 {
	n := uint64(len(b))
	h := n * prime64x1
	for i := (n - 1) / 32; ; i-- {
		h += mix16(b, 16*i, 32*i) + mix16(b, n-16*(i+1), 32*i+16)
		if i == 0 {
			return xxh3Avalanche(h)
		}
	}
}

// xxh3Upper is for 129 to 240 bytes.
func xxh3Upper(b []byte) uint64 {
	n := uint64(len(b))
	h := n * prime64x1
	for i := range uint64(8) {
		h += mix16(b, 16*i, 16*i)
	}
	h = xxh3Avalanche(h)
	for i := uint64(8); i < n/16; i++ {
		h += mix16(b, 16*i, 16*(i-8)+3)
	}
	return xxh3Avalanche(h + mix16(b, n-16, 136-17))
}

const (
	xxh3Stripe   = 64
	xxh3Block    = 1024 // 16 stripes, each with the secret 8 bytes further on
	xxh3LastFrom = 192 - xxh3Stripe - 7
)

// xxh3Long is for more than 240 bytes: eight lanes over stripes of 64 bytes.
func xxh3Long(b []byte) uint64 {
	n := uint64(len(b))
	lanes := xxh3Lanes{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	rest := b
	for ; len(rest) > xxh3Block; rest = rest[xxh3Block:] {
		lanes.stripes(rest[:xxh3Block])
		lanes.scramble()
	}
	lanes.stripes(rest[:(len(rest)-1)/xxh3Stripe*xxh3Stripe])
	lanes.add(b[n-xxh3Stripe:], xxh3LastFrom)
	h := n * prime64x1
	for i := range uint64(4) {
		h += fold(lanes[2*i]^secret64(11+16*i), lanes[2*i+1]^secret64(19+16*i))
	}
	return xxh3Avalanche(h)
}

type xxh3Lanes [8]uint64

func (l *xxh3Lanes) stripes(b []byte) {
	for i := 0; i < len(b)/xxh3Stripe; i++ {
		l.add(b[i*xxh3Stripe:], uint64(8*i))
	}
}

func (l *xxh3Lanes) add(stripe []byte, secret uint64) {
	for i := range uint64(8) {
		v := binary.LittleEndian.Uint64(stripe[8*i:])
		keyed := v ^ secret64(secret+8*i)
		l[i^1] += v
		l[i] += (keyed & 0xffffffff) * (keyed >> 32)
	}
}

func (l *xxh3Lanes) scramble() {
	for i := range uint64(8) {
		l[i] = (l[i] ^ l[i]>>47 ^ secret64(192-xxh3Stripe+8*i)) * prime32x1
	}
}
