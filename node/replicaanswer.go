package node

import "math/bits"

// replicaAnswer is a leader's answer in memory that is used again: fresh memory for each, of megabytes, costs a follower as much as a copy
// does. It is the loop's; refs counts who still reads from it: who takes it up, and the partitions with records of it that are not written.
type replicaAnswer struct {
	replicator *replicator
	bytes      []byte
	refs       int
	// abandoned says that a partition may read from it for longer than is known: it is left to the garbage collector.
	abandoned bool
}

const (
	// answerMemoryMin is the smallest memory for an answer.
	answerMemoryMin = 64 << 10
	// answerWaste is how many times as large as an answer its memory may be to be kept: what a burst needed is not held when it is over.
	answerWaste = 8
)

// roomFor gives memory for an answer of n bytes: spare if it is large enough, else a power of two.
func roomFor(spare []byte, n int) []byte {
	if n > cap(spare) {
		spare = make([]byte, 1<<bits.Len(uint(max(n, answerMemoryMin)-1)))
	}
	return spare[:n]
}

// lend has a partition read from an answer until all that it was given of it is written. Where it still has something of another answer, as
// when it follows another leader before a write has ended, that one is abandoned.
func (p *partition) lend(a *replicaAnswer) {
	p.abandon()
	p.lent = a
	a.refs++
}

// abandon forgets the answer that a partition reads from.
func (p *partition) abandon() {
	if p.lent != nil {
		p.lent.abandoned, p.lent = true, nil
	}
}

// giveBack gives the answer back that a partition reads from, if all of its records are written. The turn's runs must be journalled.
func (p *partition) giveBack() {
	if p.lent == nil || len(p.plans) > 0 || len(p.writing) > 0 || p.fetchedRest != nil {
		return
	}
	p.lent.release()
	p.lent = nil
}

// release drops one reference.
func (a *replicaAnswer) release() {
	if a.refs--; a.refs > 0 || a.abandoned {
		return
	}
	memory := a.bytes[:cap(a.bytes)]
	poison(memory)
	if r := a.replicator; len(memory) > len(r.spare) && len(memory) <= max(answerMemoryMin, answerWaste*len(a.bytes)) {
		r.spare = memory
	}
}
