package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is what every *DecodeError unwraps to.
var ErrMalformed = errors.New("wire: malformed message")

// DecodeError says which message could not be read, where, and why. The connection that sent it cannot be trusted to be
// in step any more.
type DecodeError struct {
	Message  string     // "ProduceRequest", "RequestHeader", ...
	Version  APIVersion // the version it was read as
	Position int        // bytes from the start of the message
	Problem  string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("wire: %s v%d: at byte %d: %s", e.Message, e.Version, e.Position, e.Problem)
}

func (e *DecodeError) Unwrap() error { return ErrMalformed }

// reader reads the protocol's primitives from src. The first fault sticks: from then on every method gives zero values,
// so a caller checks once, at the end of a message or before it trusts a count. Nothing is copied and nothing allocated.
type reader struct {
	src      []byte
	at       int
	flexible bool   // compact lengths and tagged fields
	problem  string // "" while all is well
	elements int    // kept so far, see takeElement
}

func (r *reader) remaining() int { return len(r.src) - r.at }
func (r *reader) failed() bool   { return r.problem != "" }

func (r *reader) fail(problem string) {
	if r.problem == "" {
		r.problem = problem
	}
}

// err turns the first fault into a *DecodeError; nil if there was none.
func (r *reader) err(message string, v APIVersion) error {
	if r.problem == "" {
		return nil
	}
	return &DecodeError{Message: message, Version: v, Position: r.at, Problem: r.problem}
}

// take gives a view of the next n bytes, nil after a fault.
func (r *reader) take(n int) []byte {
	if r.problem != "" {
		return nil
	}
	if n < 0 || n > r.remaining() {
		r.problem = "ends early"
		return nil
	}
	b := r.src[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) topicID() (id TopicID) {
	copy(id[:], r.take(len(id)))
	return id
}

// uvarint reads an unsigned varint of at most 32 bits, as lengths and tags are.
func (r *reader) uvarint() uint32 {
	u, n := uvarint32(r.src[r.at:])
	if n <= 0 || r.problem != "" {
		r.fail("bad unsigned varint")
		return 0
	}
	r.at += n
	return u
}

// length reads the length of a string or of bytes; -1 means null. wide says that the classic form is an int32.
func (r *reader) length(wide bool) int {
	switch {
	case r.flexible:
		return int(r.uvarint()) - 1
	case wide:
		return int(r.int32())
	default:
		return int(r.int16())
	}
}

// view gives n bytes, nil where n is -1, and a non-nil empty slice where n is 0.
func (r *reader) view(n int) []byte {
	if n == -1 || r.problem != "" {
		return nil
	}
	if n < -1 {
		r.fail("negative length")
		return nil
	}
	return r.take(n)
}

// nullableString reads a string, nil if null; compact if the message is flexible.
func (r *reader) nullableString() []byte { return r.view(r.length(false)) }

// string reads a string that must not be null.
func (r *reader) string() []byte {
	n := r.length(false)
	if n < 0 {
		r.fail("null or negative length where a string is due")
		return nil
	}
	return r.view(n)
}

// nullableBytes reads bytes or records, nil if null; compact if the message is flexible.
func (r *reader) nullableBytes() []byte { return r.view(r.length(true)) }

// arrayLength reads the count of an array whose elements take at least minimum bytes each. A count that the remaining
// bytes cannot hold is a fault, so no caller ever sizes anything by a lie. Null counts as empty.
func (r *reader) arrayLength(minimum int) int {
	n := r.length(true)
	if n == -1 || r.problem != "" {
		return 0
	}
	if n < -1 || n > r.remaining()/minimum {
		r.fail("array count is beyond the message's end")
		return 0
	}
	return n
}

// skipTags passes over a tagged-field section (KIP-482); a message that is not flexible has none.
func (r *reader) skipTags() {
	for n := r.tagCount(); n > 0 && !r.failed(); n-- {
		_, end := r.openTag()
		r.closeTag(end)
	}
}

// tagCount reads how many tagged fields follow. Each is read by openTag, the field's own type, closeTag; unknown ones by
// openTag and closeTag alone, as the protocol demands.
func (r *reader) tagCount() uint32 {
	if !r.flexible {
		return 0
	}
	return r.uvarint()
}

// openTag reads a field's tag and length; end is the position after the field.
func (r *reader) openTag() (tag uint32, end int) {
	tag = r.uvarint()
	n := int(r.uvarint())
	if n > r.remaining() {
		r.fail("tagged field is beyond the message's end")
	}
	return tag, r.at + n
}

// closeTag goes to the field's end, whatever of it was read; reading more than the field is a fault.
func (r *reader) closeTag(end int) {
	if r.failed() {
		return
	}
	if r.at > end {
		r.fail("tagged field is shorter than its type")
		return
	}
	r.at = end
}

// topic reads a topic's name or its id, whichever the version carries.
func (r *reader) topic(byID bool) (name []byte, id TopicID) {
	if byID {
		return nil, r.topicID()
	}
	return r.string(), TopicID{}
}

// ElementsMax bounds the topics and partitions of one Produce or Fetch request together. A topic without partitions takes
// 3 bytes of a frame and some 70 of memory, so the frame's limit alone would let a client claim gigabytes. A node of
// 100,000 partitions is named whole in a quarter of it.
const ElementsMax = 1 << 19

// takeElement counts an element that the caller is about to keep; false after a fault or beyond ElementsMax.
func (r *reader) takeElement() bool {
	if r.elements++; r.elements > ElementsMax {
		r.fail("more topics and partitions than one request may name")
	}
	return !r.failed()
}

// elementsKept is how many elements' room a request keeps for the next one: a large request is not paid for for ever.
const elementsKept = 1 << 14

// reuse gives s's room, emptied, unless it is more than is kept.
func reuse[T any](s []T) []T {
	if cap(s) > elementsKept {
		return nil
	}
	return s[:0]
}

// since gives the elements of all that were appended after it had length first. It stays valid when all moves to a larger
// array, because elements are only ever appended. All topics of a request share one array: each with one of its own, which
// it keeps, could be made to grow in turn.
func since[T any](all []T, first int) []T { return all[first:len(all):len(all)] }
