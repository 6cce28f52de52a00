package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (a *app) topicDescribe() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "describe NAME...",
		Short: "Show partitions, leaders, in-sync replicas, offsets and configuration",
		Long: `Show each partition's leader, replicas, in-sync replicas and offsets, and the properties that are set on the topic or
its node. With --all the defaults are shown too.`,
		Example: `  ringmill topic describe logs
  ringmill topic describe logs -o json | jq '.[].partitions[] | .endOffset - .startOffset'`,
		Args:              arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: a.completeTopics,
	}
	cmd.Flags().BoolVar(&all, "all", false, "with the properties that have their default")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			topics, err := describeTopics(ctx, admin, names, all)
			return errors.Join(a.print(topics, func(w io.Writer) { writeTopics(w, topics) }), err)
		})
	}
	return cmd
}

// describedTopic is one topic of topic describe, as JSON.
type describedTopic struct {
	Topic      string               `json:"topic"`
	ID         string               `json:"id"`
	Internal   bool                 `json:"internal"`
	Partitions []describedPartition `json:"partitions"`
	Configs    []describedConfig    `json:"configs"`
}

type describedPartition struct {
	Partition       int32   `json:"partition"`
	Leader          int32   `json:"leader"` // -1: none
	LeaderEpoch     int32   `json:"leaderEpoch"`
	Replicas        []int32 `json:"replicas"`
	InSyncReplicas  []int32 `json:"isr"`
	OfflineReplicas []int32 `json:"offlineReplicas"`
	StartOffset     int64   `json:"startOffset"` // -1: unknown
	EndOffset       int64   `json:"endOffset"`
}

type describedConfig struct {
	Name   string  `json:"name"`
	Value  *string `json:"value"`
	Source string  `json:"source"`
}

// describeTopics gathers what is known of each topic. An error about some of them comes with the rest.
func describeTopics(ctx context.Context, admin *kadm.Client, names []string, all bool) ([]describedTopic, error) {
	details, err := admin.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, cause(err)
	}
	starts, _ := admin.ListStartOffsets(ctx, names...) // a partition whose leader does not answer is without, and the others are not
	ends, _ := admin.ListEndOffsets(ctx, names...)
	topics, failures := []describedTopic{}, []error(nil)
	var found []string
	for _, name := range names {
		d := details[name]
		if d.Err != nil {
			failures = append(failures, refused("topic", name, d.Err, ""))
			continue
		}
		found = append(found, name)
		topics = append(topics, describedTopic{Topic: name, ID: idText(d.ID), Internal: d.IsInternal,
			Partitions: partitionsOf(d, starts, ends), Configs: []describedConfig{}})
	}
	if err := addConfigs(ctx, admin, topics, found, all); err != nil {
		failures = append(failures, err)
	}
	return topics, errors.Join(failures...)
}

func partitionsOf(d kadm.TopicDetail, starts, ends kadm.ListedOffsets) []describedPartition {
	var found []describedPartition
	for _, p := range d.Partitions.Sorted() {
		found = append(found, describedPartition{
			Partition: p.Partition, Leader: p.Leader, LeaderEpoch: p.LeaderEpoch,
			Replicas: orEmpty(p.Replicas), InSyncReplicas: orEmpty(p.ISR), OfflineReplicas: orEmpty(p.OfflineReplicas),
			StartOffset: offsetOf(starts, d.Topic, p.Partition), EndOffset: offsetOf(ends, d.Topic, p.Partition),
		})
	}
	return found
}

// orEmpty keeps null out of the JSON.
func orEmpty(ns []int32) []int32 {
	if ns == nil {
		return []int32{}
	}
	return ns
}

func offsetOf(offsets kadm.ListedOffsets, topic string, partition int32) int64 {
	if o, ok := offsets.Lookup(topic, partition); ok && o.Err == nil {
		return o.Offset
	}
	return -1
}

func addConfigs(ctx context.Context, admin *kadm.Client, topics []describedTopic, names []string, all bool) error {
	if len(names) == 0 {
		return nil
	}
	resources, err := admin.DescribeTopicConfigs(ctx, names...)
	if err != nil {
		return fmt.Errorf("configuration: %w", cause(err))
	}
	for i := range topics {
		r, err := resources.On(topics[i].Topic, nil)
		if err == nil {
			err = r.Err
		}
		if err != nil {
			return refused("topic", topics[i].Topic, err, r.ErrMessage)
		}
		for _, c := range r.Configs {
			if all || c.Source != kmsg.ConfigSourceDefaultConfig {
				topics[i].Configs = append(topics[i].Configs, describedConfig{c.Key, c.Value, c.Source.String()})
			}
		}
		sortConfigs(topics[i].Configs)
	}
	return nil
}

func writeTopics(w io.Writer, topics []describedTopic) {
	for i, t := range topics {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "topic %s, id %s\n\n", t.Topic, t.ID)
		writePartitions(w, t.Partitions)
		if len(t.Configs) > 0 {
			fmt.Fprintln(w)
			writeConfigs(w, t.Configs)
		}
	}
}

func writePartitions(w io.Writer, partitions []describedPartition) {
	var rows [][]string
	for _, p := range partitions {
		rows = append(rows, []string{
			fmt.Sprint(p.Partition), nodeOrNone(p.Leader), fmt.Sprint(p.LeaderEpoch), joined(p.Replicas), joined(p.InSyncReplicas),
			joined(p.OfflineReplicas), known(p.StartOffset), known(p.EndOffset),
		})
	}
	table(w, []string{"PARTITION", "LEADER", "EPOCH", "REPLICAS", "ISR", "OFFLINE", "START", "END"}, rows)
}

func writeConfigs(w io.Writer, configs []describedConfig) {
	var rows [][]string
	for _, c := range configs {
		value := "null"
		if c.Value != nil {
			value = *c.Value
		}
		rows = append(rows, []string{c.Name, value, c.Source})
	}
	table(w, []string{"CONFIG", "VALUE", "SOURCE"}, rows)
}

func sortConfigs(configs []describedConfig) {
	slices.SortFunc(configs, func(a, b describedConfig) int { return cmp.Compare(a.Name, b.Name) })
}
