package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

func (a *app) nodeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "node", Short: "Take leaders and replicas from a node, and the node from the cluster", GroupID: groupCluster}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.nodeDrain(), a.nodeUnregister())
	return cmd
}

// drainFlags are those of node drain.
type drainFlags struct {
	moveFlags
	leaders, undo bool
}

func (a *app) nodeDrain() *cobra.Command {
	var flags drainFlags
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Have a node lead nothing, move its replicas to others, and place nothing new on it",
		Long: `Have a node lead nothing that another can lead, then move its replicas to other nodes, some partitions at a time, by reassignments as
kafka-reassign-partitions.sh makes them. Nothing new is placed on it until --undo says otherwise: its property ringmill.drain says so,
and outlives restarts of the node and of the controller. A command that is interrupted leaves those moves that are under way going; the same
command goes on from there. With --throttle its rate replaces those that are set on nodes and topics, and goes when all is moved.

Before maintenance that the data outlives --leaders is enough, and quick. --undo cancels moves that are under way, and lets the node lead
and have replicas again; what was moved stays where it is, and cluster balance spreads it.`,
		Example: `  ringmill node drain 3 --dry-run
  ringmill node drain 3 --parallel 20 --throttle 50000000
  ringmill node drain 3 --leaders
  ringmill node drain 3 --undo`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeOneBroker,
	}
	flags.register(cmd)
	cmd.Flags().BoolVar(&flags.leaders, "leaders", false, "take its leaders alone, and leave its replicas")
	cmd.Flags().BoolVar(&flags.undo, "undo", false, "let the node lead and have replicas again")
	cmd.MarkFlagsMutuallyExclusive("leaders", "undo")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := nodeID(cmd, args[0])
		if err != nil {
			return err
		}
		if err := flags.check(cmd); err != nil {
			return err
		}
		return a.placed(cmd.Context(), func(ctx context.Context, p *placement) error {
			if !p.registered(id) && len(p.replicasOf(id)) == 0 {
				return fmt.Errorf("node %d: there is no such node; ringmill cluster status shows those that there are", id)
			}
			if flags.undo {
				return a.undoDrain(ctx, p, id, flags.dryRun)
			}
			return a.drain(ctx, p, id, &flags)
		})
	}
	return cmd
}

// drainOutcome is node drain, as JSON.
type drainOutcome struct {
	Node    int32 `json:"node"`
	DryRun  bool  `json:"dryRun"`
	Leaders int   `json:"leaders"` // that the node had
	// LeadersLeft are the partitions that no other node can lead, or for a dry run could; Stays those that no other node can take, and
	// Leaderless those that have no leader, from which another node would copy them.
	LeadersLeft []partition   `json:"leadersLeft"`
	Plan        []replicaMove `json:"plan"`
	Stays       []partition   `json:"stays"`
	Leaderless  []partition   `json:"leaderless"`
	moveOutcome

	leadersOnly bool
}

func (a *app) drain(ctx context.Context, p *placement, node int32, f *drainFlags) error {
	out := drainOutcome{Node: node, DryRun: f.dryRun, leadersOnly: f.leaders, LeadersLeft: []partition{}, Plan: []replicaMove{}, Stays: []partition{}, Leaderless: []partition{},
		moveOutcome: newMoveOutcome()}
	for _, at := range p.partitions {
		if at.leader != node {
			continue
		}
		out.Leaders++
		if !p.otherLeads(at, node) {
			out.LeadersLeft = append(out.LeadersLeft, at.partition)
		}
	}
	if f.dryRun {
		out.plan(p, f)
		out.Waiting = len(out.Plan)
		return errors.Join(a.print(out, out.write), out.left())
	}
	if !serves(p.nodes, node) {
		if a.output == outputText {
			fmt.Fprintf(a.stdout, "node %d does not serve: it leads nothing, and nothing is placed on it until it does\n", node)
		}
	} else if err := a.drainLeaders(ctx, p, node, f.wait); err != nil {
		return err
	}
	out.plan(p, f) // now that nothing new is placed on it
	started, err := p.leaving(ctx, node)
	if err != nil {
		return err
	}
	if f.leaders {
		started = nil
	}
	made, err := p.run(ctx, out.Plan, started, &f.moveFlags, shownProgress{a})
	if err != nil {
		return err
	}
	out.moveOutcome = *made
	if err := a.print(out, out.write); err != nil {
		return err
	}
	return errors.Join(out.left(), failures(made))
}

// left is the error of what the node keeps, of a dry run as of the real one.
func (o *drainOutcome) left() error {
	if n := len(o.Leaderless) + len(o.Stuck); n > 0 {
		return notCopied(n)
	}
	if n := len(o.Stays); n > 0 {
		return fmt.Errorf("no other node can take %s: start more nodes, or give these topics fewer replicas", counted(n, "replica"))
	}
	return nil
}

// drainLeaders has the controller take leaders from a node that serves, and waits for it.
func (a *app) drainLeaders(ctx context.Context, p *placement, node int32, wait time.Duration) error {
	if err := p.setDrain(ctx, node, "leaders"); err != nil {
		return err
	}
	if err := p.awaitLeaders(ctx, node, wait); err != nil {
		return err
	}
	if a.output == outputText {
		fmt.Fprintf(a.stdout, "node %d leads nothing that another can lead\n", node)
	}
	return nil
}

// registered says whether the cluster knows the node; one that was unregistered may have replicas still.
func (p *placement) registered(node int32) bool {
	return slices.ContainsFunc(p.nodes, func(n clusterNode) bool { return n.ID == node })
}

// plan is of what the node has now.
func (o *drainOutcome) plan(p *placement, f *drainFlags) {
	if !f.leaders {
		plan, stays, leaderless := p.planDrain(o.Node)
		o.Plan, o.Stays, o.Leaderless = append(o.Plan, plan...), append(o.Stays, stays...), append(o.Leaderless, leaderless...)
	}
}

// otherLeads says whether another node that serves is in sync.
func (p *placement) otherLeads(at placedPartition, node int32) bool {
	return slices.ContainsFunc(at.inSync, func(id int32) bool {
		return id != node && p.draining[id] == "" && serves(p.nodes, id)
	})
}

// write is the end of a drain, or what it would do.
func (o *drainOutcome) write(w io.Writer) {
	switch {
	case o.DryRun:
		fmt.Fprintf(w, "leaders that go elsewhere: %d of %d\n", o.Leaders-len(o.LeadersLeft), o.Leaders)
		if len(o.Plan) > 0 {
			writePlan(w, o.Plan)
		}
	case o.leadersOnly:
	case len(o.Stays)+len(o.Leaderless)+len(o.Stuck)+len(o.Failures) == 0:
		fmt.Fprintf(w, "%s moved: node %d has none and may go\n", counted(len(o.Moved), "replica"), o.Node)
	default:
		fmt.Fprintf(w, "%s moved\n", counted(len(o.Moved), "replica"))
	}
	writeStaying(w, o.Stays, "no other node can take it")
	writeStaying(w, slices.Concat(o.Leaderless, o.Stuck), noLeader)
}

func writeStaying(w io.Writer, partitions []partition, why string) {
	writeFirst(w, "", partitions, func(p partition) string { return partitionName(p) + " stays: " + why })
}

// setDrain says what the controller takes from a node; "" takes nothing. Nodes of other makes know of no such thing: they move leaders with
// the replicas.
func (p *placement) setDrain(ctx context.Context, node int32, kind string) error {
	change := kadm.AlterConfig{Op: kadm.DeleteConfig, Name: drainProperty}
	if kind != "" {
		change.Op, change.Value = kadm.SetConfig, &kind
	}
	return p.within(ctx, func(ctx context.Context) error {
		answers, err := p.admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{change}, node)
		if err != nil {
			return err
		}
		for _, r := range answers {
			if r.Err != nil {
				return refused("node", r.Name, r.Err, r.ErrMessage)
			}
		}
		return nil
	})
}

// leadersPatience is how long leaders may take to go elsewhere where the command may wait without end: they need no data to be copied.
const leadersPatience = time.Minute

// awaitLeaders waits until a node leads nothing that another could.
func (p *placement) awaitLeaders(ctx context.Context, node int32, wait time.Duration) error {
	if wait == 0 {
		wait = leadersPatience
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		if err := p.read(limited); err != nil && limited.Err() == nil {
			return err
		}
		left := 0
		for _, at := range p.partitions {
			if at.leader == node && p.otherLeads(at, node) {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		select {
		case <-limited.Done():
			return errors.Join(ctx.Err(), fmt.Errorf("node %d still leads %s; it is marked as drained, and the same command goes on", node, counted(left, "partition")))
		case <-time.After(movePause):
		}
	}
}

// undoDrain lets a node lead and have replicas again, and cancels the moves away from it.
func (a *app) undoDrain(ctx context.Context, p *placement, node int32, dryRun bool) error {
	started, err := p.leaving(ctx, node)
	if err != nil {
		return err
	}
	cancelled := []partition{}
	for _, m := range started {
		cancelled = append(cancelled, m.partition)
	}
	if !serves(p.nodes, node) {
		return fmt.Errorf("node %d does not serve: start it first, for its property ringmill.drain is set by itself", node)
	}
	if !dryRun {
		if err := p.setDrain(ctx, node, ""); err != nil {
			return err
		}
		if err := p.cancelMoves(ctx, started); err != nil {
			return err
		}
		var preferred []replicaMove
		for _, at := range p.partitions {
			if at.replicas[0] == node && at.leader != node || slices.Contains(cancelled, at.partition) {
				preferred = append(preferred, replicaMove{at.partition, at.replicas, at.replicas})
			}
		}
		if err := p.electPreferred(ctx, preferred); err != nil {
			return err
		}
	}
	return a.print(map[string]any{"node": node, "cancelled": cancelled, "dryRun": dryRun}, func(w io.Writer) {
		for _, at := range cancelled {
			fmt.Fprintf(w, "the move of %s is cancelled\n", partitionName(at))
		}
		fmt.Fprintf(w, "node %d leads and has replicas as any other\n", node)
	})
}

// cancelMoves ends moves that are under way, with their throttle.
func (p *placement) cancelMoves(ctx context.Context, started []replicaMove) error {
	if len(started) == 0 {
		return nil
	}
	var req kadm.AlterPartitionAssignmentsReq
	for _, m := range started {
		req.CancelAssign(m.Topic, m.Partition)
	}
	if err := p.within(ctx, func(ctx context.Context) error {
		_, err := p.admin.AlterPartitionAssignments(ctx, req)
		return err
	}); err != nil {
		return err
	}
	return p.alterThrottle(ctx, started, nil)
}
