package quorum

import (
	"encoding/binary"

	"github.com/ringmill/ringmill/wire"
)

// cursor reads what the append functions of this package wrote. The first thing that is not there makes it fail for good.
type cursor struct {
	src    []byte
	failed bool
}

func (c *cursor) take(n int) []byte {
	if c.failed || n > len(c.src) {
		c.failed = true
		return make([]byte, min(n, 16)) // callers take at most 16 bytes where they look at the result unchecked
	}
	taken := c.src[:n:n]
	c.src = c.src[n:]
	return taken
}

func (c *cursor) uint8() uint8   { return c.take(1)[0] }
func (c *cursor) uint16() uint16 { return binary.BigEndian.Uint16(c.take(2)) }
func (c *cursor) uint32() uint32 { return binary.BigEndian.Uint32(c.take(4)) }
func (c *cursor) uint64() uint64 { return binary.BigEndian.Uint64(c.take(8)) }
func (c *cursor) uuid() wire.UUID {
	return wire.UUID(c.take(16))
}

func (c *cursor) string() string {
	n := int(c.uint16())
	if n > len(c.src) {
		c.failed = true
		return ""
	}
	return string(c.take(n))
}

// done reports whether all was there, and nothing more.
func (c *cursor) done() bool { return !c.failed && len(c.src) == 0 }

func appendString(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}
