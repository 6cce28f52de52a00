package node

import (
	"fmt"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// BenchmarkValidation is what a batch of 100 records of 1 KiB takes from a client and back under the flush policy cache, where only
// its header is checked, and where each record is read. Bytes are those on the wire.
func BenchmarkValidation(b *testing.B) {
	for codec := wire.CompressionNone; codec <= wire.CompressionZstd; codec++ {
		for _, how := range []string{"standard", "strict"} {
			b.Run(fmt.Sprintf("%s/%s", codec, how), func(b *testing.B) {
				tn := startNode(b, nodeOptions{shape: shapes[0], set: []string{"ringmill.validation=" + how, "ringmill.flush.policy=cache"}})
				tn.createTopic("a", 1)
				c := tn.dial()
				values := make([]string, 100)
				for i := range values {
					values[i] = logLine(i)
				}
				sent := batchOf(wire.BatchHeader{Codec: codec}, values...)
				b.SetBytes(int64(len(sent)))
				for b.Loop() {
					c.mustProduce("a", 0, sent)
				}
			})
		}
	}
}

// logLine is 1 KiB that compresses as lines of a log do.
func logLine(i int) string {
	line := make([]byte, 0, 1024)
	for word := i; len(line) < 1000; word = word*31 + 7 {
		line = fmt.Appendf(line, "level=%d id=%08x ", word%5, uint32(word)*2654435761)
	}
	return string(line)
}
