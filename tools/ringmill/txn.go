package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func (a *app) txnCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "txn",
		Short:   "List, describe and abort transactions",
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.txnList(), a.txnDescribe(), a.txnAbort(), a.txnFindHanging())
	return cmd
}

// listedTxn is a line of txn list, as JSON.
type listedTxn struct {
	TransactionalID string `json:"transactionalId"`
	ProducerID      int64  `json:"producerId"`
	State           string `json:"state"`
	Coordinator     int32  `json:"coordinator"`
}

// txnStates are those of a transaction, as ListTransactions knows them.
var txnStates = []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "PrepareEpochFence", "Dead"}

func (a *app) txnList() *cobra.Command {
	var states []string
	var producers []int64
	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List transactional ids and where their transactions stand",
		Aliases:           []string{"ls"},
		Example:           `  ringmill txn list --state Ongoing`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only those in these states")
	cmd.Flags().Int64SliceVar(&producers, "producer-id", nil, "only those of these producer ids")
	completeFlag(cmd, "state", txnStates...)
	completeFlag(cmd, "producer-id")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
			return a.listTxns(ctx, admin, producers, states)
		})
	}
	return cmd
}

func (a *app) listTxns(ctx context.Context, admin *kadm.Client, producers []int64, states []string) error {
	answer, err := admin.ListTransactions(ctx, producers, states)
	if err != nil {
		return cause(err)
	}
	listed := []listedTxn{}
	for _, t := range answer.Sorted() {
		listed = append(listed, listedTxn{t.TxnID, t.ProducerID, t.State, t.Coordinator})
	}
	return a.print(listed, func(w io.Writer) {
		var rows [][]string
		for _, t := range listed {
			rows = append(rows, []string{t.TransactionalID, fmt.Sprint(t.ProducerID), t.State, fmt.Sprint(t.Coordinator)})
		}
		table(w, []string{"TRANSACTIONAL-ID", "PRODUCER-ID", "STATE", "COORDINATOR"}, rows)
	})
}

// describedTxn is one transaction of txn describe, as JSON.
type describedTxn struct {
	TransactionalID string      `json:"transactionalId"`
	ProducerID      int64       `json:"producerId"`
	ProducerEpoch   int16       `json:"producerEpoch"`
	State           string      `json:"state"`
	TimeoutMS       int32       `json:"timeoutMs"`
	StartMS         int64       `json:"startMs"` // -1: no transaction is open
	Coordinator     int32       `json:"coordinator"`
	Partitions      []partition `json:"partitions"`
}

func (a *app) txnDescribe() *cobra.Command {
	return &cobra.Command{
		Use:               "describe TRANSACTIONAL-ID...",
		Short:             "Show a transaction's producer, since when it is open and what it writes to",
		Example:           `  ringmill txn describe payments-1`,
		Args:              arguments(cobra.MinimumNArgs(1)),
		ValidArgsFunction: a.completeTxns,
		RunE: func(cmd *cobra.Command, ids []string) error {
			return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error {
				txns, err := describeTxns(ctx, admin, ids)
				return errors.Join(a.print(txns, func(w io.Writer) { writeTxns(w, txns) }), err)
			})
		},
	}
}

// describeTxns gathers what is known of each transactional id. An error about some of them comes with the rest.
func describeTxns(ctx context.Context, admin *kadm.Client, ids []string) ([]describedTxn, error) {
	answers, err := admin.DescribeTransactions(ctx, ids...)
	if err != nil {
		return []describedTxn{}, cause(err)
	}
	txns, failures := []describedTxn{}, []error(nil)
	for _, id := range ids {
		d, answered := answers[id]
		switch {
		case !answered:
			failures = append(failures, fmt.Errorf("transactional id %s: the node did not answer for it", id))
		case d.Err != nil:
			failures = append(failures, refused("transactional id", id, d.Err, ""))
		default:
			txns = append(txns, described(d))
		}
	}
	return txns, errors.Join(failures...)
}

func described(d kadm.DescribedTransaction) describedTxn {
	t := describedTxn{d.TxnID, d.ProducerID, d.ProducerEpoch, d.State, d.TimeoutMillis, d.StartTimestamp, d.Coordinator, []partition{}}
	d.Topics.Each(func(topic string, p int32) { t.Partitions = append(t.Partitions, partition{topic, p}) })
	sortPartitions(t.Partitions)
	return t
}

func writeTxns(w io.Writer, txns []describedTxn) {
	for i, t := range txns {
		if i > 0 {
			fmt.Fprintln(w)
		}
		since := ""
		if t.StartMS >= 0 {
			since = ", open since " + time.UnixMilli(t.StartMS).UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "transactional id %s, %s%s, producer %d epoch %d, timeout %v, coordinator %d\n", t.TransactionalID, t.State, since,
			t.ProducerID, t.ProducerEpoch, time.Duration(t.TimeoutMS)*time.Millisecond, t.Coordinator)
		for _, p := range t.Partitions {
			fmt.Fprintf(w, "  %s-%d\n", p.Topic, p.Partition)
		}
	}
}
