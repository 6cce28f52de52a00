package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

var codecsUnderTest = []Compression{CompressionGzip, CompressionSnappy, CompressionLZ4, CompressionZstd}

func TestCodecsRoundTrip(t *testing.T) {
	var pack Compressor
	var unpack Decompressor
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for _, codec := range append([]Compression{CompressionNone}, codecsUnderTest...) {
		for _, src := range [][]byte{nil, {1}, []byte("records"), bytes.Repeat([]byte("again "), 100_000), noise, noise[:70_000]} {
			dst := pack.AppendTo([]byte("before"), codec, src)
			got, err := unpack.Decompress(codec, dst[len("before"):])
			if err != nil || !bytes.Equal(got, src) || string(dst[:6]) != "before" {
				t.Errorf("%s: %d bytes came back as %d, error %v", codec, len(src), len(got), err)
			}
		}
	}
}

func TestSnappyFramings(t *testing.T) {
	var d Decompressor
	var c Compressor
	text := bytes.Repeat([]byte("framed or raw "), 10_000)
	framed := c.AppendTo(nil, CompressionSnappy, text)
	if !bytes.HasPrefix(framed, xerialMagic) {
		t.Fatalf("not framed: %x", framed[:8])
	}
	for name, src := range map[string][]byte{"framed": framed, "raw": snappy.Encode(nil, text)} {
		if got, err := d.Decompress(CompressionSnappy, src); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got, err := d.Decompress(CompressionSnappy, append(bytes.Clone(framed), framed...))
	if err != nil || !bytes.Equal(got, append(bytes.Clone(text), text...)) {
		t.Errorf("two frames: %v", err)
	}
	for _, n := range []int{8, 15, 17, 20, len(framed) - 1} {
		if _, err := d.Decompress(CompressionSnappy, framed[:n]); err == nil {
			t.Errorf("cut to %d bytes: no error", n)
		}
	}
}

// bombs are streams far below 100 kB that unfold to 64 MiB of zeros and more.
func bombs() map[Compression][]byte {
	var c Compressor
	zeros := make([]byte, 64<<20+1)
	out := map[Compression][]byte{}
	for _, codec := range codecsUnderTest {
		out[codec] = bytes.Clone(c.AppendTo(nil, codec, zeros))
	}
	return out
}

func TestBombsAreBounded(t *testing.T) {
	for codec, bomb := range bombs() {
		var d Decompressor
		if _, err := d.Decompress(codec, bomb); !errors.Is(err, ErrDecompressedTooLarge) {
			t.Errorf("%s: %d bytes: %v", codec, len(bomb), err)
		}
		small := Decompressor{Limit: 10_000}
		before := allocated()
		if out, err := small.Decompress(codec, bomb); !errors.Is(err, ErrDecompressedTooLarge) || len(out) > 10_001 {
			t.Errorf("%s: limit 10,000: %d bytes, error %v", codec, len(out), err)
		}
		// What the codecs keep for themselves: tables and blocks of up to 8 MiB. The bomb would be 64.
		if grown := allocated() - before; grown > 12<<20 {
			t.Errorf("%s: allocated %d bytes", codec, grown)
		}
	}
}

func TestLimitIsExact(t *testing.T) {
	var c Compressor
	text := bytes.Repeat([]byte("x"), 5000)
	for _, codec := range codecsUnderTest {
		packed := bytes.Clone(c.AppendTo(nil, codec, text))
		for limit, want := range map[int]error{4999: ErrDecompressedTooLarge, 5000: nil} {
			d := Decompressor{Limit: limit}
			if _, err := d.Decompress(codec, packed); err != want {
				t.Errorf("%s: limit %d: %v", codec, limit, err)
			}
		}
	}
}

// A client at zstd's highest level asks for windows that are larger than any limit, for streams of any length.
func TestZstdWindowBeyondLimit(t *testing.T) {
	text := bytes.Repeat([]byte("far away "), 2000)
	var stream bytes.Buffer
	w, err := zstd.NewWriter(&stream, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	w.Write(text[:9])
	w.Flush() // so that the length is not known when the header is written
	w.Write(text[9:])
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if d := stream.Bytes()[zstdWindowAt]; zstdWindowSize(d) != zstd.MaxWindowSize {
		t.Fatalf("the stream asks for %d", zstdWindowSize(d))
	}
	for limit, want := range map[int]error{0: nil, len(text): nil, len(text) - 1: ErrDecompressedTooLarge} {
		d := Decompressor{Limit: limit}
		if got, err := d.Decompress(CompressionZstd, stream.Bytes()); err != want || err == nil && !bytes.Equal(got, text) {
			t.Errorf("limit %d: %d bytes, error %v", limit, len(got), err)
		}
	}
}

func TestDecompressRefusesGarbage(t *testing.T) {
	d := AcquireDecompressor()
	defer d.Release()
	for _, codec := range append(codecsUnderTest, 5, 7) {
		for _, src := range [][]byte{[]byte("this is no stream of any codec"), bytes.Repeat([]byte{0xff}, 50)} {
			if _, err := d.Decompress(codec, src); err == nil {
				t.Errorf("%s: no error", codec)
			}
		}
		b := resealed(sample(CompressionNone), func(b RecordBatch) { b[attributesAt+1] |= byte(codec) })
		var e *BatchError
		if _, err := b.Records(d); !errors.As(err, &e) || e.Reason != BatchDecompress || e.Err == nil {
			t.Errorf("%s: %v", codec, err)
		}
	}
}

func TestDecompressorPool(t *testing.T) {
	d := AcquireDecompressor()
	d.Limit = 3
	d.out = make([]byte, 0, decompressedKept+1)
	d.Release()
	if d.out != nil {
		t.Error("a large buffer was kept")
	}
	if d := AcquireDecompressor(); d.Limit != 0 {
		t.Error("a limit was kept")
	}
}
