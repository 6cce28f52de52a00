package protocol

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ringmill/ringmill/tests/harness"
)

func gzipped(raw []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(raw)
	w.Close()
	return out.Bytes()
}

func lz4ed(raw []byte) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	w.Write(raw)
	w.Close()
	return out.Bytes()
}

func zstded(raw []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(raw, nil)
}

func snappied(raw []byte) []byte { return s2.EncodeSnappy(nil, raw) }

// What is stored is what was produced, byte for byte behind the offset and the epoch.
func TestProduceKeepsCodecs(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for codec, pack := range []func([]byte) []byte{nil, gzipped, snappied, lz4ed, zstded} {
		c, topic := dial(t, node), node.CreateTopic(t, "codec", 1)
		b := newBatch(record("first"), record("second"))
		if pack != nil {
			b.compressed(int16(codec), pack)
		}
		want(t, "offset", c.mustProduce(topic, b), 0)
		raw := c.fetchRaw(topic, 0)
		if sent := b.bytes(); len(raw) != len(sent) || !bytes.Equal(raw[16:], sent[16:]) {
			t.Errorf("codec %d: %d bytes stored, %d sent", codec, len(raw), len(sent))
		}
	}
}

func TestProduceCodecErrors(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	zstdBatch := newBatch(record("v")).compressed(4, zstded).bytes()
	wantCode(t, "zstd before v7", c.produceAt(6, topic, 0, zstdBatch).ErrorCode, kerr.UnsupportedCompressionType)
	wantCode(t, "zstd at v7", c.produceAt(7, topic, 0, zstdBatch).ErrorCode, nil)
}
