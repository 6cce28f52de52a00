package image

import (
	"cmp"
	"iter"
	"slices"
)

// chunkMax is the most topics in one chunk of the sorted order; a full one is split in halves. An insert copies one chunk
// (1 KiB) and the spine (24 bytes a chunk): 20 KiB at 100,000 topics.
const chunkMax = 128

// ordered is an immutable sequence of topics sorted by name, in chunks. No chunk is empty.
type ordered [][]*Topic

// find gives the chunk and the place in it where name is or would be. A name beyond all goes to the last chunk's end.
func (o ordered) find(name string) (chunk, at int, found bool) {
	chunk, found = slices.BinarySearchFunc(o, name, func(c []*Topic, n string) int { return cmp.Compare(c[0].Name, n) })
	if !found && chunk > 0 {
		chunk--
	}
	if chunk >= len(o) {
		return chunk, 0, false
	}
	at, found = slices.BinarySearchFunc(o[chunk], name, func(t *Topic, n string) int { return cmp.Compare(t.Name, n) })
	return chunk, at, found
}

// with gives the order with t in it, whose name is new.
func (o ordered) with(t *Topic) ordered {
	if len(o) == 0 {
		return ordered{{t}}
	}
	spine := slices.Clone(o)
	i, at, found := o.find(t.Name)
	if found {
		panic("BUG: topic " + t.Name + " is in the order already")
	}
	grown := slices.Insert(slices.Clip(o[i]), at, t)
	if len(grown) <= chunkMax {
		spine[i] = grown
		return spine
	}
	half := len(grown) / 2
	spine[i] = slices.Clip(grown[:half])
	return slices.Insert(spine, i+1, grown[half:])
}

// orderedEdit replaces topics of an order by others of the same names: it copies what it touches, once.
type orderedEdit struct {
	ordered
	chunks []bool // that are copies of this edit's; nil: not even the spine is
}

// replace puts t into the place of the topic of its name; false if there is none.
func (e *orderedEdit) replace(t *Topic) bool {
	i, at, found := e.find(t.Name)
	if !found {
		return false
	}
	if e.chunks == nil {
		e.chunks, e.ordered = make([]bool, len(e.ordered)), slices.Clone(e.ordered)
	}
	if !e.chunks[i] {
		e.chunks[i], e.ordered[i] = true, slices.Clone(e.ordered[i])
	}
	e.ordered[i][at] = t
	return true
}

// without gives the order without the topic of that name.
func (o ordered) without(name string) ordered {
	i, at, found := o.find(name)
	if !found {
		return o
	}
	spine := slices.Clone(o)
	if len(o[i]) == 1 {
		return slices.Delete(spine, i, i+1)
	}
	spine[i] = slices.Delete(slices.Clone(o[i]), at, at+1)
	return spine
}

// orderedOf sorts topics, which it takes over, and cuts them into half-full chunks.
func orderedOf(topics []*Topic) ordered {
	slices.SortFunc(topics, func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	var o ordered
	for c := range slices.Chunk(topics, chunkMax/2) {
		o = append(o, c)
	}
	return o
}

// from yields the topics whose names are not below name, in order.
func (o ordered) from(name string) iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		i, at, _ := o.find(name)
		for ; i < len(o); i, at = i+1, 0 {
			for _, t := range o[i][at:] {
				if !yield(t) {
					return
				}
			}
		}
	}
}
