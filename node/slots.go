package node

// slots is a table of a loop's objects addressed by small numbers, as engine tokens need them. A generation guards
// each slot: an event that was under way when the object left finds nothing.
type slots[T any] struct {
	entries []slotEntry[T]
	free    []uint32
	live    int
}

type slotEntry[T any] struct {
	item       *T
	generation uint32
}

// add gives item a slot.
func (s *slots[T]) add(item *T) (slot, generation uint32) {
	s.live++
	if n := len(s.free); n > 0 {
		slot = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		slot = uint32(len(s.entries))
		s.entries = append(s.entries, slotEntry[T]{})
	}
	s.entries[slot].item = item
	return slot, s.entries[slot].generation
}

// get returns the object of a slot, or nil if it left.
func (s *slots[T]) get(slot, generation uint32) *T {
	if int(slot) >= len(s.entries) || s.entries[slot].generation != generation {
		return nil
	}
	return s.entries[slot].item
}

// remove frees a slot.
func (s *slots[T]) remove(slot uint32) {
	e := &s.entries[slot]
	e.item = nil
	e.generation = (e.generation + 1) & generationMask
	s.free = append(s.free, slot)
	s.live--
}

// all calls f for each object.
func (s *slots[T]) all(f func(*T)) {
	for i := range s.entries {
		if item := s.entries[i].item; item != nil {
			f(item)
		}
	}
}
