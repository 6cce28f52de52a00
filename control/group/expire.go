package group

import "github.com/ringmill/ringmill/wire"

// expiryBatch bounds the offsets that one Tick looks at, and the tombstones of one append: at about 100 ns an offset a
// Tick takes half a millisecond, and the records fit into a batch of 1 MiB.
const expiryBatch = 5_000

// expireOffsets removes offsets that nobody committed for offsets.retention.minutes, and empty groups without offsets. It
// begins every offsets.retention.check.interval.ms and goes on over several Ticks.
func (c *Coordinator) expireOffsets() {
	if len(c.expiring) == 0 {
		if c.nowMS < c.nextExpiryMS {
			return
		}
		c.nextExpiryMS = c.after(max(c.cfg.OffsetsRetentionCheckInterval, 1))
		c.expiring = c.sortedGroupIDs()
	}
	for seen := 0; seen < expiryBatch && len(c.expiring) > 0 && c.mayAppend(); {
		g := c.groups[c.expiring[0]]
		c.expiring = c.expiring[1:]
		if g != nil && g.state != Dead && g.durable {
			c.expireGroup(g)
			seen += 1 + g.offsets.entries
		}
	}
}

// expireGroup removes what has expired of one group, and the group if it is empty and nothing is left. A share group, which
// has no offsets here, stays until somebody deletes it.
func (c *Coordinator) expireGroup(g *group) {
	if g.share != nil {
		return
	}
	expired := c.expiredOffsets(g)
	if g.state == Empty && len(expired) == g.offsets.entries {
		a := &expiryAppend{}
		c.startDeletion(&a.groupDeletions, g)
		c.append(g.tombstones(), a)
		return
	}
	c.appendTombstones(g, expired)
}

// expiredOffsets are those that are due (KIP-211): while a group has members, only of topics that they do not read; from
// the commit, or in an empty classic group that once had members from when it became empty. A commit that came with a retention
// time goes by that.
func (c *Coordinator) expiredOffsets(g *group) []offsetWrite {
	if g.consumer == nil && g.protocolType != "" && g.state != Empty && !(g.isConsumer() && g.subscribed != nil && g.state == Stable) {
		return nil
	}
	var expired []offsetWrite
	for _, topic := range g.offsets.sortedTopics() {
		if g.isSubscribed(topic) {
			continue
		}
		for _, partition := range g.offsets.sortedPartitions(topic) {
			if e := g.offsets.get(topic, partition); e.writes+e.unstable == 0 && c.isExpired(g, &e.value) {
				expired = append(expired, offsetWrite{topic: topic, partition: partition, remove: true})
			}
		}
	}
	return expired
}

func (c *Coordinator) isExpired(g *group, o *committedOffset) bool {
	if o.expiresAt != wire.NoTimestamp {
		return c.wall >= o.expiresAt
	}
	since := o.committedAt
	if g.consumer == nil && g.protocolType != "" && g.state == Empty && g.stateSince != wire.NoTimestamp {
		since = g.stateSince
	}
	return int64(c.wall-since) >= c.cfg.OffsetsRetentionMS
}

// appendTombstones asks for the tombstones of these offsets, in appends of bounded size.
func (c *Coordinator) appendTombstones(g *group, writes []offsetWrite) {
	for len(writes) > 0 {
		n := min(len(writes), expiryBatch)
		w := &tombstonesAppend{offsetWrites{group: g, writes: writes[:n]}}
		w.id = c.append(w.tombstones(), w)
		w.begin(c)
		writes = writes[n:]
	}
}

// tombstonesAppend removes offsets that nobody asked to be removed.
type tombstonesAppend struct{ offsetWrites }

func (a *tombstonesAppend) appended(c *Coordinator, code wire.ErrorCode) { a.finish(c, code) }

// expiryAppend removes a group that has nothing left.
type expiryAppend struct{ groupDeletions }

func (a *expiryAppend) appended(c *Coordinator, code wire.ErrorCode) { a.finish(c, code) }

// TopicDeleted removes the offsets that the shard's groups committed for a topic that is no more.
func (c *Coordinator) TopicDeleted(name string) Effects {
	c.begin(c.nowMS, c.wall)
	c.dropTxnTopic(name)
	if c.phase == phaseActive {
		for _, id := range c.sortedGroupIDs() {
			g := c.groups[id]
			if g.share != nil && g.state != Dead {
				c.forgetGoneTopics(g)
				c.settle(g)
			}
			var writes []offsetWrite
			for _, partition := range g.offsets.sortedPartitions(name) {
				writes = append(writes, offsetWrite{topic: name, partition: partition, remove: true})
			}
			c.appendTombstones(g, writes)
		}
	}
	return c.end()
}
