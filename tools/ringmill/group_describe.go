package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// describedGroup is one group of group describe, as JSON.
type describedGroup struct {
	Group       string           `json:"group"`
	State       string           `json:"state"`
	Type        string           `json:"type"` // classic, consumer or share
	Assignor    string           `json:"assignor"`
	Coordinator int32            `json:"coordinator"`
	Members     []groupMember    `json:"members"`
	Partitions  []groupPartition `json:"partitions"`
}

type groupMember struct {
	MemberID   string      `json:"memberId"`
	InstanceID string      `json:"instanceId,omitempty"`
	ClientID   string      `json:"clientId"`
	Host       string      `json:"host"`
	Assigned   []partition `json:"assigned"`
}

type partition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// groupPartition is a partition that the group reads or has an offset of.
type groupPartition struct {
	partition
	CommittedOffset int64    `json:"committedOffset"` // -1: none; of a share group: all before it is done with
	StartOffset     int64    `json:"startOffset"`     // -1: unknown
	EndOffset       int64    `json:"endOffset"`       // -1: unknown
	Lag             int64    `json:"lag"`             // -1: unknown; from the start where nothing is committed, but of a share group
	MemberID        string   `json:"memberId,omitempty"`
	MemberIDs       []string `json:"memberIds,omitempty"` // of a share group, in which several may read a partition
	Metadata        string   `json:"metadata,omitempty"`
}

// describeGroups gathers what is known of each group. An error about some of them comes with the rest.
func describeGroups(ctx context.Context, admin *kadm.Client, names []string) ([]describedGroup, error) {
	groups, failures := []describedGroup{}, []error(nil)
	for _, name := range names {
		g, err := describeGroup(ctx, admin, name)
		if err != nil {
			failures = append(failures, refused("group", name, err, ""))
			continue
		}
		groups = append(groups, g)
	}
	return groups, errors.Join(failures...)
}

func describeGroup(ctx context.Context, admin *kadm.Client, name string) (describedGroup, error) {
	g, err := describeMembership(ctx, admin, name)
	if err != nil {
		return g, err
	}
	if g.Type == shareGroupType {
		return g, g.addShareOffsets(ctx, admin)
	}
	return g, g.addOffsets(ctx, admin)
}

// errNoGroup is the answer for a group that there is not.
var errNoGroup = kerr.GroupIDNotFound

// describeMembership describes a group of any protocol, without its offsets.
func describeMembership(ctx context.Context, admin *kadm.Client, name string) (describedGroup, error) {
	g, err := describeClassic(ctx, admin, name)
	if !errors.Is(err, errNoGroup) {
		return g, err
	}
	for _, describe := range []func(context.Context, *kadm.Client, string) (describedGroup, error){describeConsumer, describeShare} {
		if other, otherErr := describe(ctx, admin, name); otherErr == nil {
			return other, nil
		}
	}
	return g, err
}

// describeClassic describes a group of the classic protocol. Before DescribeGroups v6 (KIP-1043) an unknown group is
// answered as one that is dead.
func describeClassic(ctx context.Context, admin *kadm.Client, name string) (describedGroup, error) {
	answers, err := admin.DescribeGroups(ctx, name)
	if err != nil {
		return describedGroup{}, cause(err)
	}
	d := answers[name]
	switch {
	case d.Err != nil:
		return describedGroup{}, d.Err
	case d.State == "Dead":
		return describedGroup{}, kerr.GroupIDNotFound
	}
	g := describedGroup{Group: name, State: d.State, Type: "classic", Assignor: d.Protocol, Coordinator: d.Coordinator.NodeID, Members: []groupMember{}}
	for _, m := range d.Members {
		assigned := []partition{}
		if a, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range a.Topics {
				for _, p := range t.Partitions {
					assigned = append(assigned, partition{t.Topic, p})
				}
			}
		}
		g.Members = append(g.Members, groupMember{m.MemberID, orNone(m.InstanceID), m.ClientID, m.ClientHost, sortPartitions(assigned)})
	}
	return g, nil
}

// describeConsumer describes a group of the consumer protocol (KIP-848).
func describeConsumer(ctx context.Context, admin *kadm.Client, name string) (describedGroup, error) {
	answers, err := admin.DescribeConsumerGroups(ctx, name)
	if err != nil {
		return describedGroup{}, cause(err)
	}
	d := answers[name]
	if d.Err != nil {
		return describedGroup{}, d.Err
	}
	g := describedGroup{Group: name, State: d.State, Type: "consumer", Assignor: d.AssignorName, Coordinator: d.Coordinator.NodeID, Members: []groupMember{}}
	for _, m := range d.Members {
		assigned := []partition{}
		m.Assignment.Each(func(topic string, p int32) { assigned = append(assigned, partition{topic, p}) })
		g.Members = append(g.Members, groupMember{m.MemberID, orNone(m.InstanceID), m.ClientID, m.ClientHost, sortPartitions(assigned)})
	}
	return g, nil
}

func orNone(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func sortPartitions(ps []partition) []partition {
	slices.SortFunc(ps, comparePartitions)
	return ps
}

func comparePartitions(a, b partition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// addOffsets fills Partitions: those with a committed offset, and those that a member is assigned.
func (g *describedGroup) addOffsets(ctx context.Context, admin *kadm.Client) error {
	committed, err := admin.FetchOffsets(ctx, g.Group)
	if err != nil {
		return cause(err)
	}
	rows := make(map[partition]*groupPartition)
	at := func(p partition) *groupPartition {
		if rows[p] == nil {
			rows[p] = &groupPartition{partition: p, CommittedOffset: -1}
		}
		return rows[p]
	}
	committed.Each(func(o kadm.OffsetResponse) {
		r := at(partition{o.Topic, o.Partition})
		r.CommittedOffset, r.Metadata = o.At, o.Metadata
	})
	g.addAssigned(rows)
	return g.addLag(ctx, admin, rows)
}

func (g *describedGroup) addLag(ctx context.Context, admin *kadm.Client, rows map[partition]*groupPartition) error {
	g.Partitions = []groupPartition{}
	if len(rows) == 0 {
		return nil
	}
	var topics []string
	for p := range rows {
		topics = append(topics, p.Topic)
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	starts, err := answered(admin.ListStartOffsets(ctx, topics...))
	if err != nil {
		return err
	}
	ends, err := answered(admin.ListEndOffsets(ctx, topics...))
	if err != nil {
		return err
	}
	for _, r := range rows {
		r.StartOffset, r.EndOffset = offsetOf(starts, r.Topic, r.Partition), offsetOf(ends, r.Topic, r.Partition)
		r.Lag = lag(r)
		if g.Type == shareGroupType && r.CommittedOffset < 0 {
			r.Lag = -1 // where it begins is for share.auto.offset.reset to say
		}
		g.Partitions = append(g.Partitions, *r)
	}
	slices.SortFunc(g.Partitions, func(a, b groupPartition) int { return comparePartitions(a.partition, b.partition) })
	return nil
}

// lag is how many records the group has yet to read.
func lag(p *groupPartition) int64 {
	from := max(p.CommittedOffset, p.StartOffset)
	if p.EndOffset < 0 || from < 0 {
		return -1
	}
	return max(p.EndOffset-from, 0)
}

func writeGroups(w io.Writer, groups []describedGroup) {
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "group %s, %s, %s protocol, assignor %s, coordinator %d\n\n", g.Group, g.State, g.Type, orDash(g.Assignor), g.Coordinator)
		writeMembers(w, g.Members)
		fmt.Fprintln(w)
		writeLags(w, g)
	}
}

func writeMembers(w io.Writer, members []groupMember) {
	if len(members) == 0 {
		fmt.Fprintln(w, "no members")
		return
	}
	var rows [][]string
	for _, m := range members {
		rows = append(rows, []string{m.MemberID, orDash(m.InstanceID), orDash(m.ClientID), m.Host, fmt.Sprint(len(m.Assigned))})
	}
	table(w, []string{"MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS"}, rows)
}

func writeLags(w io.Writer, g describedGroup) {
	if len(g.Partitions) == 0 {
		fmt.Fprintln(w, "no offsets")
		return
	}
	headings := []string{"TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER"}
	if g.Type == shareGroupType {
		headings[2], headings[5] = "DONE-BELOW", "MEMBERS"
	}
	var rows [][]string
	for _, p := range g.Partitions {
		rows = append(rows, []string{p.Topic, fmt.Sprint(p.Partition), known(p.CommittedOffset), known(p.EndOffset), known(p.Lag), p.readers()})
	}
	table(w, headings, rows)
}

// readers are those who read the partition.
func (p *groupPartition) readers() string {
	if len(p.MemberIDs) > 0 {
		return strings.Join(p.MemberIDs, ",")
	}
	return orDash(p.MemberID)
}

// known writes a number of which -1 means that there is none.
func known(n int64) string {
	if n < 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
