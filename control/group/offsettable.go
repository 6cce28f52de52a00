package group

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// committedOffset is what a group committed for one partition.
type committedOffset struct {
	offset      int64
	leaderEpoch int32 // -1: the client did not say
	metadata    string
	committedAt wire.Timestamp
	expiresAt   wire.Timestamp // NoTimestamp: by the broker's retention; else a commit of version 2 to 4 said when
}

// offsetEntry is one partition's committed offset with what is under way for it.
type offsetEntry struct {
	value  committedOffset
	stored bool     // value is durable and can be fetched
	by     AppendID // the append that last set or removed value
	writes int      // appends under way
	// unstable counts the open transactions that have an offset for the partition
	unstable int
}

// offsetTable holds a group's offsets by topic and partition. What is not durable yet is not in it, but its place is, so
// that a deletion finds it.
type offsetTable struct {
	topics  map[string]map[int32]*offsetEntry
	entries int
	bytes   int64
}

// offsetOverheadBytes is what an entry costs beside its strings: the struct and its place in the map. The heap grows by
// 103 bytes an entry in a table of 100,000; this leaves room for a map that has just grown.
const offsetOverheadBytes = 160

func (t *offsetTable) get(topic string, partition int32) *offsetEntry {
	return t.topics[topic][partition]
}

// place gives the entry of a partition, a new one if there is none.
func (t *offsetTable) place(topic string, partition int32) *offsetEntry {
	partitions := t.topics[topic]
	if partitions == nil {
		if t.topics == nil {
			t.topics = map[string]map[int32]*offsetEntry{}
		}
		partitions = map[int32]*offsetEntry{}
		t.topics[topic] = partitions
		t.bytes += offsetOverheadBytes + int64(len(topic))
	}
	e := partitions[partition]
	if e == nil {
		e = &offsetEntry{}
		partitions[partition] = e
		t.entries++
		t.bytes += offsetOverheadBytes
	}
	return e
}

// holdsAny reports whether a value is stored; there may be entries for what an open transaction commits alone.
func (t *offsetTable) holdsAny() bool {
	for _, partitions := range t.topics {
		for _, e := range partitions {
			if e.stored {
				return true
			}
		}
	}
	return false
}

// set stores a durable value, unless a later append was heard of before.
func (t *offsetTable) set(e *offsetEntry, by AppendID, value committedOffset) {
	if by < e.by {
		return
	}
	t.bytes += int64(len(value.metadata) - len(e.value.metadata))
	e.value, e.stored, e.by = value, true, by
}

// unset forgets a value whose tombstone is durable, unless a later append was heard of before.
func (t *offsetTable) unset(e *offsetEntry, by AppendID) {
	if by < e.by {
		return
	}
	t.bytes -= int64(len(e.value.metadata))
	e.value, e.stored, e.by = committedOffset{}, false, by
}

// prune removes an entry that holds nothing and waits for nothing.
func (t *offsetTable) prune(topic string, partition int32) {
	e := t.get(topic, partition)
	if e == nil || e.stored || e.writes > 0 || e.unstable > 0 {
		return
	}
	delete(t.topics[topic], partition)
	t.entries--
	t.bytes -= offsetOverheadBytes
	if len(t.topics[topic]) == 0 {
		delete(t.topics, topic)
		t.bytes -= offsetOverheadBytes + int64(len(topic))
	}
}

func (t *offsetTable) memoryBytes() int64 { return t.bytes }

func (t *offsetTable) sortedTopics() []string { return sortedKeys(t.topics) }

func (t *offsetTable) sortedPartitions(topic string) []int32 { return sortedKeys(t.topics[topic]) }

// sortedKeys gives the keys in order: nothing that leaves the coordinator follows the order of a map.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	if len(m) == 0 {
		return nil
	}
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// offsetWrite is one record of an append: a commit, or a tombstone.
type offsetWrite struct {
	topic     string
	partition int32
	value     committedOffset
	remove    bool
}

// offsetWrites are the offset records of an append for one group.
type offsetWrites struct {
	group  *group
	id     AppendID
	writes []offsetWrite
}

// begin notes that the writes are under way.
func (w *offsetWrites) begin(c *Coordinator) {
	g := w.group
	c.changeOffsets(g, func() {
		for i := range w.writes {
			g.offsets.place(w.writes[i].topic, w.writes[i].partition).writes++
		}
	})
	g.offsetWrites++
}

// finish applies them if they are durable.
func (w *offsetWrites) finish(c *Coordinator, code wire.ErrorCode) {
	g := w.group
	g.offsetWrites--
	c.changeOffsets(g, func() {
		for i := range w.writes {
			w.finishOne(&w.writes[i], code)
		}
	})
	if code == wire.None {
		g.durable = true
	}
}

func (w *offsetWrites) finishOne(o *offsetWrite, code wire.ErrorCode) {
	table := &w.group.offsets
	e := table.get(o.topic, o.partition)
	e.writes--
	switch {
	case code != wire.None:
	case o.remove:
		table.unset(e, w.id)
	default:
		table.set(e, w.id, o.value)
	}
	table.prune(o.topic, o.partition)
}

// changeOffsets keeps the count of memory while change alters the group's offsets.
func (c *Coordinator) changeOffsets(g *group, change func()) {
	before := g.offsets.bytes
	change()
	if c.groups[g.id] == g {
		c.memoryBytes += g.offsets.bytes - before
	}
}
