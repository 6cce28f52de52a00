package group

import (
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
