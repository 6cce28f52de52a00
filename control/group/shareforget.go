package group

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
		if t := c.topics.image.ByName(req.Topics[i].Topic); t == nil || doomed.Of(t.ID) == nil { // once, however often it is named
			doomed = doomed.Union(c.deletableOffsets(d, req.Topics[i].Topic))
		}
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
