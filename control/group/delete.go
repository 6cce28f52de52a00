package group

import (
	"slices"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteGroups takes a DeleteGroups of version 0 to 2. A group is Dead from now until its tombstones are durable, and then
// gone; if they fail it is Empty again.
func (c *Coordinator) deleteGroups(h Handle, req *kmsg.DeleteGroupsRequest) {
	resp := kmsg.NewPtrDeleteGroupsResponse()
	resp.Version = req.Version
	a := &deleteGroupsAppend{handle: h, resp: resp}
	states := &stateDeletions{groups: a}
	for _, id := range distinct(req.Groups) {
		r := kmsg.NewDeleteGroupsResponseGroup()
		r.Group = id
		if code := c.checkDelete(id); code != wire.None {
			r.ErrorCode = int16(code)
		} else {
			g := c.groups[id]
			if g.share != nil {
				states.add(c, g)
			}
			c.startDeletion(&a.groupDeletions, g)
		}
		resp.Groups = append(resp.Groups, r)
	}
	if len(states.calls) > 0 {
		c.append(states.records, states)
		return
	}
	c.finishDeletion(a)
}

// finishDeletion writes the tombstones of what may be deleted.
func (c *Coordinator) finishDeletion(a *deleteGroupsAppend) {
	var records []wire.Record
	for _, g := range a.groups {
		if c.groups[g.id] == g { // not dropped since
			records = append(records, g.tombstones()...)
		}
	}
	if len(records) == 0 {
		c.reply(a.handle, a.resp)
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

// startDeletion makes an empty group Dead.
func (c *Coordinator) startDeletion(d *groupDeletions, g *group) {
	d.groups, d.since = append(d.groups, g), append(d.since, g.stateSince)
	for _, id := range sortedKeys(g.pending) {
		c.removePending(g, id)
	}
	g.transition(Dead, c.wall)
}

// tombstones are those of a Dead group's offsets, those under way too, and of itself.
func (g *group) tombstones() []wire.Record {
	records := make([]wire.Record, 0, g.offsets.entries+1)
	for _, topic := range g.offsets.sortedTopics() {
		for _, partition := range g.offsets.sortedPartitions(topic) {
			records = append(records, offsetTombstone(g.id, topic, partition))
		}
	}
	for _, w := range g.consumerWrites { // under way: they may fail, and these not
		for _, name := range w.names {
			if name.kind.namesMore() {
				g.unwritten.add(name)
			}
		}
	}
	switch {
	case g.share != nil:
		g.touchShareTombstones()
	case g.consumer != nil:
		g.touchGroupTombstones()
	default:
		return append(records, groupTombstone(g.id))
	}
	for _, name := range g.unwritten.order {
		records = append(records, g.consumerRecord(name))
	}
	return records
}

// finish removes the groups, or brings them back if their tombstones could not be written.
func (d *groupDeletions) finish(c *Coordinator, code wire.ErrorCode) {
	for i, g := range d.groups {
		switch {
		case c.groups[g.id] != g: // dropped since
		case code == wire.None:
			c.dropGroup(g, wire.GroupIDNotFound)
		default:
			g.transition(Empty, d.since[i])
		}
	}
}

// touchShareTombstones names the records of an empty share group, in the order in which Kafka deletes them.
func (g *group) touchShareTombstones() {
	before := g.unwritten.order
	g.unwritten = unwrittenRecords{}
	for _, name := range before {
		if name.kind.namesMore() { // tombstones of members come first
			g.unwritten.add(name)
		}
	}
	g.touch(recordShareTargetEpoch, "")
	if g.share.topics.written {
		g.touch(recordShareState, "")
	}
	g.touch(recordShareGroup, "")
}

// deleteGroupsAppend is the tombstones of one DeleteGroups.
type deleteGroupsAppend struct {
	groupDeletions
	handle Handle
	resp   *kmsg.DeleteGroupsResponse
}

// spare takes a group out of the deletion, which failed for it with code.
func (a *deleteGroupsAppend) spare(c *Coordinator, g *group, code wire.ErrorCode) {
	at := slices.Index(a.groups, g)
	one := groupDeletions{groups: a.groups[at : at+1 : at+1], since: a.since[at : at+1]}
	one.finish(c, code)
	a.groups, a.since = slices.Delete(a.groups, at, at+1), slices.Delete(a.since, at, at+1)
	for i := range a.resp.Groups {
		if a.resp.Groups[i].Group == g.id {
			a.resp.Groups[i].ErrorCode = int16(code)
		}
	}
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
