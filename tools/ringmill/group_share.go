package main

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
)

// describeShare describes a share group (KIP-932), with where reading begins in each partition.
func describeShare(ctx context.Context, admin *kadm.Client, name string) (describedGroup, error) {
	answers, err := admin.DescribeShareGroups(ctx, name)
	if err != nil {
		return describedGroup{}, cause(err)
	}
	d := answers[name]
	if d.Err != nil {
		return describedGroup{}, d.Err
	}
	g := describedGroup{Group: name, State: d.GroupState, Type: shareGroupType, Assignor: d.Assignor, Coordinator: d.Coordinator.NodeID, Members: []groupMember{}}
	for _, m := range d.Members {
		assigned := []partition{}
		m.Assignment.Each(func(topic string, p int32) { assigned = append(assigned, partition{topic, p}) })
		g.Members = append(g.Members, groupMember{m.MemberID, "", m.ClientID, m.ClientHost, sortPartitions(assigned)})
	}
	return g, nil
}

// shareGroupType is the type of share groups, whose members share partitions.
const shareGroupType = "share"

// addShareOffsets fills Partitions: those that the group has a state of, and those that a member is assigned.
func (g *describedGroup) addShareOffsets(ctx context.Context, admin *kadm.Client) error {
	answers, err := admin.DescribeShareGroupOffsets(ctx, g.Group)
	if err != nil {
		return cause(err)
	}
	d := answers[g.Group]
	if d.Err != nil {
		return d.Err
	}
	rows := map[partition]*groupPartition{}
	for topic, offsets := range d.Offsets {
		for index, o := range offsets {
			p := partition{topic, index}
			rows[p] = &groupPartition{partition: p, CommittedOffset: o.StartOffset}
		}
	}
	g.addAssigned(rows)
	return g.addLag(ctx, admin, rows)
}

// addAssigned notes who reads which partition.
func (g *describedGroup) addAssigned(rows map[partition]*groupPartition) {
	for _, m := range g.Members {
		for _, p := range m.Assigned {
			if rows[p] == nil {
				rows[p] = &groupPartition{partition: p, CommittedOffset: -1}
			}
			r := rows[p]
			if r.MemberID == "" {
				r.MemberID = m.MemberID
			}
			if g.Type == shareGroupType {
				r.MemberIDs = append(r.MemberIDs, m.MemberID)
				slices.Sort(r.MemberIDs)
			}
		}
	}
}
