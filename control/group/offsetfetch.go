package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetFetch takes an OffsetFetch of version 1 to 9. Up to version 7 it names one group, from 8 on several. A group or
// partition without a committed offset gets -1 and no error. Only durable offsets are told.
//
// With RequireStable (version 7) the client wants to be sure that nothing of what it began is still under way: the answer
// waits for the appends of the groups' offsets, and offsets of open transactions are UNSTABLE_OFFSET_COMMIT.
func (c *Coordinator) offsetFetch(h Handle, req *kmsg.OffsetFetchRequest) {
	if req.RequireStable {
		if a := c.latestCommit(req); a != nil {
			a.fetches = append(a.fetches, stableFetch{h, req})
			return
		}
	}
	c.reply(h, c.fetched(req))
}

// stableFetch is an OffsetFetch that waits for a commit.
type stableFetch struct {
	handle Handle
	req    *kmsg.OffsetFetchRequest
}

func (c *Coordinator) answerStableFetches(fetches []stableFetch) {
	for _, f := range fetches {
		c.reply(f.handle, c.fetched(f.req))
	}
}

// latestCommit is the last commit under way for the groups of req; nil if there is none.
func (c *Coordinator) latestCommit(req *kmsg.OffsetFetchRequest) *commitAppend {
	var last AppendID
	for _, id := range fetchedGroups(req) {
		if g := c.groups[id]; g != nil {
			last = max(last, g.lastCommit)
		}
	}
	a, _ := c.appends[last].(*commitAppend)
	return a
}

func fetchedGroups(req *kmsg.OffsetFetchRequest) []string {
	if req.Version < 8 {
		return []string{req.Group}
	}
	ids := make([]string, len(req.Groups))
	for i := range req.Groups {
		ids[i] = req.Groups[i].Group
	}
	return ids
}

func (c *Coordinator) fetched(req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Version = req.Version
	if req.Version < 8 {
		resp.Topics = singleGroupTopics(c.fetchTopics(req.Group, groupTopics(req), req.RequireStable))
		return resp
	}
	all := map[string]bool{}
	for i := range req.Groups {
		id, topics := req.Groups[i].Group, req.Groups[i].Topics
		if code := c.checkFetch(&req.Groups[i]); code != wire.None {
			resp.Groups = append(resp.Groups, kmsg.OffsetFetchResponseGroup{Group: id, ErrorCode: int16(code)})
			continue
		}
		if topics == nil && all[id] {
			continue // a small request shall not ask for all offsets of a group many times
		}
		all[id] = all[id] || topics == nil
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group, g.Topics = id, c.fetchTopics(id, topics, req.RequireStable)
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}

// checkFetch judges the member and its epoch that version 9 may carry. Only members of a consumer group are asked for theirs.
func (c *Coordinator) checkFetch(req *kmsg.OffsetFetchRequestGroup) wire.ErrorCode {
	g := c.groups[req.Group]
	if g == nil || g.consumer == nil || g.state == Dead || req.MemberID == nil && req.MemberEpoch < 0 {
		return wire.None
	}
	var m *consumerMember
	if req.MemberID != nil {
		m = g.consumer.members[*req.MemberID]
	}
	if m == nil {
		return wire.UnknownMemberID
	}
	return m.checkEpoch(req.MemberEpoch)
}

// fetchTopics answers for one group; nil topics are all that it has.
func (c *Coordinator) fetchTopics(id string, topics []kmsg.OffsetFetchRequestGroupTopic, stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	var table *offsetTable
	if g := c.groups[id]; g != nil && g.state != Dead {
		table = &g.offsets
	}
	if topics == nil {
		return table.fetchAll(stable)
	}
	out := make([]kmsg.OffsetFetchResponseGroupTopic, len(topics))
	for i := range topics {
		out[i] = table.fetch(topics[i].Topic, topics[i].Partitions, stable)
	}
	return out
}

// fetchAll gives every stored offset, in order.
func (t *offsetTable) fetchAll(stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	if t == nil {
		return nil
	}
	var out []kmsg.OffsetFetchResponseGroupTopic
	for _, topic := range t.sortedTopics() {
		stored := t.sortedPartitions(topic)
		n := 0
		for _, p := range stored {
			if t.get(topic, p).stored {
				stored[n] = p
				n++
			}
		}
		if n > 0 {
			out = append(out, t.fetch(topic, stored[:n], stable))
		}
	}
	return out
}

// fetch gives the offsets of these partitions of a topic, -1 where there is none. Only if they are to be stable, those that an
// open transaction has an offset for have none.
func (t *offsetTable) fetch(topic string, partitions []int32, stable bool) kmsg.OffsetFetchResponseGroupTopic {
	out := kmsg.OffsetFetchResponseGroupTopic{
		Topic:      topic,
		Partitions: make([]kmsg.OffsetFetchResponseGroupTopicPartition, len(partitions)),
	}
	metadata := make([]string, len(partitions))
	for i, p := range partitions {
		out.Partitions[i] = kmsg.OffsetFetchResponseGroupTopicPartition{
			Partition: p, Offset: -1, LeaderEpoch: -1, Metadata: &metadata[i],
		}
		if t == nil {
			continue
		}
		switch e := t.get(topic, p); {
		case e != nil && stable && e.unstable > 0:
			out.Partitions[i].ErrorCode = int16(wire.UnstableOffsetCommit)
		case e != nil && e.stored:
			out.Partitions[i].Offset, out.Partitions[i].LeaderEpoch = e.value.offset, e.value.leaderEpoch
			metadata[i] = e.value.metadata
		}
	}
	return out
}

// groupTopics is what a request of version 1 to 7 asks for, in the words of version 8.
func groupTopics(req *kmsg.OffsetFetchRequest) []kmsg.OffsetFetchRequestGroupTopic {
	if req.Topics == nil && req.Version >= 2 {
		return nil
	}
	out := make([]kmsg.OffsetFetchRequestGroupTopic, len(req.Topics))
	for i := range req.Topics {
		out[i].Topic, out[i].Partitions = req.Topics[i].Topic, req.Topics[i].Partitions
	}
	return out
}

// singleGroupTopics is an answer of version 8 in the words of version 1 to 7.
func singleGroupTopics(topics []kmsg.OffsetFetchResponseGroupTopic) []kmsg.OffsetFetchResponseTopic {
	out := make([]kmsg.OffsetFetchResponseTopic, len(topics))
	for i := range topics {
		out[i].Topic = topics[i].Topic
		out[i].Partitions = make([]kmsg.OffsetFetchResponseTopicPartition, len(topics[i].Partitions))
		for j, p := range topics[i].Partitions {
			out[i].Partitions[j] = kmsg.OffsetFetchResponseTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			}
		}
	}
	return out
}

// fetchError turns every group down. Version 1 has room for the code at the partitions alone.
func fetchError(req *kmsg.OffsetFetchRequest, code wire.ErrorCode) *kmsg.OffsetFetchResponse {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.Version = req.Version
	if req.Version >= 8 {
		resp.Groups = make([]kmsg.OffsetFetchResponseGroup, len(req.Groups))
		for i := range req.Groups {
			resp.Groups[i].Group, resp.Groups[i].ErrorCode = req.Groups[i].Group, int16(code)
		}
		return resp
	}
	if req.Version >= 2 {
		resp.ErrorCode = int16(code)
		return resp
	}
	var none *offsetTable
	for _, t := range groupTopics(req) {
		topic := none.fetch(t.Topic, t.Partitions, false)
		for i := range topic.Partitions {
			topic.Partitions[i].ErrorCode = int16(code)
		}
		resp.Topics = append(resp.Topics, singleGroupTopics([]kmsg.OffsetFetchResponseGroupTopic{topic})...)
	}
	return resp
}
