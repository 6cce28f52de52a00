package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ringmill/ringmill/node/config"
)

// completionTimeout is how long a shell may be kept waiting for a node: about as long as people press TAB once.
const completionTimeout = 2 * time.Second

// completeFlag offers the values of a flag, each with a description after a tab.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic("BUG: " + err.Error())
	}
}

// completeTopicConfigs offers the properties of topics, ready for their values.
func completeTopicConfigs(cmd *cobra.Command, flag string) {
	completeFlag(cmd, flag, propertyNames(func(p config.Property) bool { return p.In(config.TopicScope) })...)
}

func propertyNames(in func(config.Property) bool) []string {
	var names []string
	for _, p := range config.Properties() {
		if in(p) && !p.Internal {
			names = append(names, p.Name+"=\t"+p.Documentation())
		}
	}
	return names
}

// completeTopics asks the node for topics that are not on the line yet.
func (a *app) completeTopics(_ *cobra.Command, used []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.offer(used, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
		details, err := admin.ListTopics(ctx)
		return details.Names(), err
	})
}

// completeOneTopic is completeTopics for a command that takes a single topic.
func (a *app) completeOneTopic(cmd *cobra.Command, used []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(used) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeTopics(cmd, used, prefix)
}

// completeGroups asks the node for groups that are not on the line yet.
func (a *app) completeGroups(_ *cobra.Command, used []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.offer(used, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
		groups, err := admin.ListGroups(ctx)
		return groups.Groups(), err
	})
}

// completeBrokers asks for the nodes' ids.
func (a *app) completeBrokers(_ *cobra.Command, used []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.offer(used, func(ctx context.Context, admin *kadm.Client) (ids []string, err error) {
		brokers, err := admin.ListBrokers(ctx)
		for _, b := range brokers {
			ids = append(ids, strconv.Itoa(int(b.NodeID)))
		}
		return ids, err
	})
}

// completeOneBroker is completeBrokers for a command that takes a single node.
func (a *app) completeOneBroker(cmd *cobra.Command, used []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(used) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeBrokers(cmd, used, prefix)
}

// completeTxns asks for the transactional ids.
func (a *app) completeTxns(_ *cobra.Command, used []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.offer(used, func(ctx context.Context, admin *kadm.Client) ([]string, error) {
		txns, err := admin.ListTransactions(ctx, nil, nil)
		return txns.TransactionalIDs(), err
	})
}

// completeAsked has a flag completed by what the node answers.
func completeAsked(cmd *cobra.Command, flag string, ask cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, ask); err != nil {
		panic("BUG: " + err.Error())
	}
}

// completeOneGroup is completeGroups for a command that takes a single group.
func (a *app) completeOneGroup(cmd *cobra.Command, used []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(used) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeGroups(cmd, used, prefix)
}

// offer lists names from a node. Without one there is nothing to offer, and nothing to say either.
func (a *app) offer(used []string, list func(context.Context, *kadm.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	a.client.timeout = min(a.client.timeout, completionTimeout)
	var names []string
	err := a.admin(context.Background(), func(ctx context.Context, admin *kadm.Client) (err error) {
		names, err = list(ctx, admin)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(used, n) || strings.ContainsAny(n, "\t\n") })
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}
