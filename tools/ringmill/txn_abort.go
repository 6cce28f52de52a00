package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// abortFlags name a transaction in one partition: by where it starts, or by its producer.
type abortFlags struct {
	topic            string
	partition        int32
	startOffset      int64
	producerID       int64
	producerEpoch    int16
	coordinatorEpoch int32
}

func (a *app) txnAbort() *cobra.Command {
	var f abortFlags
	cmd := &cobra.Command{
		Use:   "abort",
		Short: "End a transaction that hangs in a partition, by an abort marker",
		Long: `Write an abort marker for a transaction in one partition, so that readers of committed records go on behind it. It is for
transactions that no coordinator will end: see txn find-hanging. The transaction is named by the offset at which it starts, or by its
producer's id and epoch.`,
		Example: `  ringmill txn abort --topic logs --partition 0 --start-offset 1042
  ringmill txn abort --topic logs --partition 0 --producer-id 7 --producer-epoch 3`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.topic, "topic", "", "the topic")
	flags.Int32Var(&f.partition, "partition", -1, "the partition")
	flags.Int64Var(&f.startOffset, "start-offset", -1, "where the transaction starts")
	flags.Int64Var(&f.producerID, "producer-id", -1, "whose transaction it is")
	flags.Int16Var(&f.producerEpoch, "producer-epoch", -1, "the producer's epoch")
	flags.Int32Var(&f.coordinatorEpoch, "coordinator-epoch", -1, "with --producer-id: the epoch of the coordinator that is to have written the marker; -1 if there was none")
	completeAsked(cmd, "topic", a.completeTopics)
	for _, flag := range []string{"partition", "start-offset", "producer-id", "producer-epoch", "coordinator-epoch"} {
		completeFlag(cmd, flag)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error { return a.abortTxn(ctx, admin, f) })
	}
	return cmd
}

func (f *abortFlags) check(cmd *cobra.Command) error {
	switch {
	case f.topic == "" || f.partition < 0:
		return wrongUse(cmd, "--topic and --partition are needed")
	case (f.startOffset >= 0) == (f.producerID >= 0):
		return wrongUse(cmd, "either --start-offset or --producer-id is needed")
	case f.producerID >= 0 && f.producerEpoch < 0:
		return wrongUse(cmd, "--producer-id needs --producer-epoch")
	}
	return nil
}

// abortedTxn is what was ended, as JSON.
type abortedTxn struct {
	partition
	ProducerID       int64 `json:"producerId"`
	ProducerEpoch    int16 `json:"producerEpoch"`
	CoordinatorEpoch int32 `json:"coordinatorEpoch"`
}

func (a *app) abortTxn(ctx context.Context, admin *kadm.Client, f abortFlags) error {
	done := abortedTxn{partition{f.topic, f.partition}, f.producerID, f.producerEpoch, f.coordinatorEpoch}
	if f.startOffset >= 0 {
		p, err := producerAt(ctx, admin, f)
		if err != nil {
			return err
		}
		// A producer of whose transactions none was ended here yet has had no coordinator: 0 is the first one's epoch.
		done.ProducerID, done.ProducerEpoch, done.CoordinatorEpoch = p.ProducerID, p.ProducerEpoch, max(p.CoordinatorEpoch, 0)
	}
	answers, err := admin.WriteTxnMarkers(ctx, kadm.TxnMarkers{
		ProducerID: done.ProducerID, ProducerEpoch: done.ProducerEpoch, CoordinatorEpoch: done.CoordinatorEpoch,
		Topics: kadm.TopicsSet{f.topic: {f.partition: {}}},
	})
	if err != nil {
		return refused("partition", partitionName(done.partition), cause(err), "")
	}
	if r := answers[done.ProducerID].Topics[f.topic].Partitions[f.partition]; r.Err != nil {
		return refused("partition", partitionName(done.partition), r.Err, "")
	}
	return a.print(done, func(w io.Writer) {
		fmt.Fprintf(w, "%s: transaction of producer %d epoch %d aborted\n", partitionName(done.partition), done.ProducerID, done.ProducerEpoch)
	})
}

// producerAt finds the producer whose open transaction starts at the offset.
func producerAt(ctx context.Context, admin *kadm.Client, f abortFlags) (kadm.DescribedProducer, error) {
	name := partitionName(partition{f.topic, f.partition})
	answers, err := admin.DescribeProducers(ctx, kadm.TopicsSet{f.topic: {f.partition: {}}})
	if err != nil {
		return kadm.DescribedProducer{}, refused("partition", name, cause(err), "")
	}
	p, answered := answers[f.topic].Partitions[f.partition]
	switch {
	case !answered:
		return kadm.DescribedProducer{}, fmt.Errorf("partition %s: there is none", name)
	case p.Err != nil:
		return kadm.DescribedProducer{}, refused("partition", name, p.Err, p.ErrMessage)
	}
	for _, producer := range p.ActiveProducers {
		if producer.CurrentTxnStartOffset == f.startOffset {
			return producer, nil
		}
	}
	return kadm.DescribedProducer{}, fmt.Errorf("partition %s: no open transaction starts at %d", name, f.startOffset)
}
