package group

import (
	"fmt"
	"strings"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// classicType is how ListGroups names groups of this protocol (KIP-848).
const classicType = "classic"

// describeGroups takes a DescribeGroups of version 0 to 6.
func (c *Coordinator) describeGroups(h Handle, req *kmsg.DescribeGroupsRequest) {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	resp.Version = req.Version
	for _, id := range distinct(req.Groups) {
		switch g := c.groups[id]; {
		case g == nil || !g.durable:
			resp.Groups = append(resp.Groups, describeUnknown(id, req.Version, "Group %s not found."))
		case g.consumer != nil || g.share != nil:
			resp.Groups = append(resp.Groups, describeUnknown(id, req.Version, "Group %s is not a classic group."))
		default:
			resp.Groups = append(resp.Groups, g.describe())
		}
	}
	c.reply(h, resp)
}

// distinct leaves out the groups that are named again, so that a small request cannot ask for a large group many times.
func distinct(ids []string) []string {
	seen := make(map[string]struct{}, len(ids))
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		if _, again := seen[id]; !again {
			seen[id] = struct{}{}
			out = append(out, id)
		}
	}
	return out
}

// describeUnknown: a group that is not there, or is none of this protocol, is Dead, and from version 6 on an error too (KIP-1043).
func describeUnknown(id string, version int16, why string) kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group, r.State = id, Dead.String()
	if version >= 6 {
		message := fmt.Sprintf(why, id)
		r.ErrorCode, r.ErrorMessage = int16(wire.GroupIDNotFound), &message
	}
	return r
}

// describe tells of the group and its members. Their metadata is that of the chosen protocol, told while the group is
// stable.
func (g *group) describe() kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group, r.State, r.ProtocolType = g.id, g.state.String(), g.protocolType
	if g.state == Stable {
		r.Protocol = *g.protocol
	}
	r.Members = make([]kmsg.DescribeGroupsResponseGroupMember, 0, len(g.members))
	for m := g.first; m != nil; m = m.next {
		d := kmsg.NewDescribeGroupsResponseGroupMember()
		d.MemberID, d.InstanceID, d.ClientID, d.ClientHost = m.id, m.instanceID, m.client.ID, m.client.Host
		d.MemberAssignment = m.assignment
		if g.state == Stable {
			d.ProtocolMetadata = m.metadata(r.Protocol)
		}
		r.Members = append(r.Members, d)
	}
	return r
}

// listGroups takes a ListGroups of version 0 to 5.
func (c *Coordinator) listGroups(h Handle, req *kmsg.ListGroupsRequest) {
	resp := kmsg.NewPtrListGroupsResponse()
	resp.Version = req.Version
	for _, id := range c.sortedGroupIDs() {
		if g := c.groups[id]; g.durable && listsType(req.TypesFilter, g.typeName()) && listsState(req.StatesFilter, g.state) {
			resp.Groups = append(resp.Groups, g.listed())
		}
	}
	c.reply(h, resp)
}

// typeName is how ListGroups names the group's protocol.
func (g *group) typeName() string {
	switch {
	case g.consumer != nil:
		return consumerType
	case g.share != nil:
		return shareType
	}
	return classicType
}

func (g *group) listed() kmsg.ListGroupsResponseGroup {
	r := kmsg.NewListGroupsResponseGroup()
	r.Group, r.ProtocolType, r.GroupState, r.GroupType = g.id, g.protocolType, g.state.String(), g.typeName()
	return r
}

// listsState: states are compared without case and blanks (KIP-518).
func listsState(filter []string, s State) bool {
	for _, name := range filter {
		if strings.EqualFold(strings.TrimSpace(name), s.String()) {
			return true
		}
	}
	return len(filter) == 0
}

func listsType(filter []string, kind string) bool {
	for _, name := range filter {
		if strings.EqualFold(name, kind) {
			return true
		}
	}
	return len(filter) == 0
}

func (c *Coordinator) sortedGroupIDs() []string { return sortedKeys(c.groups) }
