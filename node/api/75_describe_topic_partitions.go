package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var describeTopicPartitionsRow = row{key: wire.KeyDescribeTopicPartitions, min: 0, max: 0, handle: on(describeTopicPartitions)}

// describeTopicPartitions lists topics in the order of their names, in pages of at most so many partitions as the client
// and max.request.partition.size.limit allow (KIP-966). The cursor is where the next page begins.
func describeTopicPartitions(b Broker, r *Request, req *kmsg.DescribeTopicPartitionsRequest) *kmsg.DescribeTopicPartitionsResponse {
	p := &partitionsPage{broker: b, request: r, image: b.Image(), resp: kmsg.NewPtrDescribeTopicPartitionsResponse()}
	p.room = max(1, min(int32(b.Config().DescribePartitionsMax), req.ResponsePartitionLimit))
	if req.Cursor != nil {
		p.from = *req.Cursor
	}
	names := describedNames(req, p.from.Topic)
	switch {
	case p.from.Partition < 0, req.Cursor != nil && len(req.Topics) > 0 && !slices.Contains(names, p.from.Topic):
		return refusedDescription(req)
	case len(req.Topics) == 0:
		p.addAll()
	default:
		p.addNamed(names)
	}
	return p.resp
}

// describedNames are the names asked for from the cursor on, each once, in order.
func describedNames(req *kmsg.DescribeTopicPartitionsRequest, from string) []string {
	var names []string
	for i := range req.Topics {
		if name := req.Topics[i].Topic; name >= from {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refusedDescription: the cursor is not one that an answer gave.
func refusedDescription(req *kmsg.DescribeTopicPartitionsRequest) *kmsg.DescribeTopicPartitionsResponse {
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	for i := range req.Topics {
		t := kmsg.NewDescribeTopicPartitionsResponseTopic()
		t.ErrorCode, t.Topic, t.AuthorizedOperations = int16(wire.InvalidRequest), &req.Topics[i].Topic, operationsUnknown
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// partitionsPage is one page being filled.
type partitionsPage struct {
	broker  Broker
	request *Request
	image   *image.Image
	from    kmsg.DescribeTopicPartitionsRequestCursor
	room    int32 // partitions that still fit
	resp    *kmsg.DescribeTopicPartitionsResponse
}

func (p *partitionsPage) addAll() {
	for t := range p.image.TopicsFrom(p.from.Topic) {
		if !p.request.allows(p.broker, describeTopic, t.Name) {
			continue
		}
		if p.full(t.Name) {
			return
		}
		p.add(t)
	}
}

func (p *partitionsPage) addNamed(names []string) {
	defer p.addRefused(names)
	for _, name := range names {
		if !p.request.allows(p.broker, describeTopic, name) {
			continue
		}
		if p.full(name) {
			return
		}
		if t := p.image.ByName(name); t != nil {
			p.add(t)
		} else {
			p.addMissing(name)
		}
	}
}

// addRefused adds those of the names that the client may not know of, whatever page it is.
func (p *partitionsPage) addRefused(names []string) {
	for _, name := range names {
		if p.request.may(p.broker, describeTopic, name) {
			continue
		}
		t := kmsg.NewDescribeTopicPartitionsResponseTopic()
		t.ErrorCode, t.Topic, t.AuthorizedOperations = int16(unauthorizedTopic.code), &name, operationsUnknown
		p.resp.Topics = append(p.resp.Topics, t)
	}
}

func (p *partitionsPage) operations(topic string) int32 {
	return p.request.allowedOperations(p.broker, image.ACLResourceTopic, topic, topicOperations)
}

// full ends the page before the topic called next if nothing fits any more, or if a topic was cut already.
func (p *partitionsPage) full(next string) bool {
	if p.resp.NextCursor != nil {
		return true
	}
	if p.room == 0 {
		p.continueAt(next, 0)
	}
	return p.room == 0
}

func (p *partitionsPage) continueAt(topic string, partition int32) {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, partition
	p.resp.NextCursor = &c
}

func (p *partitionsPage) add(t *image.Topic) {
	out := kmsg.NewDescribeTopicPartitionsResponseTopic()
	out.Topic, out.TopicID, out.IsInternal, out.AuthorizedOperations = &t.Name, t.ID, t.Internal, p.operations(t.Name)
	var first int32
	if t.Name == p.from.Topic {
		first = min(p.from.Partition, t.Partitions)
	}
	n := min(p.room, t.Partitions-first)
	own := []int32{int32(p.broker.Config().NodeID)}
	out.Partitions = make([]kmsg.DescribeTopicPartitionsResponseTopicPartition, n)
	for i := range out.Partitions {
		index := wire.PartitionIndex(first + int32(i))
		describePartition(&out.Partitions[i], index, leadershipOf(p.broker, p.image, t, index, own))
	}
	p.resp.Topics = append(p.resp.Topics, out)
	if p.room -= n; first+n < t.Partitions {
		p.continueAt(t.Name, first+n)
	}
}

func describePartition(out *kmsg.DescribeTopicPartitionsResponseTopicPartition, index wire.PartitionIndex, lead leadership) {
	out.Default()
	out.Partition, out.LeaderID, out.LeaderEpoch = int32(index), lead.leader, lead.epoch
	out.Replicas, out.ISR, out.OfflineReplicas = lead.replicas, lead.inSync, lead.offline
	out.EligibleLeaderReplicas, out.LastKnownELR = lead.eligible, lead.lastEligible
}

func (p *partitionsPage) addMissing(name string) {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.ErrorCode, t.Topic, t.IsInternal = int16(wire.UnknownTopicOrPartition), &name, image.IsInternal(name)
	if wire.CheckTopicName(name) != nil {
		t.ErrorCode = int16(wire.InvalidTopicException)
	}
	t.AuthorizedOperations = p.operations(name)
	p.resp.Topics = append(p.resp.Topics, t)
}
