package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringmill/ringmill/bench"
)

func (a *app) benchVerifyCommand() *cobra.Command {
	var v bench.Verification
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Say whether all that is acknowledged is there, once, in order and whole",
		Long: `Write numbered, checksummed records with idempotent producers, then read all that is stored and judge it. Meanwhile do to the nodes whatever they
are to survive: kill them, cut them off, move leaders. What is acknowledged must be there, once, in order and whole. What its producer was told of as an
error, or of nothing, may be there or not, but not twice.

The exit status is 1 if anything is wrong, or nothing was acknowledged; the topic is kept then if --keep says so.`,
		Example: `  ringmill bench verify --duration 1m --replication-factor 3 -p 12
  ringmill bench verify --transactions 100 --producers 4`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	a.client.register(cmd)
	flags := cmd.Flags()
	flags.DurationVarP(&v.Duration, "duration", "d", 30*time.Second, "how long is written")
	flags.Float64VarP(&v.Rate, "rate", "r", 1000, "records a second of all producers together")
	flags.IntVar(&v.Producers, "producers", 2, "producers")
	flags.IntVarP(&v.Partitions, "partitions", "p", 6, "partitions of the topic")
	flags.IntVar(&v.ReplicationFactor, "replication-factor", -1, "replicas of each partition; -1: the cluster's default")
	v.RecordBytes = 100
	flags.VarP(byteCount[int]{&v.RecordBytes}, "size", "s", "bytes of a record's value, as 100 or 1KiB")
	flags.IntVar(&v.TransactionRecords, "transactions", 0, "records of a transaction, of which each fifth is aborted; 0: no transactions")
	flags.BoolVar(&v.Keep, "keep", false, "keep the topic if anything is wrong with it")
	for _, name := range []string{"duration", "rate", "producers", "partitions", "replication-factor", "size", "transactions"} {
		completeFlag(cmd, name)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		v.Addresses, v.Topic, v.Patience = strings.Split(a.client.bootstrap, ","), benchTopic(), a.client.timeout
		var err error
		if v.Dial, v.SASL, err = a.client.access.forBench(cmd); err != nil {
			return err
		}
		if err := v.Check(); err != nil {
			return wrongLoad(cmd, err)
		}
		return a.benchVerify(cmd.Context(), &v)
	}
	return cmd
}

func (a *app) benchVerify(ctx context.Context, v *bench.Verification) error {
	v.Progress = func(acknowledged int64, since time.Duration) {
		fmt.Fprintf(a.stderr, "%d records acknowledged, the last one %v ago\n", acknowledged, since.Round(time.Millisecond))
	}
	verdict, err := v.Run(ctx)
	if verdict == nil {
		return benchFault(err)
	}
	if err := a.print(verdict, func(w io.Writer) { benchVerdict(w, verdict) }); err != nil {
		return err
	}
	switch {
	case !verdict.Right():
		return fmt.Errorf("records are not as they were acknowledged: %s", faultsOf(verdict))
	case verdict.Acknowledged == 0:
		return errors.Join(errNothingJudged, benchFault(err))
	}
	return benchFault(err)
}

// errNothingJudged: a verification of which nothing was acknowledged shows nothing.
var errNothingJudged = errors.New("nothing was acknowledged: there is nothing to judge")

// faultsOf counts what is wrong.
func faultsOf(v *bench.Verdict) string {
	return fmt.Sprintf("%d lost, %d doubled, %d reordered, %d corrupt, %d aborted and there", v.Lost, v.Doubled, v.Reordered, v.Corrupt, v.AbortedStored)
}

func benchVerdict(w io.Writer, v *bench.Verdict) {
	fmt.Fprintf(w, "%d records sent: %d acknowledged, %d aborted, %d of which nobody knows (%d of these are stored)\n", v.Sent, v.Acknowledged, v.Aborted, v.Unknown, v.UnknownStored)
	fmt.Fprintf(w, "%d stored; longest time without an acknowledgement %.2f s\n", v.Stored, v.OutageSeconds)
	for _, f := range v.Faults {
		fmt.Fprintln(w, f)
	}
	switch {
	case !v.Right():
		fmt.Fprintf(w, "WRONG: %s\n", faultsOf(v))
	case v.Acknowledged == 0:
		fmt.Fprintln(w, "NOTHING TO JUDGE: nothing was acknowledged")
	default:
		fmt.Fprintln(w, "RIGHT: none lost, doubled, reordered or corrupt")
	}
}
