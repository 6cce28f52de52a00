package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// topicPartitions is a topic with some of its partitions, or with none for all of them.
type topicPartitions struct {
	topic      string
	partitions []int32
}

func registerPartitions(a *app, cmd *cobra.Command, topics *[]string) {
	cmd.Flags().StringArrayVar(topics, "topic", nil, "a `topic`, or as topic:0,1 some of its partitions; may be repeated")
	completeAsked(cmd, "topic", a.completeTopics)
}

// readPartitions reads topic and topic:0,1 flags, or arguments.
func readPartitions(cmd *cobra.Command, flags []string) (wanted []topicPartitions, err error) {
	for _, flag := range flags {
		topic, list, some := strings.Cut(flag, ":")
		w := topicPartitions{topic: topic}
		for part := range strings.SplitSeq(list, ",") {
			n, err := strconv.ParseInt(part, 10, 32)
			if some && (err != nil || n < 0) {
				return nil, wrongUse(cmd, "%q: must be topic or topic:0,1,...", flag)
			}
			if some {
				w.partitions = append(w.partitions, int32(n))
			}
		}
		wanted = append(wanted, w)
	}
	return wanted, nil
}

// existingPartitions asks for the partitions of the topics, and complains about those that there are not.
func existingPartitions(ctx context.Context, admin *kadm.Client, wanted []topicPartitions) ([]partition, error) {
	topics, err := listWanted(ctx, admin, wanted)
	if err != nil {
		return nil, err
	}
	details, err := chosenPartitions(topics, wanted)
	if err != nil {
		return nil, err
	}
	var found []partition
	for _, d := range details {
		found = append(found, partition{d.Topic, d.Partition})
	}
	return slices.Compact(sortPartitions(found)), nil
}

// listWanted describes the topics, all of them if none is wanted.
func listWanted(ctx context.Context, admin *kadm.Client, wanted []topicPartitions) (kadm.TopicDetails, error) {
	var names []string
	for _, w := range wanted {
		names = append(names, w.topic)
	}
	topics, err := admin.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, cause(err)
	}
	return topics, nil
}

// chosenPartitions are the wanted ones of the topics; the error tells of one that there is not.
func chosenPartitions(topics kadm.TopicDetails, wanted []topicPartitions) (chosen []kadm.PartitionDetail, err error) {
	for _, w := range wanted {
		d := topics[w.topic]
		if d.Err != nil {
			return nil, refused("topic", w.topic, d.Err, "")
		}
		numbers, err := validPartitions(w.topic, d.Partitions.Numbers(), w.partitions)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			chosen = append(chosen, d.Partitions[n])
		}
	}
	return chosen, nil
}

func partitionName(p partition) string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) }
