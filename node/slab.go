package node

import (
	"math/bits"

	"github.com/ringmill/ringmill/iouring"
)

// buffer is memory that holds request bytes: one of the engine's provided buffers or a slab of this loop's. It is
// the loop's alone; refs counts the requests whose bytes lie in it and the connection that still reads from it, and
// whoever takes the last one away gives it back.
type buffer struct {
	data []byte
	refs int32
	// provided is the engine's buffer id, or -1 for a slab.
	provided int32
	// charged is how much of the loop's request memory it counts for.
	charged int
}

// slabPool hands out memory for frames that are longer than a provided buffer: mapped outside the Go heap, in powers
// of two, charged against a bound. Small slabs are charged whole; of a large one only what has arrived and one step
// ahead, so that a client that claims 100 MiB and sends nothing holds one step.
type slabPool struct {
	// max is the bound on charged bytes; charged is what is out now. over is the one slab that exceeds it, if one does.
	max, charged int
	over         *buffer
	// copied is what counts beside the slabs: bodies that cold calls have copied out of them.
	copied int
	// free keeps slabs of each class for reuse, freeBytes of them in all.
	free      [slabClasses][][]byte
	freeBytes int
}

const (
	slabMin     = 32 << 10 // a frame below a provided buffer's 16 KiB that did not fit its rest
	slabClasses = 6        // 32 KiB … 1 MiB; larger ones are mapped for one frame
	slabMax     = slabMin << (slabClasses - 1)
	// slabStep is how far ahead of what has arrived a large frame is charged.
	slabStep = 256 << 10
	// slabKeep bounds the free slabs of a loop; they hold resident memory.
	slabKeep = 32 << 20
)

// slabClass is the class whose slabs hold n bytes; slabClasses if none does.
func slabClass(n int) int {
	if n <= slabMin {
		return 0
	}
	return min(bits.Len(uint(n-1))-bits.Len(uint(slabMin-1)), slabClasses)
}

// take returns a slab for a frame of n bytes, or nil if the bound does not allow it now.
func (s *slabPool) take(n int) *buffer {
	class := slabClass(n)
	if class == slabClasses {
		return s.takeLarge(n)
	}
	size := slabMin << class
	if !s.fits(size, nil) {
		return nil
	}
	memory := s.reuse(class)
	if memory == nil {
		var err error
		if memory, err = iouring.Map(size); err != nil {
			return nil
		}
	}
	return s.charge(&buffer{data: memory, refs: 1, provided: -1}, size)
}

func (s *slabPool) reuse(class int) []byte {
	n := len(s.free[class])
	if n == 0 {
		return nil
	}
	memory := s.free[class][n-1]
	s.free[class] = s.free[class][:n-1]
	s.freeBytes -= len(memory)
	return memory
}

func (s *slabPool) takeLarge(n int) *buffer {
	if !s.fits(slabStep, nil) {
		return nil
	}
	memory, err := iouring.Map(n)
	if err != nil {
		return nil
	}
	return s.charge(&buffer{data: memory, refs: 1, provided: -1}, slabStep)
}

// fits says whether n more bytes may be charged to b, nil for a new slab. One slab at a time may exceed the bound:
// otherwise large frames that only fit one by one would hold each other up, and one larger than the bound never end.
func (s *slabPool) fits(n int, b *buffer) bool {
	return s.charged+s.copied+n <= s.max || s.over == nil || s.over == b
}

func (s *slabPool) charge(b *buffer, n int) *buffer {
	b.charged += n
	if s.charged += n; s.charged > s.max {
		s.over = b
	}
	return b
}

// extend charges a large slab for one more step beyond filled, and says up to where it may be filled now; filled
// itself if the bound allows no more.
func (s *slabPool) extend(b *buffer, filled, size int) int {
	limit := min(b.charged, size)
	if filled < limit {
		return limit
	}
	if !s.fits(slabStep, b) {
		return filled
	}
	s.charge(b, slabStep)
	return min(b.charged, size)
}

// give takes a slab back.
func (s *slabPool) give(b *buffer) {
	s.charged -= b.charged
	if s.over == b {
		s.over = nil
	}
	class := slabClass(len(b.data))
	if class < slabClasses && s.freeBytes+len(b.data) <= slabKeep {
		s.free[class] = append(s.free[class], b.data)
		s.freeBytes += len(b.data)
		return
	}
	_ = iouring.Unmap(b.data)
}

// release drops one reference to b.
func (l *Loop) release(b *buffer) {
	b.refs--
	l.freed = l.freed || b.refs == 0
	switch {
	case b.refs > 0:
	case b.refs < 0:
		panic("BUG: request buffer released twice")
	case b.provided >= 0:
		poison(b.data)
		l.provided--
		l.engine.ReleaseBuffer(uint16(b.provided))
	default:
		poison(b.data)
		l.slabs.give(b)
	}
}
