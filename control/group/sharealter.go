package group

import (
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
