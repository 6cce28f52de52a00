package world

import (
	"math/rand/v2"
	"time"
)

// Streams are the sources of chance, one a concern.
type Streams struct {
	Options      *rand.Rand // what kind of run this is
	Network      *rand.Rand
	Disk         *rand.Rand
	Clock        *rand.Rand
	Workload     *rand.Rand
	Faults       *rand.Rand
	Protocol     *rand.Rand // what the production code draws
	Coordinators *rand.Rand // transactions and groups: which there are, and what their clients do
	Members      *rand.Rand // members of the quorum that change, disks that are lost, slow links
	Protocols    *rand.Rand // which protocol groups speak
	Aimed        *rand.Rand // faults that wait for what they are aimed at, and how much a crash finds in the journal
	Coordination *rand.Rand // faults that wait for coordinators and for who commits with them
	Losses       *rand.Rand // log directories that are lost, and whose nodes go on without
}

func newStreams(seed uint64) Streams {
	stream := func(concern uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, concern)) }
	return Streams{stream(1), stream(2), stream(3), stream(4), stream(5), stream(6), stream(7), stream(8), stream(9), stream(10), stream(11), stream(12), stream(13)}
}

// Between draws a duration from [from, to).
func Between(r *rand.Rand, from, to time.Duration) time.Duration {
	if to <= from {
		return from
	}
	return from + time.Duration(r.Int64N(int64(to-from)))
}

// Chance is true with probability p.
func Chance(r *rand.Rand, p float64) bool { return p > 0 && r.Float64() < p }

// Pick draws one of the choices.
func Pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// hashStart and hashPrime are those of FNV-1a with 64 bits.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

// Mix adds words to the run's hash.
func (w *World) Mix(words ...uint64) {
	for _, word := range words {
		w.hash = (w.hash ^ word) * hashPrime
		w.hash ^= w.hash >> 29
	}
}

// MixBytes adds bytes to the run's hash.
func (w *World) MixBytes(b []byte) {
	h := w.hash
	for _, c := range b {
		h = (h ^ uint64(c)) * hashPrime
	}
	w.hash = h
}
