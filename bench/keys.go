package bench

import (
	"fmt"
	"math/rand/v2"
)

// keyBytes is the length of a key: a number in decimal, so that people can read it.
const (
	keyBytes = 10
	keysMax  = 1_000_000_000
)

// How a producer chooses the next key: any, all equally likely; one after the other, each as often as the next; or by Zipf's law, zipf:EXPONENT,
// under which key k comes in proportion to (k+1)^-EXPONENT.
const (
	KeysUniform = "uniform"
	KeysInTurn  = "in-turn"
	keysZipf    = "zipf"
)

// checkKeys says what is wrong with the choice of keys.
func (t *Trial) checkKeys() error {
	_, zipf, err := zipfExponent(t.KeyChoice)
	switch {
	case err != nil:
		return err
	case !zipf && t.KeyChoice != KeysUniform && t.KeyChoice != KeysInTurn:
		return fmt.Errorf("%w: a choice of keys %q: %s, %s or %s:EXPONENT", ErrWorkload, t.KeyChoice, KeysUniform, KeysInTurn, keysZipf)
	case t.Keys == 0 && t.KeyChoice != KeysUniform:
		return fmt.Errorf("%w: a choice of keys %q of no keys", ErrWorkload, t.KeyChoice)
	}
	return nil
}

// keys chooses a producer's keys out of so many. A place is a partition whose keys are chosen, or 0 where they are chosen out of all.
type keys struct {
	count, partitions int
	random            *rand.Rand
	last              []int   // of each place, that is the last one's number among its own; nil if they are not had in turn
	exponent          float64 // of Zipf's law; 0 without
	all               *zipf
	own               []*zipf // of partitions, made when they are first needed
}

func newKeys(t *Trial, producer int) *keys {
	k := &keys{count: t.Keys, partitions: t.Partitions, random: t.random(producer, randomKeys)}
	if t.KeyChoice == KeysInTurn {
		k.last = make([]int, t.Partitions)
	}
	if k.exponent, _, _ = zipfExponent(t.KeyChoice); k.exponent > 0 {
		k.all, k.own = newZipf(k.exponent, 1, t.Keys), make([]*zipf, t.Partitions)
	}
	return k
}

// put writes a key of a partition: a raw client's key belongs to the partition of its number modulo the partitions. Where there are fewer
// keys than partitions, some partitions share one.
func (k *keys) put(dst []byte, partition int32) {
	p := int(partition)
	own := (k.count - p + k.partitions - 1) / k.partitions // how many numbers below count are this partition's
	if own <= 0 {
		putKey(dst, p%k.count)
		return
	}
	n := 0
	if k.exponent > 0 {
		if k.own[p] == nil {
			k.own[p] = partitionZipf(k.exponent, k.count, p, k.partitions)
		}
		n = k.own[p].next(k.random)
	} else {
		n = k.choose(p, own)
	}
	putKey(dst, p+n*k.partitions)
}

// next is any key, which is the caller's: a client library picks the partition by it.
func (k *keys) next() []byte {
	key := make([]byte, keyBytes)
	if k.exponent > 0 {
		putKey(key, k.all.next(k.random))
	} else {
		putKey(key, k.choose(0, k.count))
	}
	return key
}

// choose is a number below count, equally likely or the one in turn.
func (k *keys) choose(place, count int) int {
	if k.last == nil {
		return k.random.IntN(count)
	}
	k.last[place] = (k.last[place] + 1) % count
	return k.last[place]
}

func putKey(dst []byte, n int) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
}

// turns says which of a lane's partitions is next: one after the other, or as often as their keys come.
type turns struct {
	partitions []int32
	taken      int
	random     *rand.Rand
	upTo       []float64 // sums of the partitions' shares; nil if each has its turn
}

func (t *turns) next() int32 {
	if t.upTo == nil {
		t.taken++
		return t.partitions[(t.taken-1)%len(t.partitions)]
	}
	at := t.random.Float64() * t.upTo[len(t.upTo)-1]
	for i, limit := range t.upTo {
		if at < limit {
			return t.partitions[i]
		}
	}
	return t.partitions[len(t.partitions)-1]
}
