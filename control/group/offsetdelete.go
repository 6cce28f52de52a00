package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetDelete takes an OffsetDelete (KIP-496). Offsets of topics that the group's members read cannot be deleted.
func (c *Coordinator) offsetDelete(h Handle, req *kmsg.OffsetDeleteRequest) {
	g, code := c.checkOffsetDelete(req)
	if code != wire.None {
		c.reply(h, deleteError(req, code))
		return
	}
	resp := deleteResponse(req)
	w := &deleteAppend{offsetWrites: offsetWrites{group: g}, handle: h, resp: resp}
	for i := range req.Topics {
		topic, subscribed := &req.Topics[i], g.isSubscribed(req.Topics[i].Topic)
		for j := range topic.Partitions {
			partition := topic.Partitions[j].Partition
			switch {
			case subscribed:
				resp.Topics[i].Partitions[j].ErrorCode = int16(wire.GroupSubscribedToTopic)
			case g.offsets.get(topic.Topic, partition) != nil:
				w.writes = append(w.writes, offsetWrite{topic: topic.Topic, partition: partition, remove: true})
			}
		}
	}
	if len(w.writes) == 0 {
		c.reply(h, resp)
		return
	}
	w.id = c.append(w.tombstones(), w)
	w.begin(c)
}

func (c *Coordinator) checkOffsetDelete(req *kmsg.OffsetDeleteRequest) (*group, wire.ErrorCode) {
	if req.Group == "" {
		return nil, wire.InvalidGroupID
	}
	g := c.groups[req.Group]
	switch {
	case g == nil || g.state == Dead || g.share != nil:
		return nil, wire.GroupIDNotFound
	case g.state != Empty && !g.isConsumer():
		return nil, wire.NonEmptyGroup
	case !c.mayAppend():
		return nil, wire.CoordinatorLoadInProgress
	}
	return g, wire.None
}

// tombstones are the records of writes that remove.
func (w *offsetWrites) tombstones() []wire.Record {
	records := make([]wire.Record, len(w.writes))
	for i := range w.writes {
		records[i] = offsetTombstone(w.group.id, w.writes[i].topic, w.writes[i].partition)
	}
	return records
}

// deleteAppend is the tombstones of one OffsetDelete.
type deleteAppend struct {
	offsetWrites
	handle Handle
	resp   *kmsg.OffsetDeleteResponse
}

func (a *deleteAppend) appended(c *Coordinator, code wire.ErrorCode) {
	a.finish(c, code)
	if code != wire.None {
		a.resp.ErrorCode, a.resp.Topics = int16(code), nil
	}
	c.reply(a.handle, a.resp)
}

func deleteResponse(req *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	for i := range req.Topics {
		from, to := &req.Topics[i], &resp.Topics[i]
		to.Topic = from.Topic
		to.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			to.Partitions[j].Partition = from.Partitions[j].Partition
		}
	}
	return resp
}

func deleteError(req *kmsg.OffsetDeleteRequest, code wire.ErrorCode) *kmsg.OffsetDeleteResponse {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Version, resp.ErrorCode = req.Version, int16(code)
	return resp
}
