package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// snapshotMagic begins a snapshot; its last byte is the version of the form.
const snapshotMagic = "RMIMAGE\x00"

// snapshotHead is the length of a snapshot's head: magic, version of the Image, bytes of the batches, CRC32C of all the rest.
const snapshotHead = len(snapshotMagic) + 8 + 8 + 4

// ErrSnapshot means that bytes are not a whole snapshot of an Image.
var ErrSnapshot = errors.New("not a whole snapshot of an image")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendSnapshot appends all that m says, in the form that FORMAT.md describes; equal Images give equal bytes.
func (m *Image) AppendSnapshot(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, snapshotMagic...)
	dst = binary.BigEndian.AppendUint64(dst, m.version)
	dst = append(dst, make([]byte, 8+4)...)
	dst = appendLive(dst, m)
	s := dst[start:]
	binary.BigEndian.PutUint64(s[len(snapshotMagic)+8:], uint64(len(s)-snapshotHead))
	binary.BigEndian.PutUint32(s[snapshotHead-4:], snapshotSum(s))
	return dst
}

// snapshotSum covers everything but itself.
func snapshotSum(s []byte) uint32 {
	return crc32.Update(crc32.Checksum(s[:snapshotHead-4], castagnoli), castagnoli, s[snapshotHead:])
}

// ReadSnapshot reads what AppendSnapshot wrote, and nothing behind it. The error wraps ErrSnapshot if bytes are missing or
// damaged, ErrNewerFormat if a newer release wrote them, or says which record does not fit (*RecordError).
func ReadSnapshot(data []byte) (*Image, error) {
	if len(data) < snapshotHead || !bytes.Equal(data[:len(snapshotMagic)-1], []byte(snapshotMagic)[:len(snapshotMagic)-1]) {
		return nil, fmt.Errorf("image: %d bytes: %w", len(data), ErrSnapshot)
	}
	if version := data[len(snapshotMagic)-1]; version != snapshotMagic[len(snapshotMagic)-1] {
		return nil, fmt.Errorf("image: a snapshot of version %d: %w", version, ErrNewerFormat)
	}
	length := binary.BigEndian.Uint64(data[len(snapshotMagic)+8:])
	if length != uint64(len(data)-snapshotHead) || binary.BigEndian.Uint32(data[snapshotHead-4:]) != snapshotSum(data) {
		return nil, fmt.Errorf("image: %d bytes, length %d or checksum differ: %w", len(data), length, ErrSnapshot)
	}
	return readBatches(data[snapshotHead:], binary.BigEndian.Uint64(data[len(snapshotMagic):]))
}

// readBatches builds the Image of version that data's batches lead to.
func readBatches(data []byte, version uint64) (*Image, error) {
	e := newEditor(new(Image))
	for at := 0; at < len(data); {
		batch, err := nextBatch(data[at:])
		if err == nil {
			err = replayBatch(e, batch, at == 0)
		}
		if err != nil {
			return nil, fmt.Errorf("image: a snapshot, byte %d of its batches: %w", at, err)
		}
		at += len(batch)
	}
	if len(data) > 0 && e.next.version != version {
		return nil, fmt.Errorf("image: a snapshot of version %d whose records end at %d: %w", version, e.next.version, ErrSnapshot)
	}
	e.next.version = version
	return e.finish(), nil
}
