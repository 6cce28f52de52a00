package group

import "github.com/ringmill/ringmill/control/group/assignor"

// All changes of a consumer group's members go through this file, which keeps the counts, the owners of partitions, the
// memory, and the list of records that have to be written.

// insertMember puts m into the group with all that it holds.
func (c *Coordinator) insertMember(g *group, m *consumerMember) {
	g.consumer.insert(m)
	c.recount(m)
	g.touch(recordMember, m.id)
}

// deleteMember takes m out with all that belongs to it. The order of its tombstones is what Kafka insists on when it reads
// them.
func (c *Coordinator) deleteMember(g *group, m *consumerMember) {
	c.forgetMember(g, m)
	g.touch(recordCurrent, m.id)
	g.touch(recordTarget, m.id)
	g.touch(recordMember, m.id)
}

// forgetMember takes m out of memory alone.
func (c *Coordinator) forgetMember(g *group, m *consumerMember) {
	c.timers.disarm(&m.session)
	c.timers.disarm(&m.rebalance)
	c.timers.disarm(&m.sync)
	g.consumer.delete(m)
	c.memoryBytes -= m.countedBytes
	m.countedBytes = 0
}

// setMetadata takes over what a member says of itself.
func (c *Coordinator) setMetadata(g *group, m *consumerMember, md memberMetadata) {
	g.consumer.count(m, -1)
	m.memberMetadata = md
	g.consumer.count(m, 1)
	c.recount(m)
	g.touch(recordMember, m.id)
}

// setCurrent moves a member on.
func (c *Coordinator) setCurrent(g *group, m *consumerMember, current memberCurrent) {
	g.consumer.release(m)
	m.memberCurrent = current
	g.consumer.claim(m)
	c.recount(m)
	g.touch(recordCurrent, m.id)
}

func (c *Coordinator) setTarget(g *group, m *consumerMember, target assignor.Assignment) {
	m.target, m.hasTarget = target, true
	g.touch(recordTarget, m.id)
}

func (c *Coordinator) recount(m *consumerMember) {
	size := m.size()
	c.memoryBytes += size - m.countedBytes
	m.countedBytes = size
}

// bumpEpoch begins a new epoch: the targets have to be computed again.
func (c *Coordinator) bumpEpoch(g *group, hash uint64) {
	g.consumer.epoch++
	g.consumer.metadataHash = hash
	g.touch(recordGroup, "")
}

// currentHash is the hash of the topics that the group reads now.
func (c *Coordinator) currentHash(cg *consumerGroup) uint64 {
	return c.topics.hashAll(cg.subscribedTopics())
}

// refreshTopics begins a new epoch if something changed: what members read, or the topics themselves. The topics are
// looked at again only if they may have changed.
func (c *Coordinator) refreshTopics(g *group, changed bool) {
	cg := g.consumer
	version := c.topics.image.Version()
	if !changed && cg.checked && cg.checkedAt == version {
		return
	}
	hash := c.currentHash(cg)
	if changed || hash != cg.metadataHash {
		c.bumpEpoch(g, hash)
	}
	cg.checked, cg.checkedAt = true, version
	if cg.oldMetadata {
		cg.oldMetadata = false
		g.touch(recordOldMetadata, "")
	}
}

// dropConsumer forgets the members, as when the group is deleted or the shard given up.
func (c *Coordinator) dropConsumer(g *group) {
	for _, m := range g.consumer.sortedMembers() {
		c.forgetMember(g, m)
	}
	c.forgetRegexes(g.consumer)
}
