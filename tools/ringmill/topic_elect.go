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

// electFlags are those of topic elect.
type electFlags struct{ allTopics, unclean, execute, dryRun bool }

func (a *app) topicElect() *cobra.Command {
	var f electFlags
	cmd := &cobra.Command{
		Use:   "elect TOPIC[:PARTITION,...]...",
		Short: "Have preferred replicas lead, or with --unclean any replica where none in sync is left",
		Long: `Have the preferred replica of each partition, the first, lead it, where it is in sync and another leads.

With --unclean it is the partitions without a leader that get one: a replica that serves, although it was not in sync. What was acknowledged and that
replica does not have is lost for good, and consumers may meet other records at offsets that they have read. Start the nodes that cluster status
names first. --unclean by itself only shows which partitions those are, and who could lead them; with --execute it is done.`,
		Example: `  ringmill topic elect logs
  ringmill topic elect --all-topics --dry-run
  ringmill topic elect logs:0,2 --unclean
  ringmill topic elect logs:0,2 --unclean --execute`,
		Args:              arguments(cobra.ArbitraryArgs),
		ValidArgsFunction: a.completeTopics,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.allTopics, "all-topics", false, "all partitions of all topics that need it")
	flags.BoolVar(&f.unclean, "unclean", false, "have partitions without a leader led by replicas that were not in sync; records are lost")
	flags.BoolVar(&f.execute, "execute", false, "do it, with --unclean")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would be done, and change nothing")
	cmd.MarkFlagsMutuallyExclusive("execute", "dry-run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wanted, err := readPartitions(cmd, args)
		switch {
		case err != nil:
			return err
		case f.allTopics == (len(args) > 0):
			return wrongUse(cmd, "either TOPIC[:PARTITION,...] or --all-topics is needed")
		case f.execute && !f.unclean:
			return wrongUse(cmd, "--execute is for --unclean: what else there is loses nothing and is done without it")
		}
		return a.admin(cmd.Context(), func(ctx context.Context, admin *kadm.Client) error { return a.elect(ctx, admin, wanted, f) })
	}
	return cmd
}

// election is one partition's, as JSON.
type election struct {
	partition
	Replicas []int32 `json:"replicas"`
	Leader   int32   `json:"leader"` // before; -1: none
	// Candidates may lead it: the preferred replica if it is in sync, or of an unclean election those replicas that serve.
	Candidates []int32 `json:"candidates"`
	Result     string  `json:"result"` // elected, not needed or failed; of what was only looked at planned or not possible
	Reason     string  `json:"reason"` // why it failed or is not possible

	needed bool
}

// electionPlan is what topic elect looks at.
type electionPlan struct {
	unclean, planned bool
	elections        []election
}

func (a *app) elect(ctx context.Context, admin *kadm.Client, wanted []topicPartitions, f electFlags) error {
	plan, err := planElections(ctx, admin, wanted, f.unclean)
	if err != nil {
		return err
	}
	if f.allTopics {
		plan.elections = slices.DeleteFunc(plan.elections, func(e election) bool { return !e.needed })
	}
	plan.planned = f.dryRun || f.unclean && !f.execute
	var failed error
	if plan.planned {
		failed = plan.impossible()
	} else if len(plan.elections) > 0 {
		if failed, err = plan.run(ctx, admin); err != nil {
			return err
		}
	}
	return errors.Join(a.print(plan.elections, plan.write), failed)
}

// planElections finds out what the partitions need, all of them if none is wanted.
func planElections(ctx context.Context, admin *kadm.Client, wanted []topicPartitions, unclean bool) (*electionPlan, error) {
	brokers, err := admin.ListBrokers(ctx)
	if err != nil {
		return nil, cause(err)
	}
	topics, err := listWanted(ctx, admin, wanted)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		for _, t := range topics.Sorted() {
			wanted = append(wanted, topicPartitions{topic: t.Topic})
		}
	}
	details, err := chosenPartitions(topics, wanted)
	if err != nil {
		return nil, err
	}
	plan := &electionPlan{unclean: unclean, elections: []election{}}
	for _, d := range details {
		plan.elections = append(plan.elections, newElection(d, unclean, brokers.NodeIDs()))
	}
	slices.SortFunc(plan.elections, func(a, b election) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return plan, nil
}

// newElection is what a partition needs. serve are the nodes that serve.
func newElection(p kadm.PartitionDetail, unclean bool, serve []int32) election {
	e := election{partition: partition{p.Topic, p.Partition}, Replicas: p.Replicas, Leader: p.Leader, Candidates: []int32{}, Result: "planned"}
	preferred := p.Replicas[:min(1, len(p.Replicas))]
	e.needed = unclean && p.Leader < 0 || !unclean && !slices.Contains(preferred, p.Leader)
	if !e.needed {
		e.Result = "not needed"
		return e
	}
	for _, id := range p.Replicas {
		if slices.Contains(serve, id) && (unclean || slices.Contains(preferred, id) && slices.Contains(p.ISR, id)) {
			e.Candidates = append(e.Candidates, id)
		}
	}
	switch {
	case len(e.Candidates) > 0:
	case unclean:
		e.Result, e.Reason = notPossible, "no replica serves"
	default:
		e.Result, e.Reason = notPossible, "the preferred replica is not in sync"
	}
	return e
}

// notPossible is the result of a plan for a partition that nobody could lead.
const notPossible = "not possible"

// impossible is the error of a plan that would fail.
func (o *electionPlan) impossible() error {
	n := 0
	for _, e := range o.elections {
		if e.Result == notPossible {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s cannot be led as wanted: ringmill cluster status names nodes to start", counted(n, "partition"))
}

// run has the controller elect. failed tells of the partitions that got no leader; err of what kept all from getting one.
func (o *electionPlan) run(ctx context.Context, admin *kadm.Client) (failed, err error) {
	set := kadm.TopicsSet{}
	for _, e := range o.elections {
		set.Add(e.Topic, e.Partition)
	}
	how := kadm.ElectPreferredReplica
	if o.unclean {
		how = kadm.ElectLiveReplica
	}
	answers, err := admin.ElectLeaders(ctx, how, set)
	if err != nil {
		return nil, cause(err)
	}
	var failures []error
	for i := range o.elections {
		e := &o.elections[i]
		switch answer, answered := answers[e.Topic][e.Partition]; {
		case !answered || errors.Is(answer.Err, kerr.ElectionNotNeeded):
			e.Result = "not needed"
		case answer.Err != nil:
			e.Result, e.Reason = "failed", cmp.Or(errorName(answer.Err), answer.ErrMessage)
			failures = append(failures, refused("partition", partitionName(e.partition), answer.Err, answer.ErrMessage))
		default:
			e.Result = "elected"
		}
	}
	return errors.Join(failures...), nil
}

// outcome is the result with its reason.
func (e *election) outcome() string {
	if e.Reason == "" {
		return e.Result
	}
	return e.Result + ": " + e.Reason
}

// errorName is Kafka's name of what a node answered.
func errorName(err error) string {
	var code *kerr.Error
	if errors.As(err, &code) {
		return code.Message
	}
	return ""
}

func (o *electionPlan) write(w io.Writer) {
	if len(o.elections) == 0 {
		fmt.Fprintln(w, "no partition needs an election")
		return
	}
	var rows [][]string
	for _, e := range o.elections {
		rows = append(rows, []string{e.Topic, fmt.Sprint(e.Partition), joined(e.Replicas), nodeOrNone(e.Leader), joined(e.Candidates), e.outcome()})
	}
	table(w, []string{"TOPIC", "PARTITION", "REPLICAS", "LEADER", "CANDIDATES", "RESULT"}, rows)
	if o.planned && o.unclean && slices.ContainsFunc(o.elections, func(e election) bool { return len(e.Candidates) > 0 }) {
		fmt.Fprintln(w, "\nnothing was changed: --execute does it, and loses what only replicas have that do not serve; ringmill cluster status names nodes to start instead")
	}
}
