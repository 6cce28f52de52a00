package group

import (
	"encoding/binary"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
)

// loadedConsumer is what the log has said of a consumer group so far. It becomes a consumerGroup when all of it is read:
// only then is it sure which of the records were the last.
type loadedConsumer struct {
	known        bool // there is a record of the group itself
	epoch        int32
	metadataHash uint64
	targetEpoch  int32
	members      map[string]*loadedMember
	regexes      map[string]*regexSubscription
	oldMetadata  bool
}

// loadedMember is what the log has said of one member. Without metadata it is none.
type loadedMember struct {
	metadata *memberMetadata
	current  *memberCurrent
	target   *assignor.Assignment
}

// loadConsumer takes a record of a consumer group.
func (c *Coordinator) loadConsumer(kind recordKind, rec wire.Record) error {
	id, of, err := readConsumerKey(kind, rec.Key)
	if err != nil {
		return err
	}
	g := c.groups[id]
	if rec.Value == nil {
		if g != nil && g.loaded != nil {
			g.loaded.forget(kind, of)
			c.dropIfUnloaded(g)
		}
		return nil
	}
	if err := checkValueVersion(int16(kind), rec.Value, 0); err != nil {
		return err
	}
	r := &flexibleReader{rest: rec.Value[2:]}
	take := readConsumerValue(kind, of, r)
	if r.failed {
		return &RecordError{KeyVersion: int16(kind), Reason: "the value is damaged"}
	}
	take(c.loadedConsumer(id))
	return nil
}

// readConsumerKey reads what follows a key's version.
func readConsumerKey(kind recordKind, key []byte) (group, of string, err error) {
	group, rest, ok := readText(key[2:])
	if ok && kind.namesMore() {
		of, _, ok = readText(rest)
	}
	if !ok {
		return "", "", &RecordError{KeyVersion: int16(kind), Reason: "the key is damaged"}
	}
	return group, of, nil
}

func readText(src []byte) (s string, rest []byte, ok bool) {
	if len(src) < 2 {
		return "", nil, false
	}
	n := int(int16(binary.BigEndian.Uint16(src)))
	if n < 0 || n > len(src)-2 {
		return "", nil, false
	}
	return string(src[2 : 2+n]), src[2+n:], true
}

// readConsumerValue reads a value, and gives what it does to the group if it is sound.
func readConsumerValue(kind recordKind, of string, r *flexibleReader) func(*loadedConsumer) {
	switch kind {
	case recordGroup:
		epoch, hash := readGroup(r)
		return func(l *loadedConsumer) { l.known, l.epoch, l.metadataHash = true, epoch, hash }
	case recordTargetEpoch:
		epoch := r.int32()
		r.tags(nil)
		return func(l *loadedConsumer) { l.targetEpoch = epoch }
	case recordMember:
		md := readMemberMetadata(r)
		return func(l *loadedConsumer) { l.member(of).metadata = &md }
	case recordTarget:
		target := r.assignment()
		r.tags(nil)
		return func(l *loadedConsumer) { l.member(of).target = &target }
	case recordCurrent:
		current := readMemberCurrent(r)
		return func(l *loadedConsumer) { l.member(of).current = &current }
	case recordRegex:
		regex := readRegex(r)
		return func(l *loadedConsumer) { l.regexes[of] = &regex }
	}
	return func(l *loadedConsumer) { l.oldMetadata = true } // the topics that it tells of are looked up anew
}

func (l *loadedConsumer) member(id string) *loadedMember {
	m := l.members[id]
	if m == nil {
		m = &loadedMember{}
		l.members[id] = m
	}
	return m
}

// loadedConsumer is the group as a consumer group. One that followed the classic protocol does no longer.
func (c *Coordinator) loadedConsumer(id string) *loadedConsumer {
	g := c.groups[id]
	if g == nil {
		g = newGroup(id, wire.NoTimestamp)
		c.groups[id] = g
	}
	g.durable = true
	if g.loaded == nil {
		for m := g.first; m != nil; m = g.first {
			c.removeMember(g, m)
		}
		fresh := newGroup(id, wire.NoTimestamp)
		fresh.durable, fresh.offsets = true, g.offsets
		fresh.loaded = &loadedConsumer{members: map[string]*loadedMember{}, regexes: map[string]*regexSubscription{}}
		c.groups[id] = fresh
		g = fresh
	}
	return g.loaded
}

// forget takes a tombstone.
func (l *loadedConsumer) forget(kind recordKind, of string) {
	m := l.members[of]
	switch kind {
	case recordGroup:
		l.known, l.epoch, l.metadataHash = false, 0, 0
	case recordTargetEpoch:
		l.targetEpoch = 0
	case recordRegex:
		delete(l.regexes, of)
	case recordOldMetadata:
		l.oldMetadata = false
	}
	if m == nil || !kind.namesMore() || kind == recordRegex {
		return
	}
	switch kind {
	case recordMember:
		m.metadata = nil
	case recordTarget:
		m.target = nil
	case recordCurrent:
		m.current = nil
	}
	if *m == (loadedMember{}) {
		delete(l.members, of)
	}
}

// dropIfUnloaded forgets a group of which tombstones left nothing, but the offsets, which have tombstones of their own.
func (c *Coordinator) dropIfUnloaded(g *group) {
	if g.loaded.known || len(g.loaded.members) > 0 {
		return
	}
	g.loaded = nil
	if g.offsets.entries == 0 {
		c.dropGroup(g, wire.GroupIDNotFound)
	}
}

// finishLoading makes the consumer groups of what the log said. Sessions start afresh, and members that had partitions to
// revoke have their rebalance timeout again.
func (c *Coordinator) finishLoading(g *group) {
	l := g.loaded
	g.loaded = nil
	cg := newConsumerGroup()
	cg.epoch, cg.metadataHash, cg.targetEpoch, cg.oldMetadata = max(l.epoch, 0), l.metadataHash, l.targetEpoch, l.oldMetadata
	g.consumer, g.protocolType = cg, consumerProtocolType
	targets := map[topicPartition]bool{}
	for _, id := range sortedKeys(l.members) {
		if l.members[id].metadata != nil {
			c.insertLoaded(g, id, l.members[id], targets)
		}
	}
	cg.targetEpoch = min(max(cg.targetEpoch, 0), cg.epoch)
	for regex, resolved := range l.regexes {
		if r := cg.regexes[regex]; r != nil {
			r.topics, r.resolved, r.resolvedAt = resolved.topics, true, resolved.resolvedAt
			c.memoryBytes += r.size()
		}
	}
	c.settle(g)
}

// insertLoaded makes a member of what the log said. A log that was written by a coordinator never says that two members
// own a partition, or shall; if this one does, the first has it.
func (c *Coordinator) insertLoaded(g *group, id string, l *loadedMember, targets map[topicPartition]bool) {
	m := newConsumerMember(id, g)
	m.memberMetadata = *l.metadata
	if m.instanceID != nil && g.consumer.static[*m.instanceID] != nil {
		m.instanceID = nil
	}
	if l.current != nil {
		m.memberCurrent = g.consumer.unowned(*l.current)
	}
	if l.target != nil {
		m.hasTarget = true
		m.target = l.target.Filter(func(topic wire.TopicID, p int32) bool {
			at := topicPartition{topic, p}
			taken := targets[at]
			targets[at] = true
			return !taken
		})
	}
	g.consumer.epoch = max(g.consumer.epoch, m.epoch)
	if m.isReconciledTo(g.consumer.targetEpoch) && !m.assigned.Equal(m.target) {
		m.state = memberUnreleased
	}
	g.consumer.insert(m)
	c.recount(m)
	c.timers.arm(&m.session, c.after(int64(c.configOf(g.id).ConsumerSessionTimeoutMS)))
	if m.state == memberUnrevoked && m.classic == nil {
		m.rebalanceEpoch = m.epoch
		c.timers.arm(&m.rebalance, c.after(int64(m.rebalanceTimeoutMS)))
	}
}

// unowned leaves out what others own, and a revocation that has nothing to revoke.
func (cg *consumerGroup) unowned(a memberCurrent) memberCurrent {
	free := func(topic wire.TopicID, p int32) bool { return cg.owners[topicPartition{topic, p}] == nil }
	a.assigned, a.revoking = a.assigned.Filter(free), a.revoking.Filter(free)
	if a.state == memberUnrevoked && len(a.revoking) == 0 {
		a.state = memberUnreleased
	}
	return a
}
