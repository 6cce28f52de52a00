package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) clusterBalance() *cobra.Command {
	var flags moveFlags
	cmd := &cobra.Command{
		Use:   "balance",
		Short: "Spread replicas and leaders evenly over the nodes that serve",
		Long: `Spread replicas and preferred leaders evenly over the nodes that serve, and partitions over racks, with few moves: a node is relieved
only if it has at least two more than the one that takes over. Nodes that are drained are given nothing. The plan is shown first; then it is
carried out, some partitions at a time, by reassignments as kafka-reassign-partitions.sh makes them. A command that is interrupted leaves
those that are under way going; the same command goes on from there. With --throttle its rate replaces those that are set on nodes and
topics, and goes when all is moved.`,
		Example: `  ringmill cluster balance --dry-run
  ringmill cluster balance --parallel 20 --throttle 50000000`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := flags.check(cmd); err != nil {
			return err
		}
		return a.placed(cmd.Context(), func(ctx context.Context, p *placement) error { return a.balance(ctx, p, &flags) })
	}
	return cmd
}

// balanceOutcome is cluster balance, as JSON.
type balanceOutcome struct {
	Plan   []replicaMove `json:"plan"`
	DryRun bool          `json:"dryRun"`
	moveOutcome
}

func (a *app) balance(ctx context.Context, p *placement, f *moveFlags) error {
	out := balanceOutcome{Plan: p.planBalance(), DryRun: f.dryRun}
	if out.Plan == nil {
		out.Plan = []replicaMove{}
	}
	if a.output == outputText {
		if len(out.Plan) == 0 {
			fmt.Fprintln(a.stdout, "replicas are in balance")
		} else {
			writePlan(a.stdout, out.Plan)
		}
	}
	if f.dryRun {
		out.moveOutcome = moveOutcome{Moved: []replicaMove{}, Failures: []string{}, Waiting: len(out.Plan)}
		return a.print(out, func(io.Writer) {})
	}
	made, err := p.run(ctx, out.Plan, nil, f, shownProgress{a})
	if err == nil {
		err = p.electPreferred(ctx, p.misled())
	}
	if err != nil {
		return err
	}
	out.moveOutcome = *made
	if err := a.print(out, func(w io.Writer) { fmt.Fprintf(w, "%d partitions moved\n", len(out.Moved)) }); err != nil {
		return err
	}
	return failures(made)
}

// misled are the partitions that another than the preferred leader leads, as they were.
func (p *placement) misled() (all []replicaMove) {
	for _, at := range p.partitions {
		if at.leader >= 0 && at.leader != at.replicas[0] {
			all = append(all, replicaMove{at.partition, at.replicas, at.replicas})
		}
	}
	return all
}

// failures is what was refused, as an error.
func failures(out *moveOutcome) error {
	if len(out.Failures) == 0 {
		return nil
	}
	return fmt.Errorf("%d partitions were not moved: %s", len(out.Failures), strings.Join(out.Failures, "; "))
}
