package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// hangingGrace is how much longer than the longest timeout a transaction may be open before it is taken to hang: what the
// coordinator may need to end it (org.apache.kafka.tools.TransactionsCommand).
const hangingGrace = 5 * time.Minute

func (a *app) txnFindHanging() *cobra.Command {
	var topics []string
	var longest time.Duration
	cmd := &cobra.Command{
		Use:   "find-hanging",
		Short: "Find transactions that no coordinator will end",
		Long: `Look through partitions for transactions that are open for longer than any may be, and of which no coordinator knows. They
keep readers of committed records from going on; txn abort ends them.`,
		Example: `  ringmill txn find-hanging
  ringmill txn find-hanging --topic logs --max-timeout 5m`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringSliceVar(&topics, "topic", nil, "look in these topics; in all if left out")
	cmd.Flags().DurationVar(&longest, "max-timeout", 15*time.Minute, "the nodes' transaction.max.timeout.ms")
	completeAsked(cmd, "topic", a.completeTopics)
	completeFlag(cmd, "max-timeout")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			hanging, err := findHanging(ctx, admin, topics, time.Now().Add(-longest-hangingGrace))
			if err != nil {
				return err
			}
			return a.print(hanging, func(w io.Writer) { writeHanging(w, hanging) })
		})
	}
	return cmd
}

// hangingTxn is a transaction that is open in a partition and nowhere else, as JSON.
type hangingTxn struct {
	partition
	ProducerID       int64 `json:"producerId"`
	ProducerEpoch    int16 `json:"producerEpoch"`
	CoordinatorEpoch int32 `json:"coordinatorEpoch"`
	StartOffset      int64 `json:"startOffset"`
	LastTimestampMS  int64 `json:"lastTimestampMs"`
}

func writeHanging(w io.Writer, hanging []hangingTxn) {
	var rows [][]string
	for _, h := range hanging {
		rows = append(rows, []string{h.Topic, fmt.Sprint(h.Partition), fmt.Sprint(h.ProducerID), fmt.Sprint(h.ProducerEpoch),
			fmt.Sprint(h.CoordinatorEpoch), fmt.Sprint(h.StartOffset), time.UnixMilli(h.LastTimestampMS).UTC().Format(time.RFC3339)})
	}
	table(w, []string{"TOPIC", "PARTITION", "PRODUCER-ID", "EPOCH", "COORDINATOR-EPOCH", "START-OFFSET", "LAST-WRITTEN"}, rows)
}

// findHanging lists the transactions of the topics that were last written to before a time and that their coordinators do
// not know to be open there.
func findHanging(ctx context.Context, admin *kadm.Client, topics []string, before time.Time) ([]hangingTxn, error) {
	suspects, err := openTxns(ctx, admin, topics, before)
	if err != nil || len(suspects) == 0 {
		return suspects, err
	}
	known, err := coordinatedTxns(ctx, admin, suspects)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(suspects, func(h hangingTxn) bool {
		epoch, is := known[openIn{h.ProducerID, h.partition}]
		return is && epoch >= h.ProducerEpoch
	}), nil
}

// openTxns lists what is open for long, by partition.
func openTxns(ctx context.Context, admin *kadm.Client, topics []string, before time.Time) ([]hangingTxn, error) {
	details, err := admin.ListTopicsWithInternal(ctx, topics...)
	if err != nil {
		return nil, cause(err)
	}
	for _, d := range details.Sorted() {
		if d.Err != nil {
			return nil, refused("topic", d.Topic, d.Err, "")
		}
	}
	answers, err := admin.DescribeProducers(ctx, details.TopicsSet())
	if err != nil {
		return nil, cause(err)
	}
	open := []hangingTxn{}
	for _, p := range answers.SortedPartitions() {
		if p.Err != nil {
			return nil, refused("partition", partitionName(partition{p.Topic, p.Partition}), p.Err, p.ErrMessage)
		}
		for _, d := range p.ActiveProducers.Sorted() {
			if d.CurrentTxnStartOffset >= 0 && d.LastTimestamp < before.UnixMilli() {
				open = append(open, hangingTxn{partition{p.Topic, p.Partition}, d.ProducerID, d.ProducerEpoch, d.CoordinatorEpoch, d.CurrentTxnStartOffset, d.LastTimestamp})
			}
		}
	}
	slices.SortFunc(open, func(a, b hangingTxn) int {
		return cmp.Or(comparePartitions(a.partition, b.partition), cmp.Compare(a.StartOffset, b.StartOffset))
	})
	return open, nil
}

// openIn is a producer's transaction in a partition.
type openIn struct {
	producerID int64
	partition  partition
}

// coordinatedTxns gives the epochs of those of the suspects' transactions that their coordinators will end.
func coordinatedTxns(ctx context.Context, admin *kadm.Client, suspects []hangingTxn) (map[openIn]int16, error) {
	var producers []int64
	for _, s := range suspects {
		producers = append(producers, s.ProducerID)
	}
	slices.Sort(producers)
	listed, err := admin.ListTransactions(ctx, slices.Compact(producers), nil)
	if err != nil {
		return nil, cause(err)
	}
	known := map[openIn]int16{}
	if len(listed) == 0 {
		return known, nil
	}
	answers, err := admin.DescribeTransactions(ctx, listed.TransactionalIDs()...)
	if err != nil {
		return nil, cause(err)
	}
	for id, d := range answers {
		switch {
		case errors.Is(d.Err, kerr.TransactionalIDNotFound): // forgotten since it was listed
		case d.Err != nil:
			return nil, refused("transactional id", id, d.Err, "")
		default:
			d.Topics.Each(func(topic string, p int32) { known[openIn{d.ProducerID, partition{topic, p}}] = d.ProducerEpoch })
		}
	}
	return known, nil
}
