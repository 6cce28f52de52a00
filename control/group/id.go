package group

import (
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

// next gives "<prefix>-<uuid>", the uuid of RFC 9562's version 4.
func (ids memberIDs) next(prefix string) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], ids.source.Uint64())
	binary.BigEndian.PutUint64(raw[8:], ids.source.Uint64())
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	dst := make([]byte, 0, len(prefix)+37)
	dst = append(dst, prefix...)
	for _, part := range [][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		dst = append(dst, '-')
		dst = hex.AppendEncode(dst, part)
	}
	return string(dst)
}
