package protocol

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func (c *conn) describeGroup(version int16, group string) kmsg.DescribeGroupsResponseGroup {
	c.t.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	return ask[*kmsg.DescribeGroupsResponse](c, version, req).Groups[0]
}

func TestDescribeGroups(t *testing.T) {
	t.Parallel()
	c, group := groupConn(t)
	for version := int16(0); version <= 6; version++ {
		unknown := c.describeGroup(version, group+"-unknown")
		wantErr := kerr.GroupIDNotFound
		if version < 6 {
			wantErr = nil
		}
		wantCode(t, "unknown group", unknown.ErrorCode, wantErr)
		want(t, "state of an unknown group", unknown.State, "Dead")
	}
	member, _ := c.joinAlone(group, 5, nil)
	for version := int16(0); version <= 6; version++ {
		g := c.describeGroup(version, group)
		wantCode(t, "stable group", g.ErrorCode, nil)
		want(t, "state", g.State, "Stable")
		want(t, "protocol type", g.ProtocolType, "consumer")
		want(t, "protocol", g.Protocol, "range")
		if len(g.Members) != 1 || g.Members[0].MemberID != member || string(g.Members[0].MemberAssignment) != "assigned" ||
			!bytes.Equal(g.Members[0].ProtocolMetadata, subscription()) || g.Members[0].ClientID != "protocol-test" {
			t.Errorf("v%d: members %+v", version, g.Members)
		}
	}
	c.leave(group, member)
	want(t, "state after leaving", c.describeGroup(5, group).State, "Empty")
}

func TestListGroups(t *testing.T) {
	t.Parallel()
	c, group := groupConn(t)
	member, _ := c.joinAlone(group, 5, nil)
	listed := func(version int16, states, types []string) (kmsg.ListGroupsResponseGroup, bool) {
		req := kmsg.NewPtrListGroupsRequest()
		req.StatesFilter, req.TypesFilter = states, types
		for _, g := range ask[*kmsg.ListGroupsResponse](c, version, req).Groups {
			if g.Group == group {
				return g, true
			}
		}
		return kmsg.ListGroupsResponseGroup{}, false
	}
	for version := int16(0); version <= 5; version++ {
		g, ok := listed(version, nil, nil)
		want(t, "listed", ok, true)
		want(t, "protocol type", g.ProtocolType, "consumer")
		if version >= 4 {
			want(t, "state", g.GroupState, "Stable")
		}
		if version >= 5 {
			want(t, "type", g.GroupType, "classic")
		}
	}
	_, ok := listed(5, []string{"Empty"}, nil)
	want(t, "listed as Empty", ok, false)
	_, ok = listed(5, []string{"Stable"}, []string{"classic"})
	want(t, "listed as Stable and classic", ok, true)
	_, ok = listed(5, nil, []string{"consumer"})
	want(t, "listed as a KIP-848 group", ok, false)
	c.leave(group, member)
}

func (c *conn) deleteGroup(group string) int16 {
	c.t.Helper()
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	return ask[*kmsg.DeleteGroupsResponse](c, 2, req).Groups[0].ErrorCode
}

func TestDeleteGroups(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	_, group := groupConn(t)
	wantCode(t, "unknown", c.deleteGroup(group), kerr.GroupIDNotFound)
	wantCode(t, "commit", c.commit(group, "", -1, topic, 0, 1, ""), nil)
	wantCode(t, "with offsets", c.deleteGroup(group), nil)
	want(t, "offsets after", len(c.committed(group)), 0)
	wantCode(t, "twice", c.deleteGroup(group), kerr.GroupIDNotFound)
}

// What a group committed outlives the node, and a deleted group stays deleted: redpanda-data/redpanda#4900.
func TestGroupsOutliveKill(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	topic, kept, gone := node.CreateTopic(t, "outlive", 1), "kept", "gone"
	c := dial(t, node)
	c.findCoordinator(kept)
	c.findCoordinator(gone)
	wantCode(t, "commit", c.commit(kept, "", -1, topic, 0, 5, "kept note"), nil)
	wantCode(t, "commit", c.commit(gone, "", -1, topic, 0, 6, ""), nil)
	wantCode(t, "delete", c.deleteGroup(gone), nil)
	node.Kill(t)
	node.Restart(t)
	c = dial(t, node)
	c.findCoordinator(kept)
	c.findCoordinator(gone)
	all := c.committed(kept)
	if len(all) != 1 || all[0].Partitions[0].Offset != 5 || text(all[0].Partitions[0].Metadata) != "kept note" {
		t.Errorf("committed after the restart: %+v", all)
	}
	want(t, "offsets of the deleted group", len(c.committed(gone)), 0)
	want(t, "state of the deleted group", c.describeGroup(5, gone).State, "Dead")
}
