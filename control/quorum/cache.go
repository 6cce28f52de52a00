package quorum

import pb "go.etcd.io/raft/v3/raftpb"

// entryCache keeps the newest entries of the log in memory, as many as fit into a bound, and the last one always. Entries
// are shared with the raft library and never change.
type entryCache struct {
	bytesMax int64
	first    uint64 // index of the first entry that it has, or would have
	entries  []*pb.Entry
	bytes    int64
}

func (c *entryCache) reset(next uint64) { c.first, c.entries, c.bytes = next, nil, 0 }

func (c *entryCache) end() uint64 { return c.first + uint64(len(c.entries)) }

// add takes entries that follow what the log had, or replace the last part of it.
func (c *entryCache) add(entries []*pb.Entry) {
	switch at := entries[0].GetIndex(); {
	case at <= c.first || at > c.end():
		c.reset(at)
	default:
		c.cut(int(at - c.first))
	}
	for _, e := range entries {
		c.entries = append(c.entries, e)
		c.bytes += cachedBytes(e)
	}
	n := 0
	for ; n < len(c.entries)-1 && c.bytes > c.bytesMax; n++ {
		c.bytes -= cachedBytes(c.entries[n])
	}
	c.drop(n)
}

// cachedBytes is about what an entry takes in memory: its data, and the structs that hold it.
func cachedBytes(e *pb.Entry) int64 { return int64(len(e.GetData())) + 160 }

// cut keeps the first n entries. The slice is copied by the next append, for raft may hold it.
func (c *entryCache) cut(n int) {
	for _, e := range c.entries[n:] {
		c.bytes -= cachedBytes(e)
	}
	c.entries = c.entries[:n:n]
}

func (c *entryCache) drop(n int) {
	c.first += uint64(n)
	c.entries = c.entries[n:]
	if 2*len(c.entries) < cap(c.entries) {
		c.entries = append([]*pb.Entry(nil), c.entries...)
	}
}

func (c *entryCache) dropThrough(index uint64) {
	if index < c.first {
		return
	}
	n := min(int(index-c.first+1), len(c.entries))
	for _, e := range c.entries[:n] {
		c.bytes -= cachedBytes(e)
	}
	c.drop(n)
	c.first = max(c.first, index+1)
}

// slice gives the entries of [lo, hi), all of which it has.
func (c *entryCache) slice(lo, hi uint64) []*pb.Entry {
	if lo >= hi {
		return nil
	}
	return c.entries[lo-c.first : hi-c.first]
}
