package group

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// memberIDs makes the ids of members from a seed, so that the same run makes the same ids.
type memberIDs struct{ source *rand.ChaCha8 }

func newMemberIDs(seed uint64) memberIDs {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return memberIDs{source: rand.NewChaCha8(key)}
}

// uuid gives 16 random bytes as Kafka writes its ids: in base64 for URLs, without padding.
func (ids memberIDs) uuid() string {
	raw := ids.random()
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// random gives the bits of a random UUID (RFC 9562, version 4).
func (ids memberIDs) random() (raw [16]byte) {
	binary.BigEndian.PutUint64(raw[:8], ids.source.Uint64())
	binary.BigEndian.PutUint64(raw[8:], ids.source.Uint64())
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	return raw
}

// next gives "<prefix>-<uuid>".
func (ids memberIDs) next(prefix string) string {
	raw := ids.random()
	dst := make([]byte, 0, len(prefix)+37)
	dst = append(dst, prefix...)
	for _, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		dst = append(dst, '-')
		dst = hex.AppendEncode(dst, part)
	}
	return string(dst)
}
