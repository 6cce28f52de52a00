package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetCommit takes an OffsetCommit of version 2 to 9. A negative generation without a member id is a client that assigns
// itself its partitions: it may commit to any group that is empty, the one called "" too.
func (c *Coordinator) offsetCommit(h Handle, req *kmsg.OffsetCommitRequest) {
	if len(req.Topics) == 0 { // none that exists: Kafka does not even look at the group
		c.reply(h, commitResponse(req))
		return
	}
	g := c.lookup(req.Group)
	if code := c.checkCommit(g, req); code != wire.None {
		c.reply(h, commitError(req, code))
		return
	}
	if g == nil {
		if g = c.createGroup(req.Group); g == nil {
			c.reply(h, commitError(req, wire.PolicyViolation))
			return
		}
	}
	if m := g.members[req.MemberID]; m != nil && (g.state == Stable || g.state == PreparingRebalance) {
		c.extendSession(m, m.sessionTimeoutMS) // a commit is a sign of life too
	}
	c.writeCommit(h, g, req)
}

// checkCommit judges the group and the member. A group that is not there is nil.
func (c *Coordinator) checkCommit(g *group, req *kmsg.OffsetCommitRequest) wire.ErrorCode {
	if !c.mayAppend() {
		return wire.CoordinatorLoadInProgress
	}
	switch {
	case g == nil && req.Generation < 0:
		return wire.None
	case g == nil && req.Version >= 9:
		return wire.GroupIDNotFound
	case g == nil:
		return wire.IllegalGeneration
	}
	return g.checkCommit(req)
}

func (g *group) checkCommit(req *kmsg.OffsetCommitRequest) wire.ErrorCode {
	switch {
	case g.state == Dead:
		return wire.CoordinatorNotAvailable
	case g.share != nil:
		return wire.GroupIDNotFound
	case g.consumer != nil:
		return g.consumer.checkCommit(req)
	case req.Generation < 0 && g.state == Empty:
		return wire.None
	case req.Generation < 0 && req.MemberID == "" && req.InstanceID == nil:
		return wire.UnknownMemberID // a simple commit into a group with members
	}
	if code := g.validateMember(req.MemberID, req.InstanceID); code != wire.None {
		return code
	}
	switch {
	case req.Generation != g.generation:
		return wire.IllegalGeneration
	case g.state == CompletingRebalance:
		return wire.RebalanceInProgress
	}
	return wire.None
}

// commitByEpochFrom is the first version that members of the consumer protocol may commit with.
const commitByEpochFrom = 9

func (cg *consumerGroup) checkCommit(req *kmsg.OffsetCommitRequest) wire.ErrorCode {
	if req.Generation < 0 && len(cg.members) == 0 {
		return wire.None
	}
	m := cg.members[req.MemberID]
	switch {
	case m == nil:
		return wire.UnknownMemberID
	case m.classic == nil && req.Version < commitByEpochFrom:
		return wire.UnsupportedVersion
	}
	return m.checkEpoch(req.Generation)
}

// checkEpoch judges the epoch of a commit or fetch: the generation of a member of the classic protocol.
func (m *consumerMember) checkEpoch(epoch int32) wire.ErrorCode {
	switch {
	case epoch == m.epoch:
		return wire.None
	case m.classic != nil:
		return wire.IllegalGeneration
	}
	return wire.StaleMemberEpoch
}

// writeCommit makes the records of the partitions that may be committed and judges the others.
func (c *Coordinator) writeCommit(h Handle, g *group, req *kmsg.OffsetCommitRequest) {
	resp := commitResponse(req)
	w := &commitAppend{offsetWrites: offsetWrites{group: g}, handle: h, resp: resp}
	var records []wire.Record
	for i := range req.Topics {
		topic := &req.Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			metadata := ""
			if p.Metadata != nil {
				metadata = *p.Metadata
			}
			if code := c.checkOffset(g, topic.Topic, p.Partition, metadata); code != wire.None {
				resp.Topics[i].Partitions[j].ErrorCode = int16(code)
				continue
			}
			value := c.committedValue(req, p, metadata)
			records = append(records, offsetRecord(g.id, topic.Topic, p.Partition, value))
			w.writes = append(w.writes, offsetWrite{topic: topic.Topic, partition: p.Partition, value: value})
		}
	}
	if len(records) == 0 {
		c.dropIfNothing(g)
		c.reply(h, resp)
		return
	}
	w.id = c.append(records, w)
	g.lastCommit = w.id
	w.begin(c)
}

// checkOffset judges one partition of a commit.
func (c *Coordinator) checkOffset(g *group, topic string, partition int32, metadata string) wire.ErrorCode {
	if javaLength(metadata) > c.cfg.OffsetMetadataMaxBytes {
		return wire.OffsetMetadataTooLarge
	}
	if !c.fits(0) && g.offsets.get(topic, partition) == nil {
		return wire.PolicyViolation
	}
	return wire.None
}

func (c *Coordinator) committedValue(req *kmsg.OffsetCommitRequest, p *kmsg.OffsetCommitRequestTopicPartition, metadata string) committedOffset {
	value := committedOffset{
		offset: p.Offset, leaderEpoch: p.LeaderEpoch, metadata: metadata, committedAt: c.wall, expiresAt: wire.NoTimestamp,
	}
	if req.Version < 6 {
		value.leaderEpoch = -1
	}
	if req.Version <= 4 && req.RetentionTimeMillis != -1 { // KIP-211 took retention_time out of version 5
		value.expiresAt = c.wall + wire.Timestamp(req.RetentionTimeMillis)
	}
	return value
}

// dropIfNothing forgets a group that was made for a commit of which nothing was written.
func (c *Coordinator) dropIfNothing(g *group) {
	if !g.durable && g.isSimple() && g.offsets.entries == 0 && g.offsetWrites == 0 && c.groups[g.id] == g {
		c.dropGroup(g, wire.CoordinatorNotAvailable)
	}
}

// commitAppend is the records of one OffsetCommit.
type commitAppend struct {
	offsetWrites
	handle  Handle
	resp    *kmsg.OffsetCommitResponse
	fetches []stableFetch
}

func (a *commitAppend) appended(c *Coordinator, code wire.ErrorCode) {
	a.finish(c, code)
	if code != wire.None {
		setCommitCode(a.resp, code)
		c.dropIfNothing(a.group)
	}
	c.reply(a.handle, a.resp)
	c.answerStableFetches(a.fetches)
}

// commitResponse says None of every partition.
func commitResponse(req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		from, to := &req.Topics[i], &resp.Topics[i]
		to.Topic = from.Topic
		to.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			to.Partitions[j].Partition = from.Partitions[j].Partition
		}
	}
	return resp
}

func commitError(req *kmsg.OffsetCommitRequest, code wire.ErrorCode) *kmsg.OffsetCommitResponse {
	resp := commitResponse(req)
	setCommitCode(resp, code)
	return resp
}

func setCommitCode(resp *kmsg.OffsetCommitResponse, code wire.ErrorCode) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			resp.Topics[i].Partitions[j].ErrorCode = int16(code)
		}
	}
}
