package cluster

import (
	"bytes"
	"fmt"

	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// quorumLedger is what the members of the quorum have shown, and what its leader has promised.
type quorumLedger struct {
	world   *world.World
	leaders map[uint64]wire.NodeID // by term
	applied []quorum.Entry         // what any member has applied, by index; entries without data are missing
	places  map[proposalKey]uint64 // where a proposal was applied
	images  map[uint64]uint64      // hash of the image after an index

	blocks    map[wire.ProducerID]bool // blocks of producer ids that were given to clients, by their first
	blocksEnd wire.ProducerID          // above all of them
}

// proposalKey is a proposal's name.
type proposalKey struct{ origin, proposal uint64 }

func newQuorumLedger(w *world.World) *quorumLedger {
	return &quorumLedger{
		world: w, leaders: map[uint64]wire.NodeID{}, places: map[proposalKey]uint64{}, images: map[uint64]uint64{},
		blocks: map[wire.ProducerID]bool{},
	}
}

// length counts the indexes that were applied.
func (l *quorumLedger) length() int { return len(l.applied) }

// lead notes a leader (R1: one a term).
func (l *quorumLedger) lead(node wire.NodeID, term uint64) (first bool) {
	other, known := l.leaders[term]
	if known && other != node {
		l.world.Fail("R1", "nodes %d and %d both lead the quorum in term %d", other, node, term)
	}
	l.leaders[term] = node
	return !known
}

// apply notes that a node has applied an entry (R2: the same on all).
func (l *quorumLedger) apply(who string, e quorum.Entry) {
	for uint64(len(l.applied)) <= e.Index {
		l.applied = append(l.applied, quorum.Entry{})
	}
	known := l.applied[e.Index]
	if known.Index == 0 {
		l.applied[e.Index] = cloneEntry(e)
		l.place(e)
		return
	}
	if known.Term != e.Term || known.Origin != e.Origin || known.Proposal != e.Proposal || !bytes.Equal(known.Data, e.Data) {
		l.world.Fail("R2", "%s applies %s at index %d, where %s was applied", who, entryName(e), e.Index, entryName(known))
	}
}

// place notes where a proposal is (R2: once).
func (l *quorumLedger) place(e quorum.Entry) {
	key := proposalKey{e.Origin, e.Proposal}
	if at, twice := l.places[key]; twice && e.Change == nil {
		l.world.Fail("R2", "%s is at index %d and at %d", entryName(e), at, e.Index)
	}
	l.places[key] = e.Index
}

// skipped checks that no entry is left out: after index from, to is applied next (R2).
func (l *quorumLedger) skipped(who string, from, to uint64) {
	for i := from + 1; i < min(to, uint64(len(l.applied))); i++ {
		if l.applied[i].Index != 0 {
			l.world.Fail("R2", "%s applies index %d after %d and leaves out %s", who, to, from, entryName(l.applied[i]))
			return
		}
	}
}

// imageAfter notes the hash of a node's image once index is applied (R3: the same on all).
func (l *quorumLedger) imageAfter(who string, index, hash uint64) {
	if other, known := l.images[index]; known && other != hash {
		l.world.Fail("R3", "%s has another image than others after index %d", who, index)
	}
	l.images[index] = hash
}

// allocated notes a block of producer ids (I13). after is blocksEnd when it was asked for.
func (l *quorumLedger) allocated(who string, first, after wire.ProducerID) {
	if l.blocks[first] {
		l.world.Fail("I13", "%s got the producer ids from %d on, which somebody has", who, first)
	}
	if first < after {
		l.world.Fail("I13", "%s got the producer ids from %d on, after those up to %d had been given", who, first, after-1)
	}
	l.blocks[first] = true
	l.blocksEnd = max(l.blocksEnd, first+producerIDBlock)
}

// told notes where a client was told that the next block begins (I13). after is blocksEnd when it asked.
func (l *quorumLedger) told(who string, next, after wire.ProducerID) {
	if next < after {
		l.world.Fail("I13", "%s was told that the next producer id is %d, after those up to %d had been given", who, next, after-1)
	}
}

func cloneEntry(e quorum.Entry) quorum.Entry {
	e.Data = bytes.Clone(e.Data)
	return e
}

func entryName(e quorum.Entry) string {
	if e.Change != nil {
		return fmt.Sprintf("%s of term %d", e.Change.Kind, e.Term)
	}
	return fmt.Sprintf("proposal %d of %x, %d bytes, of term %d", e.Proposal, e.Origin, len(e.Data), e.Term)
}
