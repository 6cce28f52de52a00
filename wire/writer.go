package wire

import "encoding/binary"

// writer appends the protocol's primitives to dst; the counterpart of reader.
type writer struct {
	dst      []byte
	flexible bool // compact lengths and tagged fields
}

func (w *writer) int16(v int16) { w.dst = binary.BigEndian.AppendUint16(w.dst, uint16(v)) }
func (w *writer) int32(v int32) { w.dst = binary.BigEndian.AppendUint32(w.dst, uint32(v)) }
func (w *writer) int64(v int64) { w.dst = binary.BigEndian.AppendUint64(w.dst, uint64(v)) }

func (w *writer) uvarint(u uint32) { w.dst = appendUvarint(w.dst, u) }

// length writes the length of a string or of bytes, -1 for null, in the form that reader.length reads.
func (w *writer) length(n int, wide bool) {
	switch {
	case w.flexible:
		w.uvarint(uint32(n + 1))
	case wide:
		w.int32(int32(n))
	default:
		w.int16(int16(n))
	}
}

// arrayLength writes the count of an array, -1 for null.
func (w *writer) arrayLength(n int) { w.length(n, true) }

func (w *writer) string(s []byte) {
	w.length(len(s), false)
	w.dst = append(w.dst, s...)
}

// nullableText writes s, or null where s is empty.
func (w *writer) nullableText(s string) {
	if s == "" {
		w.length(-1, false)
		return
	}
	w.text(s)
}

func (w *writer) text(s string) {
	w.length(len(s), false)
	w.dst = append(w.dst, s...)
}

// topic writes a topic's name or its id, whichever the version carries.
func (w *writer) topic(name []byte, id TopicID, byID bool) {
	if byID {
		w.dst = append(w.dst, id[:]...)
		return
	}
	w.string(name)
}

// noTags ends a structure of a flexible message that has no tagged field.
func (w *writer) noTags() {
	if w.flexible {
		w.dst = append(w.dst, 0)
	}
}
