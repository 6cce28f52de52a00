package image

import "maps"

// shardCount splits a map so that changing one entry copies 1/256 of it and a spine of 2 KiB. At 100,000 topics a shard
// holds 400.
const shardCount = 256

// shards is an immutable map in shardCount pieces. The zero value is empty.
type shards[K comparable, V any] struct {
	spine *[shardCount]map[K]V
	count int
}

func (s *shards[K, V]) get(shard uint8, k K) (v V, ok bool) {
	if s.spine == nil {
		return v, false
	}
	v, ok = s.spine[shard][k]
	return v, ok
}

// shardsEdit is one change of a shards: it copies what it touches, once, and leaves the original alone.
type shardsEdit[K comparable, V any] struct {
	shards[K, V]
	owned *[shardCount]bool // shards that are copies of this edit's; nil: not even the spine is
}

func edit[K comparable, V any](s shards[K, V]) shardsEdit[K, V] { return shardsEdit[K, V]{shards: s} }

// own makes sure that shard may be written, and gives it.
func (e *shardsEdit[K, V]) own(shard uint8) map[K]V {
	if e.owned == nil {
		e.owned = new([shardCount]bool)
		spine := new([shardCount]map[K]V)
		if e.spine != nil {
			*spine = *e.spine
		}
		e.spine = spine
	}
	if !e.owned[shard] {
		e.owned[shard] = true
		if e.spine[shard] = maps.Clone(e.spine[shard]); e.spine[shard] == nil {
			e.spine[shard] = make(map[K]V)
		}
	}
	return e.spine[shard]
}

func (e *shardsEdit[K, V]) set(shard uint8, k K, v V) {
	m := e.own(shard)
	if _, had := m[k]; !had {
		e.count++
	}
	m[k] = v
}

func (e *shardsEdit[K, V]) remove(shard uint8, k K) {
	if _, had := e.get(shard, k); had {
		delete(e.own(shard), k)
		e.count--
	}
}

// nameShard is FNV-1a, folded to a byte. Names that were chosen to share a shard cost their owner copying, nothing else.
func nameShard(name string) uint8 {
	h := uint32(2166136261)
	for i := 0; i < len(name); i++ {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return uint8(h ^ h>>8 ^ h>>16 ^ h>>24)
}
