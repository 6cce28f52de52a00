package group

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeShareOffsets takes a DescribeShareGroupOffsets of version 0. Where reading begins the share coordinators know; a
// partition that they know nothing of has the offset -1. Of topics that are not named, all with initialized partitions are
// told. Kafka does not look whether there is such a group either.
func (c *Coordinator) describeShareOffsets(h Handle, req *kmsg.DescribeShareGroupOffsetsRequest) {
	d := &shareOffsets{handle: h, resp: kmsg.NewPtrDescribeShareGroupOffsetsResponse()}
	d.resp.Version = req.Version
	var reads []*shareOffsetsRead
	for i := range req.Groups {
		out := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
		out.GroupID = req.Groups[i].GroupID
		summary := c.summaryRequest(&req.Groups[i], &out)
		d.resp.Groups = append(d.resp.Groups, out)
		if len(summary.Topics) > 0 {
			reads = append(reads, &shareOffsetsRead{of: d, at: i, req: summary, names: c.namesOf(summary)})
		}
	}
	if d.waiting = len(reads); d.waiting == 0 {
		c.reply(h, d.resp)
	}
	for _, read := range reads {
		c.ask(read)
	}
}

func shareOffsetsError(id string, code wire.ErrorCode) kmsg.DescribeShareGroupOffsetsResponseGroup {
	out := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
	out.GroupID, out.ErrorCode = id, int16(code)
	return out
}

// summaryRequest is what the share coordinators are to be asked for one group. Topics that do not exist are answered in out.
func (c *Coordinator) summaryRequest(of *kmsg.DescribeShareGroupOffsetsRequestGroup, out *kmsg.DescribeShareGroupOffsetsResponseGroup) *kmsg.ReadShareGroupStateSummaryRequest {
	req := kmsg.NewPtrReadShareGroupStateSummaryRequest()
	req.GroupID = of.GroupID
	if of.Topics == nil {
		if g := c.groups[of.GroupID]; g != nil && g.share != nil {
			for _, t := range g.share.topics.initialized {
				addSummary(req, t.Topic, t.Partitions)
			}
		}
		return req
	}
	for i := range of.Topics {
		if t := c.topics.image.ByName(of.Topics[i].Topic); t != nil {
			addSummary(req, t.ID, of.Topics[i].Partitions)
		} else {
			out.Topics = append(out.Topics, unknownShareOffsets(&of.Topics[i]))
		}
	}
	return req
}

func addSummary(req *kmsg.ReadShareGroupStateSummaryRequest, topic wire.TopicID, partitions []int32) {
	t := kmsg.NewReadShareGroupStateSummaryRequestTopic()
	t.TopicID = topic
	for _, index := range partitions {
		p := kmsg.NewReadShareGroupStateSummaryRequestTopicPartition()
		p.Partition = index
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
}

func unknownShareOffsets(of *kmsg.DescribeShareGroupOffsetsRequestGroupTopic) kmsg.DescribeShareGroupOffsetsResponseGroupTopic {
	t := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopic()
	t.Topic = of.Topic
	for _, index := range of.Partitions {
		t.Partitions = append(t.Partitions, shareOffset(index, shareOffsetUnset, 0))
	}
	return t
}

func shareOffset(index int32, offset int64, epoch int32) kmsg.DescribeShareGroupOffsetsResponseGroupTopicPartition {
	p := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopicPartition()
	p.Partition, p.StartOffset, p.LeaderEpoch = index, offset, epoch
	return p
}

// namesOf keeps the names of the topics that a summary is asked for: they may be gone when it comes.
func (c *Coordinator) namesOf(req *kmsg.ReadShareGroupStateSummaryRequest) map[wire.TopicID]string {
	names := make(map[wire.TopicID]string, len(req.Topics))
	for i := range req.Topics {
		if t := c.topics.image.ByID(req.Topics[i].TopicID); t != nil {
			names[t.ID] = t.Name
		}
	}
	return names
}

// shareOffsets is one DescribeShareGroupOffsets.
type shareOffsets struct {
	handle  Handle
	resp    *kmsg.DescribeShareGroupOffsetsResponse
	waiting int // groups without an answer
}

// shareOffsetsRead is the call that reads one group's offsets.
type shareOffsetsRead struct {
	of    *shareOffsets
	at    int // the group in the answer
	req   *kmsg.ReadShareGroupStateSummaryRequest
	names map[wire.TopicID]string
}

func (s *shareOffsetsRead) request() (string, kmsg.Request) { return s.req.GroupID, s.req }

func (s *shareOffsetsRead) answered(c *Coordinator, resp kmsg.Response) {
	out := &s.of.resp.Groups[s.at]
	for _, from := range resp.(*kmsg.ReadShareGroupStateSummaryResponse).Topics {
		t := kmsg.NewDescribeShareGroupOffsetsResponseGroupTopic()
		t.TopicID, t.Topic = from.TopicID, s.names[from.TopicID]
		for _, p := range from.Partitions {
			if p.ErrorCode != int16(wire.None) {
				p.StartOffset, p.LeaderEpoch = shareOffsetUnset, 0
			}
			t.Partitions = append(t.Partitions, shareOffset(p.Partition, p.StartOffset, p.LeaderEpoch))
		}
		out.Topics = append(out.Topics, t)
	}
	if s.of.waiting--; s.of.waiting == 0 {
		c.reply(s.of.handle, s.of.resp)
	}
}

// alterShareOffsets takes an AlterShareGroupOffsets of version 0: partitions of an empty group begin elsewhere.
func (c *Coordinator) alterShareOffsets(h Handle, req *kmsg.AlterShareGroupOffsetsRequest) {
	resp := kmsg.NewPtrAlterShareGroupOffsetsResponse()
	resp.Version = req.Version
	offsets := c.alteredOffsets(req, resp)
	if req.GroupID != "" && !slices.ContainsFunc(req.Topics, func(t kmsg.AlterShareGroupOffsetsRequestTopic) bool {
		return c.topics.image.ByName(t.Topic) != nil
	}) {
		c.reply(h, resp) // Kafka does not look at the group then
		return
	}
	g, r := c.emptyShareGroup(req.GroupID)
	switch {
	case r != accepted:
		resp.ErrorCode, resp.ErrorMessage, resp.Topics = int16(r.code), r.text(), nil
		c.reply(h, resp)
	case len(offsets) == 0:
		c.reply(h, resp)
	default:
		c.writeAlteration(g, &shareAlteration{shareInitialization{group: g}, h, resp}, offsets)
	}
}

// emptyShareGroup finds a group whose offsets may be changed.
func (c *Coordinator) emptyShareGroup(id string) (*group, refusal) {
	if id == "" {
		return nil, refuse(wire.InvalidGroupID, "%s", invalidGroupText)
	}
	g := c.lookup(id)
	switch {
	case g == nil:
		return nil, refuse(wire.GroupIDNotFound, "Group %s not found.", id)
	case g.state == Dead:
		return nil, refusal{code: wire.CoordinatorNotAvailable}
	case g.share == nil:
		return nil, refuse(wire.GroupIDNotFound, "Group %s is not a share group.", id)
	case g.state != Empty:
		return nil, refuse(wire.NonEmptyGroup, "%s", nonEmptyGroupText)
	case !c.mayAppend():
		return nil, refusal{code: wire.CoordinatorLoadInProgress}
	}
	return g, accepted
}

// Kafka's words for error codes, where it has no others to say.
const (
	invalidGroupText     = "The group id is invalid."
	nonEmptyGroupText    = "The group is not empty."
	unknownPartitionText = "This server does not host this topic-partition."
)

// alteredOffsets are the offsets that partitions which exist shall begin at, as resp says of each.
func (c *Coordinator) alteredOffsets(req *kmsg.AlterShareGroupOffsetsRequest, resp *kmsg.AlterShareGroupOffsetsResponse) map[topicPartition]int64 {
	offsets := map[topicPartition]int64{}
	for i := range req.Topics {
		out := kmsg.NewAlterShareGroupOffsetsResponseTopic()
		out.Topic = req.Topics[i].Topic
		t := c.topics.image.ByName(out.Topic)
		if t != nil {
			out.TopicID = t.ID
		}
		for _, p := range req.Topics[i].Partitions {
			o := kmsg.NewAlterShareGroupOffsetsResponseTopicPartition()
			o.Partition = p.Partition
			if t != nil && p.Partition >= 0 && p.Partition < t.Partitions {
				offsets[topicPartition{t.ID, p.Partition}] = p.StartOffset
			} else {
				o.ErrorCode, o.ErrorMessage = int16(wire.UnknownTopicOrPartition), kmsg.StringPtr(unknownPartitionText)
			}
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return offsets
}

// writeAlteration has partitions initialized once more, elsewhere.
func (c *Coordinator) writeAlteration(g *group, a *shareAlteration, offsets map[topicPartition]int64) {
	var lists []assignor.TopicPartitions
	for at := range offsets {
		lists = append(lists, assignor.TopicPartitions{Topic: at.topic, Partitions: []int32{at.partition}})
	}
	partitions, topics := assignor.Normal(lists), &g.share.topics
	for _, of := range partitions {
		topics.names[of.Topic] = c.topics.image.ByID(of.Topic).Name
	}
	topics.begin(partitions, c.nowMS)
	a.req = initializeRequest(g, partitions, func(topic wire.TopicID, p int32) int64 { return offsets[topicPartition{topic, p}] })
	g.touch(recordShareState, "")
	c.settle(g, delayedReply{call: a})
}

// shareAlteration is the call of one AlterShareGroupOffsets.
type shareAlteration struct {
	shareInitialization
	handle Handle
	resp   *kmsg.AlterShareGroupOffsetsResponse
}

// answered tells the client of each partition. Kafka tells of a failure as of a success.
func (a *shareAlteration) answered(c *Coordinator, resp kmsg.Response) {
	failed := map[topicPartition]int16{}
	for _, t := range resp.(*kmsg.InitializeShareGroupStateResponse).Topics {
		for _, p := range t.Partitions {
			failed[topicPartition{t.TopicID, p.Partition}] = p.ErrorCode
		}
	}
	for i := range a.resp.Topics {
		t := &a.resp.Topics[i]
		for j := range t.Partitions {
			if code := failed[topicPartition{t.TopicID, t.Partitions[j].Partition}]; t.Partitions[j].ErrorCode == int16(wire.None) {
				t.Partitions[j].ErrorCode = code
			}
		}
	}
	a.shareInitialization.answered(c, resp)
	c.reply(a.handle, a.resp)
}

// deleteShareOffsets takes a DeleteShareGroupOffsets of version 0: an empty group forgets where it was in topics.
func (c *Coordinator) deleteShareOffsets(h Handle, req *kmsg.DeleteShareGroupOffsetsRequest) {
	d := &shareOffsetsDeletion{handle: h, resp: kmsg.NewPtrDeleteShareGroupOffsetsResponse()}
	d.resp.Version = req.Version
	if len(req.Topics) == 0 {
		c.reply(h, d.resp)
		return
	}
	g, r := c.emptyShareGroup(req.GroupID)
	if r != accepted {
		d.resp.ErrorCode, d.resp.ErrorMessage = int16(r.code), r.text()
		c.reply(h, d.resp)
		return
	}
	d.group = g
	var doomed assignor.Assignment
	for i := range req.Topics {
		doomed = doomed.Union(c.deletableOffsets(d, req.Topics[i].Topic))
	}
	if len(doomed) == 0 {
		c.reply(h, d.resp)
		return
	}
	d.req = deleteStateRequest(g.id, doomed)
	g.touch(recordShareState, "")
	c.settle(g, delayedReply{call: d})
}

// deletableOffsets begins the deletion of a topic's states: those that are initialized, or, where a deletion before did not
// succeed, all.
func (c *Coordinator) deletableOffsets(d *shareOffsetsDeletion, topic string) assignor.Assignment {
	topics, t := &d.group.share.topics, c.topics.image.ByName(topic)
	if t == nil {
		d.refuse(topic, wire.UnknownTopicOrPartition, unknownPartitionText)
		return nil
	}
	if of := topics.initialized.Of(t.ID); of != nil {
		topics.startDeleting(t.ID)
		return assignor.Assignment{{Topic: t.ID, Partitions: of}}
	}
	if _, again := slices.BinarySearchFunc(topics.deleting, t.ID, assignor.CompareTopics); again {
		return allPartitions(t.ID, t.Partitions)
	}
	d.refuse(topic, wire.UnknownTopicOrPartition, "There is no offset information to delete.")
	return nil
}

// shareOffsetsDeletion is the call of one DeleteShareGroupOffsets.
type shareOffsetsDeletion struct {
	handle Handle
	group  *group
	req    *kmsg.DeleteShareGroupStateRequest
	resp   *kmsg.DeleteShareGroupOffsetsResponse
}

func (d *shareOffsetsDeletion) refuse(topic string, code wire.ErrorCode, message string) {
	t := kmsg.NewDeleteShareGroupOffsetsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = topic, int16(code), &message
	d.resp.Topics = append(d.resp.Topics, t)
}

func (d *shareOffsetsDeletion) request() (string, kmsg.Request) { return d.req.GroupID, d.req }

// answered forgets the topics whose states are deleted, and tells the client of each once that is durable.
func (d *shareOffsetsDeletion) answered(c *Coordinator, resp kmsg.Response) {
	g := d.group
	there := c.groups[g.id] == g
	for i, from := range resp.(*kmsg.DeleteShareGroupStateResponse).Topics {
		code := topicStateError(&resp.(*kmsg.DeleteShareGroupStateResponse).Topics[i])
		t := kmsg.NewDeleteShareGroupOffsetsResponseTopic()
		t.TopicID, t.Topic, t.ErrorCode = from.TopicID, g.share.topics.names[from.TopicID], int16(code)
		if code != wire.None {
			t.ErrorMessage = kmsg.StringPtr(code.String())
		} else if there {
			g.share.topics.deleted(from.TopicID)
			g.touch(recordShareState, "")
		}
		d.resp.Topics = append(d.resp.Topics, t)
	}
	slices.SortStableFunc(d.resp.Topics, func(a, b kmsg.DeleteShareGroupOffsetsResponseTopic) int {
		return cmp.Compare(count(a.ErrorCode != 0), count(b.ErrorCode != 0)) // as Kafka has them
	})
	if !there {
		c.reply(d.handle, d.resp)
		return
	}
	c.settle(g, delayedReply{handle: d.handle, req: &kmsg.DeleteShareGroupOffsetsRequest{Version: d.resp.Version}, resp: d.resp})
}
