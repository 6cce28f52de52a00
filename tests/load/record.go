package load

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kgo"
)

// header of a value: process, counter, checksum; four bytes each, big-endian.
const header = 12

// Value is a record's value: process, counter, CRC-32 of the padding mixed with both, padding. Producers in other languages
// (tests/peers/apps/Numbered.java, numbered.py) make the same.
func Value(process, counter uint32, size int) []byte {
	value := make([]byte, size)
	binary.BigEndian.PutUint32(value, process)
	binary.BigEndian.PutUint32(value[4:], counter)
	for i := header; i < len(value); i++ {
		value[i] = byte(counter + uint32(i))
	}
	binary.BigEndian.PutUint32(value[8:], crc32.ChecksumIEEE(value[header:])^process^counter)
	return value
}

// Name gives a record's offset, process and counter, as histories have them; an error tells that its bytes have changed.
func Name(r *kgo.Record, size int) ([3]uint64, error) {
	if len(r.Value) != size {
		return [3]uint64{}, fmt.Errorf("%s-%d offset %d: %d bytes, want %d", r.Topic, r.Partition, r.Offset, len(r.Value), size)
	}
	process, counter := binary.BigEndian.Uint32(r.Value), binary.BigEndian.Uint32(r.Value[4:])
	if crc32.ChecksumIEEE(r.Value[header:])^process^counter != binary.BigEndian.Uint32(r.Value[8:]) {
		return [3]uint64{}, fmt.Errorf("%s-%d offset %d: the record's bytes have changed", r.Topic, r.Partition, r.Offset)
	}
	return [3]uint64{uint64(r.Offset), uint64(process), uint64(counter)}, nil
}
