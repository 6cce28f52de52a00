package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func (a *app) groupReset() *cobra.Command {
	var f resetFlags
	cmd := &cobra.Command{
		Use:   "reset NAME",
		Short: "Move a group's offsets; without --execute only show where to",
		Long: `Work out new offsets for a group, and commit them with --execute. The group must have no members. Offsets that are asked for
beyond a log's ends are moved to its end or start, as Kafka's kafka-consumer-groups does. A share group's offsets are where it
begins to read: what it had acknowledged, released or rejected behind them is forgotten.

Partitions are those of --topic, or with --all-topics those that the group has an offset of, or those of the file.`,
		Example: `  ringmill group reset readers --all-topics --to-earliest
  ringmill group reset readers --topic logs:0,2 --to-time 2026-11-01T00:00:00Z --execute
  ringmill group reset readers --topic logs --shift-by -100 --execute
  ringmill group reset readers --all-topics --to-current -o json > offsets.json
  ringmill group reset readers --from-file offsets.json --execute`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeOneGroup,
	}
	f.register(a, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		target, err := f.read(cmd, time.Now())
		if err != nil {
			return err
		}
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			return a.resetGroup(ctx, admin, args[0], target, f.execute)
		})
	}
	return cmd
}

// plannedOffset is where a partition's offset is to go, as JSON; a file of these is what --from-file reads.
type plannedOffset struct {
	partition
	From   int64 `json:"from"` // -1: nothing was committed
	Offset int64 `json:"offset"`
}

func (a *app) resetGroup(ctx context.Context, admin *kadm.Client, group string, target resetTarget, execute bool) error {
	offsets, err := inactiveGroup(ctx, admin, group)
	if err != nil {
		return err
	}
	plan, err := planReset(ctx, admin, offsets, target)
	if err != nil {
		return err
	}
	if execute {
		if err := offsets.write(ctx, admin, plan); err != nil {
			return err
		}
	}
	return a.print(plan, func(w io.Writer) {
		if len(plan) == 0 {
			fmt.Fprintf(w, "group %s has no offsets to reset: --topic names topics to begin with\n", group)
			return
		}
		var rows [][]string
		for _, p := range plan {
			rows = append(rows, []string{p.Topic, fmt.Sprint(p.Partition), known(p.From), fmt.Sprint(p.Offset)})
		}
		table(w, []string{"TOPIC", "PARTITION", "FROM", "TO"}, rows)
		if !execute {
			fmt.Fprintln(w, "\nnothing was changed: --execute does it")
		}
	})
}

// inactiveGroup refuses a group with members: they would go on from where they are. One that there is not is made by the commit.
func inactiveGroup(ctx context.Context, admin *kadm.Client, group string) (groupOffsets, error) {
	g, err := describeMembership(ctx, admin, group)
	switch {
	case errors.Is(err, errNoGroup):
		return groupOffsets{group: group}, nil
	case err != nil:
		return groupOffsets{}, refused("group", group, err, "")
	case g.State != "Empty" && g.State != "Dead":
		return groupOffsets{}, fmt.Errorf("group %s is %s: its members have to leave first", group, g.State)
	}
	return groupOffsets{group: group, share: g.Type == shareGroupType}, nil
}

// planReset works out the offset of each partition.
func planReset(ctx context.Context, admin *kadm.Client, offsets groupOffsets, target resetTarget) ([]plannedOffset, error) {
	known, err := offsets.read(ctx, admin)
	if err != nil {
		return nil, err
	}
	partitions, err := target.partitions(ctx, admin, known)
	if err != nil {
		return nil, err
	}
	logs, err := readBounds(ctx, admin, partitions, target.timestamp)
	if err != nil {
		return nil, err
	}
	plan := []plannedOffset{}
	for _, p := range partitions {
		planned := plannedOffset{partition: p, From: -1}
		if from, there := known[p]; there {
			planned.From = from
		}
		if planned.Offset, err = target.offset(p, planned.From, logs[p]); err != nil {
			return nil, err
		}
		plan = append(plan, planned)
	}
	return plan, nil
}

// logBounds is where a partition's log begins and ends, and where what was asked for by time is.
type logBounds struct{ start, end, atTime int64 }

// readBounds asks for the ends of the partitions' logs, and with a timestamp, unless it is negative, for the first offset at or
// after it.
func readBounds(ctx context.Context, admin *kadm.Client, partitions []partition, timestamp int64) (map[partition]logBounds, error) {
	if len(partitions) == 0 {
		return nil, nil
	}
	topics := topicsOf(partitions)
	starts, err := answered(admin.ListStartOffsets(ctx, topics...))
	if err != nil {
		return nil, err
	}
	ends, err := answered(admin.ListEndOffsets(ctx, topics...))
	if err != nil {
		return nil, err
	}
	times := ends
	if timestamp >= 0 {
		if times, err = answered(admin.ListOffsetsAfterMilli(ctx, timestamp, topics...)); err != nil {
			return nil, err
		}
	}
	logs := make(map[partition]logBounds, len(partitions))
	for _, p := range partitions {
		b := logBounds{offsetOf(starts, p.Topic, p.Partition), offsetOf(ends, p.Topic, p.Partition), offsetOf(times, p.Topic, p.Partition)}
		if b.start < 0 || b.end < 0 {
			return nil, fmt.Errorf("partition %s: no leader tells its offsets; ringmill cluster status says which node to start", partitionName(p))
		}
		logs[p] = b
	}
	return logs, nil
}

// topicsOf lists the topics of sorted partitions once each.
func topicsOf(partitions []partition) (topics []string) {
	for _, p := range partitions {
		topics = append(topics, p.Topic)
	}
	return slices.Compact(topics)
}
