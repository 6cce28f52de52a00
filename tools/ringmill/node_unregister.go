package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// unregisterFlags are those of node unregister.
type unregisterFlags struct{ dryRun, leaveReplicas bool }

func (a *app) nodeUnregister() *cobra.Command {
	var flags unregisterFlags
	cmd := &cobra.Command{
		Use:   "unregister NODE",
		Short: "Take a node that is gone for good out of the cluster's metadata",
		Long: `Take a node that has ended and will not come back out of the cluster's metadata: it is listed no more, and is in no in-sync set. One that did
not vote on the metadata leaves their quorum with it; a voter's vote is taken away by cluster voters remove.

A node that serves is refused, for it would register again: stop it first. So is one that has replicas: node drain moves them to others, whether
the node runs or not. Those that cannot be moved, since no other node has a copy, stay assigned to it with --leave-replicas; they are led again
if a node with that id and that data comes back, and go with their topics.`,
		Example: `  ringmill node unregister 3 --dry-run
  ringmill node unregister 3`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeOneBroker,
	}
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "show what would be left, and change nothing")
	cmd.Flags().BoolVar(&flags.leaveReplicas, "leave-replicas", false, "have the replicas that the node still has stay assigned to it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		node, err := nodeID(cmd, args[0])
		if err != nil {
			return err
		}
		return a.placed(cmd.Context(), func(ctx context.Context, p *placement) error { return a.unregister(ctx, p, node, flags) })
	}
	return cmd
}

// nodeID reads a node's id from the command line.
func nodeID(cmd *cobra.Command, arg string) (int32, error) {
	id, err := strconv.ParseInt(arg, 10, 32)
	if err != nil || id < 0 {
		return 0, wrongUse(cmd, "%q: must be a node's id", arg)
	}
	return int32(id), nil
}

// unregisterOutcome is node unregister, as JSON.
type unregisterOutcome struct {
	Node     int32       `json:"node"`
	DryRun   bool        `json:"dryRun"`
	Replicas []partition `json:"replicas"` // that stay assigned to it
	Voter    bool        `json:"voter"`    // whether it still votes on the metadata
}

func (a *app) unregister(ctx context.Context, p *placement, node int32, f unregisterFlags) error {
	if serves(p.nodes, node) {
		return fmt.Errorf("node %d serves, or did so a moment ago, and would register again: stop it, and wait until ringmill cluster status shows it as fenced", node)
	}
	out := unregisterOutcome{Node: node, DryRun: f.dryRun, Replicas: p.replicasOf(node)}
	if n := len(out.Replicas); n > 0 && !f.leaveReplicas {
		return fmt.Errorf("node %d has %s, that of %s for one: ringmill node drain %d moves them to other nodes; those that cannot be moved stay with --leave-replicas",
			node, counted(n, "replica"), partitionName(out.Replicas[0]), node)
	}
	if err := p.within(ctx, func(ctx context.Context) error {
		quorum, err := describeQuorum(ctx, p.client)
		out.Voter = quorum.votes(node)
		if err != nil || f.dryRun {
			return err
		}
		return askUnregister(ctx, p.client, node)
	}); err != nil {
		return err
	}
	return a.print(out, out.write)
}

// replicasOf are the partitions of which a node has a replica, or will have.
func (p *placement) replicasOf(node int32) []partition {
	has := []partition{}
	for _, at := range p.partitions {
		if slices.Contains(at.replicas, node) {
			has = append(has, at.partition)
		}
	}
	return has
}

func askUnregister(ctx context.Context, client *kgo.Client, node int32) error {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = node
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return refused("node", fmt.Sprint(node), err, orNone(resp.ErrorMessage))
	}
	return nil
}

func (o *unregisterOutcome) write(w io.Writer) {
	is, stay, votes := "is", "stay", "still votes"
	if len(o.Replicas) == 1 {
		stay = "stays"
	}
	if o.DryRun {
		is, stay, votes = "would be", "would stay", "would still vote"
	}
	fmt.Fprintf(w, "node %d %s registered no more\n", o.Node, is)
	if n := len(o.Replicas); n > 0 {
		fmt.Fprintf(w, "%s %s assigned to it: ringmill node drain %d moves those that another node has a copy of\n", counted(n, "replica"), stay, o.Node)
	}
	if o.Voter {
		fmt.Fprintf(w, "it %s on the metadata: ringmill cluster voters remove %d takes its vote away\n", votes, o.Node)
	}
}
