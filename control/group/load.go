package group

import (
	"encoding/binary"
	"fmt"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// RecordError says why a record of __consumer_offsets cannot be read. The record is left out; those after it may be loaded.
type RecordError struct {
	KeyVersion int16  // what kind of record it is; -1 if not even that can be read
	Reason     string // what is wrong with it
	Err        error  // the decoder's error, or nil
}

func (e *RecordError) Error() string {
	text := fmt.Sprintf("group: record with key version %d: %s", e.KeyVersion, e.Reason)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *RecordError) Unwrap() error { return e.Err }

// Load takes one record of the shard's log, in the order of the log, before Loaded. Records of streams groups, which
// have keys of other versions, are passed over. The record's bytes are not kept. The error is a *RecordError.
func (c *Coordinator) Load(rec wire.Record) error {
	if c.phase != phaseLoading {
		panic("BUG: Load after Loaded")
	}
	if len(rec.Key) < 2 {
		return &RecordError{KeyVersion: -1, Reason: "the key is shorter than its version"}
	}
	switch version := int16(binary.BigEndian.Uint16(rec.Key)); version {
	case keyOffsetCommitOld, keyOffsetCommit:
		return c.loadOffset(version, rec)
	case keyGroupMetadata:
		return c.loadGroup(version, rec)
	case int16(recordGroup), int16(recordOldMetadata), int16(recordMember), int16(recordTargetEpoch), int16(recordTarget),
		int16(recordCurrent), int16(recordRegex):
		return c.loadConsumer(recordKind(version), rec)
	}
	if kind := recordKind(binary.BigEndian.Uint16(rec.Key)); kind.isShare() {
		return c.loadShare(kind, rec)
	}
	return nil
}

// Loaded ends the replay: sessions start afresh, so that members of a restarted coordinator have time to be heard of, and
// a group with more members than group.max.size rebalances.
func (c *Coordinator) Loaded(nowMS int64) Effects {
	c.begin(nowMS, wire.NoTimestamp)
	c.phase = phaseActive
	c.nextExpiryMS = c.after(max(c.cfg.OffsetsRetentionCheckInterval, 1))
	for _, id := range c.sortedGroupIDs() {
		g := c.groups[id]
		c.touched = g
		if g.loaded != nil {
			c.finishLoading(g)
			continue
		}
		if g.loadedShare != nil {
			c.finishLoadingShare(g)
			continue
		}
		for m := g.first; m != nil; m = m.next {
			c.extendSession(m, m.sessionTimeoutMS)
		}
		if len(g.members) > c.cfg.MaxSize {
			c.armGroup(g, timerShrink, 0)
		}
	}
	return c.end()
}

func (c *Coordinator) loadOffset(version int16, rec wire.Record) error {
	key, value, err := readOffset(version, rec)
	if err != nil {
		return err
	}
	c.lastAppend++ // what a transaction committed counts by its place in the log
	g := c.groups[key.Group]
	if rec.Value == nil {
		if g != nil {
			c.unloadOffset(g, &key)
		}
		return nil
	}
	if g == nil {
		g = newGroup(key.Group, wire.NoTimestamp)
		g.durable = true
		c.groups[key.Group] = g
	}
	c.changeOffsets(g, func() { g.offsets.set(g.offsets.place(key.Topic, key.Partition), c.lastAppend, value) })
	return nil
}

func (c *Coordinator) unloadOffset(g *group, key *kmsg.OffsetCommitKey) {
	if e := g.offsets.get(key.Topic, key.Partition); e != nil {
		c.changeOffsets(g, func() {
			g.offsets.unset(e, c.lastAppend)
			g.offsets.prune(key.Topic, key.Partition)
		})
	}
}

// readOffset reads a committed offset; of a tombstone, the key.
func readOffset(version int16, rec wire.Record) (key kmsg.OffsetCommitKey, value committedOffset, err error) {
	if err := key.ReadFrom(rec.Key); err != nil {
		return key, value, &RecordError{version, "the key is damaged", err}
	}
	if rec.Value != nil {
		value, err = readOffsetValue(version, rec.Value)
	}
	return key, value, err
}

func readOffsetValue(keyVersion int16, src []byte) (committedOffset, error) {
	if err := checkValueVersion(keyVersion, src, 4); err != nil {
		return committedOffset{}, err
	}
	value := kmsg.NewOffsetCommitValue()
	if err := value.ReadFrom(src); err != nil {
		return committedOffset{}, &RecordError{keyVersion, "the committed offset is damaged", err}
	}
	o := committedOffset{
		offset: value.Offset, leaderEpoch: value.LeaderEpoch, metadata: value.Metadata,
		committedAt: wire.Timestamp(value.CommitTimestamp), expiresAt: wire.NoTimestamp,
	}
	if value.Version < 3 {
		o.leaderEpoch = -1
	}
	if value.Version == valueOffsetCommitExpire {
		o.expiresAt = wire.Timestamp(value.ExpireTimestamp)
	}
	return o, nil
}

func checkValueVersion(keyVersion int16, src []byte, most int16) error {
	if len(src) < 2 {
		return &RecordError{KeyVersion: keyVersion, Reason: "the value is shorter than its version"}
	}
	if v := int16(binary.BigEndian.Uint16(src)); v < 0 || v > most {
		return &RecordError{KeyVersion: keyVersion, Reason: fmt.Sprintf("the value has version %d, known are 0 to %d", v, most)}
	}
	return nil
}

func (c *Coordinator) loadGroup(version int16, rec wire.Record) error {
	var key kmsg.GroupMetadataKey
	if err := key.ReadFrom(rec.Key); err != nil {
		return &RecordError{version, "the key is damaged", err}
	}
	if rec.Value == nil {
		if g := c.groups[key.Group]; g != nil && g.loaded == nil {
			c.unloadGroup(g)
		}
		return nil
	}
	if err := checkValueVersion(version, rec.Value, 4); err != nil {
		return err
	}
	value := kmsg.NewGroupMetadataValue()
	if err := value.ReadFrom(rec.Value); err != nil {
		return &RecordError{version, "the group is damaged", err}
	}
	if reason := implausible(&value); reason != "" {
		return &RecordError{KeyVersion: version, Reason: reason}
	}
	c.replaceGroup(key.Group, &value)
	return nil
}

// unloadGroup takes a classic group's tombstone. Offsets have tombstones of their own: a group that changed its protocol
// keeps them.
func (c *Coordinator) unloadGroup(g *group) {
	if g.offsets.entries == 0 {
		c.dropGroup(g, wire.GroupIDNotFound)
		return
	}
	for m := g.first; m != nil; m = g.first {
		c.removeMember(g, m)
	}
	fresh := newGroup(g.id, wire.NoTimestamp)
	fresh.durable, fresh.offsets = g.offsets.holdsAny(), g.offsets
	c.groups[g.id] = fresh
}

// implausible says what no coordinator would have written.
func implausible(value *kmsg.GroupMetadataValue) string {
	ids, instances := map[string]bool{}, map[string]bool{}
	for i := range value.Members {
		m := &value.Members[i]
		if value.Protocol == nil || value.ProtocolType == "" {
			return "the group has members and no protocol"
		}
		if m.MemberID == "" || ids[m.MemberID] {
			return fmt.Sprintf("member id %q is empty or there twice", m.MemberID)
		}
		ids[m.MemberID] = true
		if m.InstanceID == nil {
			continue
		}
		if instances[*m.InstanceID] {
			return fmt.Sprintf("instance id %q is there twice", *m.InstanceID)
		}
		instances[*m.InstanceID] = true
	}
	return ""
}

// replaceGroup makes the group what the record says; its offsets, which have records of their own, stay.
func (c *Coordinator) replaceGroup(id string, value *kmsg.GroupMetadataValue) {
	g := newGroup(id, wire.Timestamp(value.CurrentStateTimestamp))
	g.durable = true
	if value.Version < 2 {
		g.stateSince = wire.NoTimestamp
	}
	if old := c.groups[id]; old != nil {
		g.offsets, old.offsets = old.offsets, offsetTable{}
		for m := old.first; m != nil; m = old.first {
			c.removeMember(old, m)
		}
	}
	c.groups[id] = g
	g.generation, g.protocolType, g.protocol = value.Generation, value.ProtocolType, value.Protocol
	for i := range value.Members {
		c.loadMember(g, value, &value.Members[i])
	}
	if len(g.members) > 0 {
		g.state = Stable
	}
	if value.Leader != nil && g.members[*value.Leader] != nil {
		g.leader = *value.Leader
	}
	g.subscribed = g.computeSubscribed()
}

// loadMember adds a member as the record has it: of its protocols it only knows the chosen one.
func (c *Coordinator) loadMember(g *group, value *kmsg.GroupMetadataValue, r *kmsg.GroupMetadataValueMember) {
	m := &member{
		id: r.MemberID, instanceID: r.InstanceID, client: Client{ID: r.ClientID, Host: r.ClientHost},
		sessionTimeoutMS: r.SessionTimeoutMillis, rebalanceTimeoutMS: r.RebalanceTimeoutMillis,
		protocols:  []protocol{{name: *value.Protocol, metadata: append([]byte(nil), r.Subscription...)}},
		assignment: append([]byte(nil), r.Assignment...),
	}
	if value.Version < 3 {
		m.instanceID = nil
	}
	if value.Version < 1 || m.rebalanceTimeoutMS == -1 {
		m.rebalanceTimeoutMS = m.sessionTimeoutMS
	}
	m.session = timer{position: -1, kind: timerSession, group: g, member: m}
	g.add(m, value.ProtocolType)
	c.memoryBytes += m.size()
}
