package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func (a *app) groupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "group",
		Short:   "List, describe, reset and delete groups",
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.groupList(), a.groupDescribe(), a.groupReset(), a.groupDeleteOffsets(), a.groupDelete())
	return cmd
}

// listedGroup is a line of group list, as JSON.
type listedGroup struct {
	Group        string `json:"group"`
	State        string `json:"state"`
	Type         string `json:"type"`
	ProtocolType string `json:"protocolType"`
	Coordinator  int32  `json:"coordinator"`
}

func (a *app) groupList() *cobra.Command {
	return &cobra.Command{
		Use:               "list",
		Short:             "List groups",
		Aliases:           []string{"ls"},
		Example:           `  ringmill group list`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.admin(cmd.Context(), a.listGroups)
		},
	}
}

func (a *app) listGroups(ctx context.Context, admin *kadm.Client) error {
	listed, err := admin.ListGroups(ctx)
	if err != nil {
		return cause(err)
	}
	groups := []listedGroup{}
	for _, g := range listed.Sorted() {
		groups = append(groups, listedGroup{g.Group, g.State, g.GroupType, g.ProtocolType, g.Coordinator})
	}
	return a.print(groups, func(w io.Writer) {
		var rows [][]string
		for _, g := range groups {
			rows = append(rows, []string{g.Group, orDash(g.State), orDash(g.Type), orDash(g.ProtocolType), fmt.Sprint(g.Coordinator)})
		}
		table(w, []string{"GROUP", "STATE", "TYPE", "PROTOCOL", "COORDINATOR"}, rows)
	})
}

func (a *app) groupDescribe() *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME...",
		Short: "Show members, committed offsets and lag",
		Long: `Show a group's state, its members, and for each partition the committed offset, the end of the log and the distance
between them (the lag; from the start of the log where nothing is committed). Groups of the classic and the consumer protocol
(KIP-848) are shown, and share groups (KIP-932): of those the offset below which all records are done with, and everybody who
reads a partition.`,
		Example: `  ringmill group describe readers
  ringmill group describe readers -o json | jq '[.[].partitions[].lag] | add // 0'`,
		Args:              arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: a.completeGroups,
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				groups, err := describeGroups(ctx, admin, names)
				return errors.Join(a.print(groups, func(w io.Writer) { writeGroups(w, groups) }), err)
			})
		},
	}
}
