package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// groupResult is what became of one group, as JSON.
type groupResult struct {
	Group  string `json:"group"`
	Result string `json:"result"` // deleted
}

func (a *app) groupDelete() *cobra.Command {
	return &cobra.Command{
		Use:               "delete NAME...",
		Short:             "Delete groups without members, and their offsets",
		Example:           `  ringmill group delete readers`,
		Args:              arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: a.completeGroups,
		RunE: func(cmd *cobra.Command, names []string) error {
			return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				return a.deleteGroups(ctx, admin, names)
			})
		},
	}
}

func (a *app) deleteGroups(ctx context.Context, admin *kadm.Client, names []string) error {
	answers, err := admin.DeleteGroups(ctx, names...)
	if err != nil {
		return cause(err)
	}
	results, failures := []groupResult{}, []error(nil)
	for _, name := range names {
		if answer := answers[name]; answer.Err != nil {
			failures = append(failures, refused("group", name, answer.Err, answer.ErrMessage))
			continue
		}
		results = append(results, groupResult{name, "deleted"})
	}
	printed := a.print(results, func(w io.Writer) {
		for _, r := range results {
			fmt.Fprintf(w, "%s %s\n", r.Group, r.Result)
		}
	})
	return errors.Join(printed, errors.Join(failures...))
}

// deletedOffset is a partition whose offset is no more, as JSON.
type deletedOffset struct {
	partition
	Result string `json:"result"` // deleted, also where there was none
}

func (a *app) groupDeleteOffsets() *cobra.Command {
	var topics []string
	cmd := &cobra.Command{
		Use:   "delete-offsets NAME",
		Short: "Delete a group's offsets of topics that no member reads",
		Long: `Delete a group's offsets of topics that no member reads, or of some of their partitions. A share group must have no members,
and its offsets go with all that it knows of the topic's records, topic by topic.`,
		Example: `  ringmill group delete-offsets readers --topic logs
  ringmill group delete-offsets readers --topic logs:0,2 --topic events`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeOneGroup,
	}
	registerPartitions(a, cmd, &topics)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wanted, err := readPartitions(cmd, topics)
		if err != nil {
			return err
		}
		if len(wanted) == 0 {
			return wrongUse(cmd, "--topic is needed")
		}
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			return a.deleteOffsets(ctx, admin, args[0], wanted)
		})
	}
	return cmd
}

func (a *app) deleteOffsets(ctx context.Context, admin *kadm.Client, group string, wanted []topicPartitions) error {
	g, err := describeMembership(ctx, admin, group)
	if err != nil {
		return refused("group", group, err, "")
	}
	offsets := groupOffsets{group: group, share: g.Type == shareGroupType}
	remove := offsets.delete
	if offsets.share {
		if err := wholeTopics(group, wanted); err != nil {
			return err
		}
		remove = offsets.deleteShare
	}
	partitions, err := existingPartitions(ctx, admin, wanted)
	if err != nil {
		return err
	}
	deleted, failure := remove(ctx, admin, partitions)
	if deleted == nil {
		return failure
	}
	printed := a.print(deleted, func(w io.Writer) {
		for _, d := range deleted {
			fmt.Fprintf(w, "%s %s\n", partitionName(d.partition), d.Result)
		}
	})
	return errors.Join(printed, failure)
}

// wholeTopics refuses to take a share group's offsets away partition by partition: DeleteShareGroupOffsets names topics alone.
func wholeTopics(group string, wanted []topicPartitions) error {
	for _, w := range wanted {
		if w.partitions != nil {
			return fmt.Errorf("group %s is a share group: its offsets go topic by topic, with --topic %s", group, w.topic)
		}
	}
	return nil
}
