package wire

// Compression is a codec's number in a batch's attributes.
type Compression uint8

// The codecs of record batches of magic 2.
const (
	CompressionNone Compression = iota
	CompressionGzip
	CompressionSnappy
	CompressionLZ4
	CompressionZstd
)

// codecs is indexed by Compression.
var codecs = [...]struct {
	name string
	// expansionMax bounds how many bytes one stored byte can unfold to, by the format itself: deflate 258 bytes by 2 bits;
	// snappy 64 bytes by a 3-byte copy; lz4 255 by one length byte; zstd a 128 KiB block by 4 bytes (RLE).
	expansionMax int64
}{
	CompressionNone:   {"none", 1},
	CompressionGzip:   {"gzip", 1032},
	CompressionSnappy: {"snappy", 22},
	CompressionLZ4:    {"lz4", 255},
	CompressionZstd:   {"zstd", 32768},
}

func (c Compression) known() bool { return int(c) < len(codecs) }

func (c Compression) expansionMax() int64 { return codecs[c].expansionMax }

// String gives the value of compression.type.
func (c Compression) String() string {
	if c.known() {
		return codecs[c].name
	}
	return "unknown"
}
