package group

import (
	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A share group is deleted in three steps, of which a restart between two can be made good by deleting it again: a record
// that its topics' states are being deleted; the deletion of those by the share coordinators; its tombstones.

// stateDeletions are the first two steps of the share groups of one DeleteGroups.
type stateDeletions struct {
	groups  *deleteGroupsAppend
	records []wire.Record
	calls   []*stateDeletion
	waiting int // calls without an answer
}

// stateDeletion is the call that deletes a group's states.
type stateDeletion struct {
	of    *stateDeletions
	group *group
	req   *kmsg.DeleteShareGroupStateRequest
}

// add begins the deletion of a share group's states, if it has any.
func (d *stateDeletions) add(c *Coordinator, g *group) {
	req := c.startStateDeletion(g)
	if req == nil {
		return
	}
	name := recordName{kind: recordShareState}
	d.records = append(d.records, wire.Record{Key: consumerKey(g.id, name), Value: g.shareValue(name)})
	d.calls = append(d.calls, &stateDeletion{of: d, group: g, req: req})
}

// startStateDeletion notes of all topics of a group that their states are being deleted; nil if there are none.
func (c *Coordinator) startStateDeletion(g *group) *kmsg.DeleteShareGroupStateRequest {
	topics := &g.share.topics
	doomed := topics.initializing.Union(topics.initialized)
	for _, id := range topics.deleting { // of a deletion before that did not succeed
		if t := c.topics.image.ByID(id); t != nil {
			doomed = doomed.Union(allPartitions(id, t.Partitions))
		}
	}
	if len(doomed) == 0 {
		return nil
	}
	for _, of := range doomed {
		topics.startDeleting(of.Topic)
	}
	topics.written = true
	return deleteStateRequest(g.id, doomed)
}

func allPartitions(topic wire.TopicID, count int32) assignor.Assignment {
	of := assignor.TopicPartitions{Topic: topic}
	for p := range count {
		of.Partitions = append(of.Partitions, p)
	}
	return assignor.Assignment{of}
}

func deleteStateRequest(group string, partitions assignor.Assignment) *kmsg.DeleteShareGroupStateRequest {
	req := kmsg.NewPtrDeleteShareGroupStateRequest()
	req.GroupID = group
	for _, of := range partitions {
		t := kmsg.NewDeleteShareGroupStateRequestTopic()
		t.TopicID = of.Topic
		for _, p := range of.Partitions {
			t.Partitions = append(t.Partitions, kmsg.DeleteShareGroupStateRequestTopicPartition{Partition: p})
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// appended goes on with the calls.
func (d *stateDeletions) appended(c *Coordinator, code wire.ErrorCode) {
	d.waiting = len(d.calls)
	for _, call := range d.calls {
		if code == wire.None {
			c.ask(call)
		} else {
			c.refuseCall(call, code)
		}
	}
}

func (s *stateDeletion) request() (string, kmsg.Request) { return s.req.GroupID, s.req }

// answered goes on with the tombstones once all groups' states are deleted, or are not.
func (s *stateDeletion) answered(c *Coordinator, resp kmsg.Response) {
	if code := firstStateError(resp.(*kmsg.DeleteShareGroupStateResponse)); code != wire.None {
		s.of.groups.spare(c, s.group, code)
	}
	if s.of.waiting--; s.of.waiting == 0 {
		c.finishDeletion(s.of.groups)
	}
}

func firstStateError(resp *kmsg.DeleteShareGroupStateResponse) wire.ErrorCode {
	for i := range resp.Topics {
		if code := topicStateError(&resp.Topics[i]); code != wire.None {
			return code
		}
	}
	return wire.None
}

func topicStateError(t *kmsg.DeleteShareGroupStateResponseTopic) wire.ErrorCode {
	for _, p := range t.Partitions {
		if p.ErrorCode != int16(wire.None) {
			return wire.ErrorCode(p.ErrorCode)
		}
	}
	return wire.None
}
