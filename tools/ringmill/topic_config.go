package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicConfig is config describe, set and delete of one topic in a command.
func (a *app) topicConfig() *cobra.Command {
	var deleted []string
	var all, dryRun bool
	cmd := &cobra.Command{
		Use:   "config NAME [PROPERTY=VALUE...]",
		Short: "Show a topic's configuration, or change it",
		Example: `  ringmill topic config logs
  ringmill topic config logs retention.ms=86400000 --delete segment.ms
  ringmill topic config logs --all`,
		Args: arguments(cobra.MinimumNArgs(1)),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&deleted, "delete", nil, "a `property` to take away; may be repeated")
	flags.BoolVar(&all, "all", false, "show what is not set on the topic itself too")
	registerDryRun(cmd, &dryRun)
	properties := entity{kind: kmsg.ConfigResourceTypeTopic}
	completeAsked(cmd, "delete", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return propertiesFor(properties, nil, ""), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.ValidArgsFunction = func(cmd *cobra.Command, used []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(used) == 0 {
			return a.completeTopics(cmd, used, prefix)
		}
		return propertiesFor(properties, used[1:], "="), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		topic := entity{kmsg.ConfigResourceTypeTopic, args[0]}
		changes, err := assignments(cmd, args[1:])
		if err != nil {
			return err
		}
		if changes = slices.Concat(changes, removals(deleted)); len(changes) > 0 {
			return a.alterConfig(cmd.Context(), topic, changes, dryRun)
		}
		return a.requests(cmd.Context(), func(ctx context.Context, client *kgo.Client) error {
			return a.describeConfig(ctx, client, topic, nil, all)
		})
	}
	return cmd
}
