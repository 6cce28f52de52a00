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
	"github.com/twmb/franz-go/pkg/kerr"
)

func (a *app) logDirsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "log-dirs",
		Short:   "Show the nodes' log directories and move partitions between them",
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.logDirsDescribe(), a.logDirsMove())
	return cmd
}

// describedLogDir is a log directory of log-dirs describe, as JSON.
type describedLogDir struct {
	Node        int32        `json:"node"`
	LogDir      string       `json:"logDir"`
	Error       string       `json:"error,omitempty"` // it is offline: what lies there is not told
	TotalBytes  int64        `json:"totalBytes"`      // of its file system; -1: unknown
	UsableBytes int64        `json:"usableBytes"`     // -1: unknown
	Replicas    []logReplica `json:"replicas"`
}

// logReplica is a partition's log in a directory, or the copy of one that is being moved there.
type logReplica struct {
	partition
	Size      int64 `json:"size"`
	OffsetLag int64 `json:"offsetLag"` // offsets that a copy lacks
	IsFuture  bool  `json:"isFuture"`  // it is such a copy
}

func (a *app) logDirsDescribe() *cobra.Command {
	var topics []string
	cmd := &cobra.Command{
		Use:   "describe",
		Short: "Show what lies in which log directory, and how far moves are",
		Example: `  ringmill log-dirs describe
  ringmill log-dirs describe --topic logs:0,1
  ringmill log-dirs describe -o json | jq '.[].replicas[] | select(.isFuture)'`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	registerPartitions(a, cmd, &topics)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		wanted, err := readPartitions(cmd, topics)
		if err != nil {
			return err
		}
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error { return a.describeLogDirs(ctx, admin, wanted) })
	}
	return cmd
}

func (a *app) describeLogDirs(ctx context.Context, admin *kadm.Client, wanted []topicPartitions) error {
	set, err := topicsSet(ctx, admin, wanted)
	if err != nil {
		return err
	}
	answer, err := admin.DescribeAllLogDirs(ctx, set)
	if err != nil {
		return cause(err)
	}
	dirs := []describedLogDir{}
	answer.Each(func(d kadm.DescribedLogDir) { dirs = append(dirs, describeLogDir(d)) })
	slices.SortFunc(dirs, func(a, b describedLogDir) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.LogDir, b.LogDir))
	})
	return a.print(dirs, func(w io.Writer) { printLogDirs(w, dirs) })
}

// topicsSet names existing partitions as requests do; nil for all there are.
func topicsSet(ctx context.Context, admin *kadm.Client, wanted []topicPartitions) (kadm.TopicsSet, error) {
	if len(wanted) == 0 {
		return nil, nil
	}
	found, err := existingPartitions(ctx, admin, wanted)
	if err != nil {
		return nil, err
	}
	set := make(kadm.TopicsSet)
	for _, p := range found {
		set.Add(p.Topic, p.Partition)
	}
	return set, nil
}

func describeLogDir(d kadm.DescribedLogDir) describedLogDir {
	out := describedLogDir{Node: d.Broker, LogDir: d.Dir, TotalBytes: d.TotalBytes, UsableBytes: d.UsableBytes, Replicas: []logReplica{}}
	if d.Err != nil {
		out.Error = cause(d.Err).Error()
		if code := new(kerr.Error); errors.As(d.Err, &code) {
			out.Error = code.Message
		}
	}
	for _, p := range d.Topics.Sorted() {
		out.Replicas = append(out.Replicas, logReplica{partition{p.Topic, p.Partition}, p.Size, p.OffsetLag, p.IsFuture})
	}
	slices.SortFunc(out.Replicas, func(a, b logReplica) int { return comparePartitions(a.partition, b.partition) })
	return out
}

func printLogDirs(w io.Writer, dirs []describedLogDir) {
	var rooms, replicas [][]string
	for _, d := range dirs {
		state := "online"
		if d.Error != "" {
			state = d.Error
		}
		rooms = append(rooms, []string{fmt.Sprint(d.Node), d.LogDir, state, fmt.Sprint(len(d.Replicas)), fmt.Sprint(d.TotalBytes), fmt.Sprint(d.UsableBytes)})
		for _, r := range d.Replicas {
			role := "current"
			if r.IsFuture {
				role = "future"
			}
			replicas = append(replicas, []string{fmt.Sprint(d.Node), d.LogDir, r.Topic, fmt.Sprint(r.Partition), role, fmt.Sprint(r.Size), fmt.Sprint(r.OffsetLag)})
		}
	}
	table(w, []string{"NODE", "LOG-DIR", "STATE", "REPLICAS", "TOTAL-BYTES", "USABLE-BYTES"}, rooms)
	fmt.Fprintln(w)
	table(w, []string{"NODE", "LOG-DIR", "TOPIC", "PARTITION", "REPLICA", "SIZE", "OFFSET-LAG"}, replicas)
}

// movedReplica is a line of log-dirs move, as JSON.
type movedReplica struct {
	partition
	Node   int32  `json:"node"`
	LogDir string `json:"logDir"`
}

func (a *app) logDirsMove() *cobra.Command {
	var topics []string
	cmd := &cobra.Command{
		Use:   "move LOG-DIR",
		Short: "Have partitions go on in another log directory, in the background",
		Long: `Have partitions go on in another log directory of their nodes, named as log-dirs describe tells it. The command returns when the
moves have begun; log-dirs describe tells how far they are. A move to where a partition lies cancels one that is under way.`,
		Example: `  ringmill log-dirs move /disk2/logs --topic logs:0,1
  ringmill log-dirs move /disk2/logs --topic logs -o json`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	registerPartitions(a, cmd, &topics)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wanted, err := readPartitions(cmd, topics)
		if err == nil && len(wanted) == 0 {
			err = wrongUse(cmd, "--topic says what is to be moved")
		}
		if err != nil {
			return err
		}
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error { return a.moveLogs(ctx, admin, args[0], wanted) })
	}
	return cmd
}

func (a *app) moveLogs(ctx context.Context, admin *kadm.Client, dir string, wanted []topicPartitions) error {
	set, err := topicsSet(ctx, admin, wanted)
	if err != nil {
		return err
	}
	answer, err := admin.AlterAllReplicaLogDirs(ctx, kadm.AlterReplicaLogDirsReq{dir: set})
	if err != nil {
		return cause(err)
	}
	moved, failures := []movedReplica{}, []error(nil)
	for _, r := range answer.Sorted() {
		p := partition{r.Topic, r.Partition}
		if r.Err != nil {
			failures = append(failures, refused("partition", partitionName(p), r.Err, ""))
			continue
		}
		moved = append(moved, movedReplica{p, r.Broker, dir})
	}
	err = a.print(moved, func(w io.Writer) {
		for _, m := range moved {
			fmt.Fprintf(w, "%s moves to %s\n", partitionName(m.partition), m.LogDir)
		}
	})
	return errors.Join(append(failures, err)...)
}
