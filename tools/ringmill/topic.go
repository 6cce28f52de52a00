package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ringmill/ringmill/wire"
)

func (a *app) topicCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "topic",
		Short:   "Create, list, describe, configure and delete topics, and elect leaders",
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.topicCreate(), a.topicList(), a.topicDescribe(), a.topicConfig(), a.topicElect(), a.topicDelete())
	return cmd
}

// topicResult is what became of one topic, as JSON.
type topicResult struct {
	Topic  string `json:"topic"`
	Result string `json:"result"` // created, exists, deleted, absent
	ID     string `json:"id,omitempty"`
}

// idText writes a topic id as Kafka's own tools do.
func idText(id kadm.TopicID) string { return wire.TopicID(id).String() }

func (a *app) printTopicResults(results []topicResult) error {
	return a.print(results, func(w io.Writer) {
		for _, r := range results {
			fmt.Fprintf(w, "%s %s\n", r.Topic, r.Result)
		}
	})
}

type topicCreateFlags struct {
	partitions  int32
	replication int16
	configs     []string
	ifNotExists bool
}

func (a *app) topicCreate() *cobra.Command {
	var f topicCreateFlags
	cmd := &cobra.Command{
		Use:   "create NAME...",
		Short: "Create topics",
		Example: `  ringmill topic create logs
  ringmill topic create logs -p 12 -c retention.ms=86400000 -c ringmill.flush.policy=interval
  ringmill topic create logs --if-not-exists`,
		Args:              arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.Int32VarP(&f.partitions, "partitions", "p", -1, "number of partitions; -1 for the node's num.partitions")
	flags.Int16VarP(&f.replication, "replicas", "r", -1, "replicas of each partition; -1 for the node's default.replication.factor")
	flags.StringArrayVarP(&f.configs, "config", "c", nil, "a property of the topic, as name=value; may be repeated")
	flags.BoolVar(&f.ifNotExists, "if-not-exists", false, "a topic that exists is no error")
	completeTopicConfigs(cmd, "config")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		configs, err := keyValues(cmd, "config", f.configs)
		if err != nil {
			return err
		}
		if f.partitions == 0 || f.partitions < -1 {
			return wrongUse(cmd, "--partitions %d: must be 1 or more, or -1", f.partitions)
		}
		if f.replication == 0 || f.replication < -1 {
			return wrongUse(cmd, "--replicas %d: must be 1 or more, or -1", f.replication)
		}
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			return a.createTopics(ctx, admin, names, f, configs)
		})
	}
	return cmd
}

// keyValues reads repeated name=value flags.
func keyValues(cmd *cobra.Command, flag string, pairs []string) (map[string]*string, error) {
	m := make(map[string]*string)
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, wrongUse(cmd, "--%s %q: must be name=value", flag, pair)
		}
		m[key] = &value
	}
	return m, nil
}

func (a *app) createTopics(ctx context.Context, admin *kadm.Client, names []string, f topicCreateFlags, configs map[string]*string) error {
	answers, err := admin.CreateTopics(ctx, f.partitions, f.replication, configs, names...)
	if err != nil {
		return cause(err)
	}
	var results []topicResult
	var failures []error
	for _, name := range names {
		switch answer := answers[name]; {
		case answer.Err == nil:
			results = append(results, topicResult{name, "created", idText(answer.ID)})
		case f.ifNotExists && errors.Is(answer.Err, kerr.TopicAlreadyExists):
			results = append(results, topicResult{Topic: name, Result: "exists"})
		default:
			failures = append(failures, refused("topic", name, answer.Err, answer.ErrMessage))
		}
	}
	return errors.Join(a.printTopicResults(results), errors.Join(failures...))
}

func (a *app) topicDelete() *cobra.Command {
	var ifExists bool
	cmd := &cobra.Command{
		Use:               "delete NAME...",
		Short:             "Delete topics and all their records",
		Example:           `  ringmill topic delete logs`,
		Args:              arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: a.completeTopics,
	}
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "a topic that does not exist is no error")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			return a.deleteTopics(ctx, admin, names, ifExists)
		})
	}
	return cmd
}

func (a *app) deleteTopics(ctx context.Context, admin *kadm.Client, names []string, ifExists bool) error {
	answers, err := admin.DeleteTopics(ctx, names...)
	if err != nil {
		return cause(err)
	}
	var results []topicResult
	var failures []error
	for _, name := range names {
		switch answer := answers[name]; {
		case answer.Err == nil:
			results = append(results, topicResult{Topic: name, Result: "deleted"})
		case ifExists && errors.Is(answer.Err, kerr.UnknownTopicOrPartition):
			results = append(results, topicResult{Topic: name, Result: "absent"})
		default:
			failures = append(failures, refused("topic", name, answer.Err, answer.ErrMessage))
		}
	}
	return errors.Join(a.printTopicResults(results), errors.Join(failures...))
}

func (a *app) topicList() *cobra.Command {
	var internal bool
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List topics",
		Aliases:           []string{"ls"},
		Example:           `  ringmill topic list --internal`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&internal, "internal", false, "with the nodes' own topics, such as __consumer_offsets")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			return a.listTopics(ctx, admin, internal)
		})
	}
	return cmd
}

// listedTopic is a line of topic list, as JSON.
type listedTopic struct {
	Topic      string `json:"topic"`
	ID         string `json:"id"`
	Partitions int    `json:"partitions"`
	Replicas   int    `json:"replicas"`
	Internal   bool   `json:"internal"`
}

func (a *app) listTopics(ctx context.Context, admin *kadm.Client, internal bool) error {
	details, err := admin.ListTopicsWithInternal(ctx)
	if err != nil {
		return cause(err)
	}
	topics := []listedTopic{}
	for _, d := range details.Sorted() {
		if !d.IsInternal || internal {
			topics = append(topics, listedTopic{d.Topic, idText(d.ID), len(d.Partitions), d.Partitions.NumReplicas(), d.IsInternal})
		}
	}
	return a.print(topics, func(w io.Writer) {
		var rows [][]string
		for _, t := range topics {
			rows = append(rows, []string{t.Topic, fmt.Sprint(t.Partitions), fmt.Sprint(t.Replicas)})
		}
		table(w, []string{"TOPIC", "PARTITIONS", "REPLICAS"}, rows)
	})
}
