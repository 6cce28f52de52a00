package main

import (
	"context"
	"errors"
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
only if it has at least two more than the one that takes over. Nodes that are drained are given nothing. A partition without a leader has
nothing to be copied from: it is left out, and the exit status is 1. The plan is shown first; then it is carried out, some partitions at a time, by reassignments as kafka-reassign-partitions.sh makes them. A command that is interrupted leaves
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
	Plan []replicaMove `json:"plan"`
	// Leaderless have no leader, from which another node would copy them, and stay where they are.
	Leaderless []partition `json:"leaderless"`
	DryRun     bool        `json:"dryRun"`
	moveOutcome
}

func (a *app) balance(ctx context.Context, p *placement, f *moveFlags) error {
	plan, leaderless := p.planBalance()
	out := balanceOutcome{Plan: append([]replicaMove{}, plan...), Leaderless: append([]partition{}, leaderless...), DryRun: f.dryRun, moveOutcome: newMoveOutcome()}
	if a.output == outputText {
		out.writePlan(a.stdout)
	}
	if f.dryRun {
		out.Waiting = len(out.Plan)
		return errors.Join(a.print(out, func(io.Writer) {}), notCopied(len(out.Leaderless)))
	}
	made, err := p.run(ctx, out.Plan, nil, f, shownProgress{a})
	if err == nil {
		err = p.electPreferred(ctx, p.misled())
	}
	if err != nil {
		return err
	}
	out.moveOutcome = *made
	if err := a.print(out, func(w io.Writer) {
		fmt.Fprintf(w, "%s moved\n", counted(len(out.Moved), "partition"))
		writeStaying(w, out.Stuck, noLeader)
	}); err != nil {
		return err
	}
	return errors.Join(notCopied(len(out.Leaderless)+len(out.Stuck)), failures(made))
}

// writePlan is what a balance does, and what it leaves out.
func (o *balanceOutcome) writePlan(w io.Writer) {
	switch {
	case len(o.Plan) > 0:
		writePlan(w, o.Plan)
	case len(o.Leaderless) == 0:
		fmt.Fprintln(w, "replicas are in balance")
	}
	writeStaying(w, o.Leaderless, noLeader)
}

// notCopied is the error of a command that leaves n partitions where they are because they have no leader.
func notCopied(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s no leader to be copied from: ringmill cluster status says which nodes to start", counted(n, "partition has", "partitions have"))
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
	return fmt.Errorf("%s not moved: %s", counted(len(out.Failures), "partition was", "partitions were"), strings.Join(out.Failures, "; "))
}
