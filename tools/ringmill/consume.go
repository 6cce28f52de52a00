package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type consumeFlags struct {
	offset     startOffset
	group      string
	count      int64
	exit       bool
	format     string
	partitions []int32
}

func (a *app) consumeCommand() *cobra.Command {
	f := consumeFlags{offset: startOffset{kind: fromEnd}}
	cmd := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Write a topic's records to standard output",
		Long: `Write a topic's records to standard output as they come, from the end of the log on unless --offset says otherwise, until
interrupted, or until -n records, or with -e until the end that the log had at the start. With -g the offsets of a
consumer group are continued and committed, and --offset is for partitions without one.

--format knows
  %t topic   %p partition   %o offset   %d timestamp in ms   %k key   %v value   %h{%k=%v } headers   %% percent sign
  %T %K %V   lengths of topic, key and value   \n \t \xNN   characters
With -o json each record is one line; a key or value that is no UTF-8 is in base64, as keyBase64 or valueBase64.`,
		Example: `  ringmill consume logs
  ringmill consume logs --offset start -e | wc -l
  ringmill consume logs --offset -10 -e --format '%p %o %k %v\n'
  ringmill consume logs --offset @1767225600000 -n 100 -o json
  ringmill consume logs -g readers`,
		GroupID:           groupRecords,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeOneTopic,
	}
	a.client.register(cmd)
	f.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sink, err := a.newSink(cmd, f.format)
		if err != nil {
			return err
		}
		switch {
		case f.count < 0:
			return wrongUse(cmd, "--count %d: must be 0 or more", f.count)
		case f.group != "" && len(f.partitions) > 0:
			return wrongUse(cmd, "--group and --partition: a group's members share out the partitions themselves")
		}
		return a.consume(cmd.Context(), args[0], f, sink)
	}
	return cmd
}

func (f *consumeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(&f.offset, "offset", "where to begin: start, end, N, -N (N before the end), @MS (first record at or after a time)")
	flags.StringVarP(&f.group, "group", "g", "", "consume as a member of this group")
	flags.Int64VarP(&f.count, "count", "n", 0, "stop after this many records; 0: never")
	flags.BoolVarP(&f.exit, "exit", "e", false, "stop at the end that the log had at the start")
	flags.StringVar(&f.format, "format", `%v\n`, "how a record is written in text")
	flags.Int32SliceVarP(&f.partitions, "partition", "p", nil, "partitions to read, as 0,1,...; all if left out")
	completeFlag(cmd, "offset", "start\tthe oldest record", "end\twhat comes from now on")
	completeFlag(cmd, "count")
	completeFlag(cmd, "format", `%p %o %k %v\n`+"\tpartition, offset, key and value", `%d %v\n`+"\ttimestamp and value")
	completeFlag(cmd, "partition")
	_ = cmd.RegisterFlagCompletionFunc("group", cobra.NoFileCompletions)
}

// consume reads until there is a reason to stop; an interrupt is one.
func (a *app) consume(ctx context.Context, topic string, f consumeFlags, sink *recordSink) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	ends := newEndTracker(f.exit, stop)
	client, err := a.openConsumer(ctx, topic, f, ends)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := pump(reading, client, f, ends, sink); err != nil {
		return err
	}
	if f.group == "" {
		return nil
	}
	// The reading may have been interrupted; what was written is committed all the same.
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.client.timeout)
	defer cancel()
	if err := client.CommitMarkedOffsets(commit); err != nil {
		return fmt.Errorf("group %s: offsets not committed: %w", f.group, cause(err))
	}
	return nil
}

// openConsumer connects twice: once to learn where the partitions begin and end, once to read.
func (a *app) openConsumer(ctx context.Context, topic string, f consumeFlags, ends *endTracker) (*kgo.Client, error) {
	var starts map[int32]kgo.Offset
	err := a.admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		logs, err := readLogs(ctx, admin, topic, f.offset, f.partitions)
		if err != nil || f.group != "" {
			return err
		}
		starts = make(map[int32]kgo.Offset)
		for p, log := range logs {
			starts[p] = kgo.NewOffset().At(log.from)
			ends.assign(p, log.from, log.end)
		}
		ends.assigned()
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Without control records the end of a log that ends in one would never be seen.
	opts := []kgo.Opt{kgo.KeepControlRecords(), kgo.WithHooks(&outage{w: a.stderr})}
	if f.group == "" {
		opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}))
	} else {
		opts = append(opts, a.groupOptions(topic, f, ends)...)
	}
	return a.client.connect(ctx, opts...)
}

// groupOptions: offsets are committed for records that were written, not for those that were only fetched.
func (a *app) groupOptions(topic string, f consumeFlags, ends *endTracker) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(f.group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(f.offset.reset()), kgo.AutoCommitMarks(),
		kgo.OnPartitionsAssigned(func(ctx context.Context, client *kgo.Client, assigned map[string][]int32) {
			if f.exit {
				ends.assignGroup(ctx, kadm.NewClient(client), topic, f, assigned[topic])
			}
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, _ map[string][]int32) {
			_ = client.CommitMarkedOffsets(ctx) // best effort: the next owner reads again what was not committed
		}),
	}
}

// pump writes records until the context ends or the count is reached.
func pump(ctx context.Context, client *kgo.Client, f consumeFlags, ends *endTracker, sink *recordSink) error {
	left := f.count
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil && fetches.NumRecords() == 0 {
			return sink.flush()
		}
		if err := fetchError(fetches); err != nil {
			return errors.Join(sink.flush(), err)
		}
		for r := range fetches.RecordsAll() {
			if !r.Attrs.IsControl() && !ends.beyond(r) {
				if err := sink.write(r); err != nil {
					return err
				}
				client.MarkCommitRecords(r)
				if left--; left == 0 {
					return sink.flush()
				}
			}
			ends.passed(r)
		}
		if err := sink.flush(); err != nil {
			return err
		}
	}
}

// fetchError is the first error that reading cannot go on with.
func fetchError(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, context.Canceled) && !kerr.IsRetriable(e.Err) {
			return refused("partition", fmt.Sprintf("%s-%d", e.Topic, e.Partition), e.Err, "")
		}
	}
	return nil
}

// recordSink writes records to standard output.
type recordSink struct {
	w      *bufio.Writer
	format *kgo.RecordFormatter // nil: JSON
	line   []byte
}

func (a *app) newSink(cmd *cobra.Command, layout string) (*recordSink, error) {
	s := &recordSink{w: bufio.NewWriter(a.stdout)}
	if a.output == outputJSON {
		return s, nil
	}
	var err error
	if s.format, err = kgo.NewRecordFormatter(layout); err != nil {
		return nil, wrongUse(cmd, "--format %q: %w", layout, err)
	}
	return s, nil
}

func (s *recordSink) write(r *kgo.Record) error {
	if s.format == nil {
		return writeJSON(s.w, recordAsJSON(r))
	}
	s.line = s.format.AppendRecord(s.line[:0], r)
	_, err := s.w.Write(s.line)
	return err
}

func (s *recordSink) flush() error { return s.w.Flush() }

// validPartitions picks from what exists, or complains.
func validPartitions(topic string, existing, wanted []int32) ([]int32, error) {
	if len(wanted) == 0 {
		return existing, nil
	}
	for _, p := range wanted {
		if !slices.Contains(existing, p) {
			return nil, fmt.Errorf("topic %s has no partition %d: it has %s", topic, p, joined(existing))
		}
	}
	return wanted, nil
}
