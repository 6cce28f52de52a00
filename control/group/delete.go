package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteGroups takes a DeleteGroups of version 0 to 2. A group is Dead from now until its tombstones are durable, and then
// gone; if they fail it is Empty again.
func (c *Coordinator) deleteGroups(h Handle, req *kmsg.DeleteGroupsRequest) {
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Version = req.Version
	a := &deleteGroupsAppend{handle: h, resp: resp}
	var records []wire.Record
	for _, id := range distinct(req.Groups) {
		r := kmsg.NewDeleteGroupsResponseGroup()
		r.Group = id
		if code := c.checkDelete(id); code != wire.None {
			r.ErrorCode = int16(code)
		} else {
			records = append(records, c.startDeletion(&a.groupDeletions, c.groups[id])...)
		}
		resp.Groups = append(resp.Groups, r)
	}
	if len(records) == 0 {
		c.reply(h, resp)
		return
	}
	c.append(records, a)
}

func (c *Coordinator) checkDelete(id string) wire.ErrorCode {
	g := c.groups[id]
	switch {
	case g == nil || g.state == Dead:
		return wire.GroupIDNotFound
	case g.state != Empty:
		return wire.NonEmptyGroup
	case !c.mayAppend():
		return wire.CoordinatorLoadInProgress
	}
	return wire.None
}

// groupDeletions are the groups that an append deletes, with what they were.
type groupDeletions struct {
	groups []*group
	since  []wire.Timestamp
}

// startDeletion makes an empty group Dead and gives the tombstones of its offsets, those under way too, and of itself.
func (c *Coordinator) startDeletion(d *groupDeletions, g *group) []wire.Record {
	d.groups, d.since = append(d.groups, g), append(d.since, g.stateSince)
	for _, id := range sortedKeys(g.pending) {
		c.removePending(g, id)
	}
	g.transition(Dead, c.wall)
	records := make([]wire.Record, 0, g.offsets.entries+1)
	for _, topic := range g.offsets.sortedTopics() {
		for _, partition := range g.offsets.sortedPartitions(topic) {
			records = append(records, offsetTombstone(g.id, topic, partition))
		}
	}
	if g.consumer == nil {
		return append(records, groupTombstone(g.id))
	}
	g.touchGroupTombstones()
	for _, name := range g.unwritten.order {
		records = append(records, g.consumerRecord(name))
	}
	return records
}

// finish removes the groups, or brings them back if their tombstones could not be written.
func (d *groupDeletions) finish(c *Coordinator, code wire.ErrorCode) {
	for i, g := range d.groups {
		switch {
		case c.groups[g.id] != g: // unloaded since
		case code == wire.None:
			c.dropGroup(g, wire.GroupIDNotFound)
		default:
			g.transition(Empty, d.since[i])
		}
	}
}

// deleteGroupsAppend is the tombstones of one DeleteGroups.
type deleteGroupsAppend struct {
	groupDeletions
	handle Handle
	resp   *kmsg.DeleteGroupsResponse
}

func (a *deleteGroupsAppend) appended(c *Coordinator, code wire.ErrorCode) {
	a.finish(c, code)
	if code != wire.None {
		for i := range a.resp.Groups {
			a.resp.Groups[i].ErrorCode = int16(code)
		}
	}
	c.reply(a.handle, a.resp)
}
