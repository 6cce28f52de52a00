package node

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// topic is a topic as the loops see it: immutable, replaced whole when partitions are added or its configuration
// changes. Its partitions are the owners' and only pointed to here.
type topic struct {
	name      string
	nameBytes []byte
	id        wire.TopicID
	internal  bool
	// overrides are the topic's own properties, config what results with the node's.
	overrides map[string]string
	config    config.TopicConfig
	// rules are for what is produced to it.
	rules api.BatchRules
	// parts are by number; nil for those that have no replica on this node.
	parts []*partition
}

// part returns a partition by number, nil if there is none or it has no replica on this node.
func (t *topic) part(i wire.PartitionIndex) *partition {
	if i < 0 || int(i) >= len(t.parts) {
		return nil
	}
	return t.parts[i]
}

// leaderOf is a partition that this node leads, or what a client is told that looks for it here. t may be nil.
func (t *topic) leaderOf(i wire.PartitionIndex) (*partition, wire.ErrorCode) {
	switch {
	case t == nil || i < 0 || int(i) >= len(t.parts):
		return nil, wire.UnknownTopicOrPartition
	case t.parts[i] == nil || !t.parts[i].leads.Load():
		return nil, wire.NotLeaderOrFollower
	}
	return t.parts[i], wire.None
}

// replicaOf is a partition that this node has a replica of, leading or not, or what a client is told that looks for it here. t may be nil.
func (t *topic) replicaOf(i wire.PartitionIndex) (*partition, wire.ErrorCode) {
	switch {
	case t == nil || i < 0 || int(i) >= len(t.parts):
		return nil, wire.UnknownTopicOrPartition
	case t.parts[i] == nil:
		return nil, wire.NotLeaderOrFollower
	}
	return t.parts[i], wire.None
}

// led are the partitions that this node leads.
func (t *topic) led() (led []wire.PartitionIndex) {
	for i, p := range t.parts {
		if p != nil && p.leads.Load() {
			led = append(led, wire.PartitionIndex(i))
		}
	}
	return led
}

// catalog finds topics by name and id. Any thread reads it without a lock and without allocating; writers replace one
// of many small maps, so that adding a topic among 10,000 copies a few dozen entries.
type catalog struct {
	seed   maphash.Seed
	mu     sync.Mutex // writers
	byName [catalogShards]atomic.Pointer[map[string]*topic]
	byID   [catalogShards]atomic.Pointer[map[wire.TopicID]*topic]
	count  atomic.Int64
}

const catalogShards = 256

func newCatalog() *catalog {
	c := &catalog{seed: maphash.MakeSeed()}
	for i := range catalogShards {
		c.byName[i].Store(&map[string]*topic{})
		c.byID[i].Store(&map[wire.TopicID]*topic{})
	}
	return c
}

// named looks a topic up by the bytes of its name.
func (c *catalog) named(name []byte) *topic {
	return (*c.byName[maphash.Bytes(c.seed, name)%catalogShards].Load())[string(name)]
}

// identified looks a topic up by its id.
func (c *catalog) identified(id wire.TopicID) *topic {
	return (*c.byID[id[0]].Load())[id]
}

// put adds t or replaces the topic of its name.
func (c *catalog) put(t *topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := c.byName[maphash.String(c.seed, t.name)%catalogShards].Load()
	if _, there := (*names)[t.name]; !there {
		c.count.Add(1)
	}
	c.change(t, func(names map[string]*topic, ids map[wire.TopicID]*topic) {
		names[t.name], ids[t.id] = t, t
	})
}

// remove forgets t.
func (c *catalog) remove(t *topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count.Add(-1)
	c.change(t, func(names map[string]*topic, ids map[wire.TopicID]*topic) {
		delete(names, t.name)
		delete(ids, t.id)
	})
}

func (c *catalog) change(t *topic, edit func(map[string]*topic, map[wire.TopicID]*topic)) {
	byName := &c.byName[maphash.String(c.seed, t.name)%catalogShards]
	byID := &c.byID[t.id[0]]
	names, ids := maps.Clone(*byName.Load()), maps.Clone(*byID.Load())
	edit(names, ids)
	byName.Store(&names)
	byID.Store(&ids)
}
