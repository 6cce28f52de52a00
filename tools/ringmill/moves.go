package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/reassign"
	"github.com/ringmill/ringmill/wire"
)

// replicaMove gives a partition other replicas, or another order of them; the preferred leader stands first. As JSON.
type replicaMove struct {
	partition
	From []int32 `json:"from"`
	To   []int32 `json:"to"`
}

// moveFlags are those of commands that move replicas.
type moveFlags struct {
	dryRun   bool
	parallel int
	throttle int64
	wait     time.Duration
}

func (f *moveFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "show the plan and change nothing")
	flags.IntVar(&f.parallel, "parallel", 10, "how many partitions are moved at a time")
	flags.Var(byteCount[int64]{&f.throttle}, "throttle", "bytes a second, as 50MB, that each node may copy for the moves; 0: no bound")
	flags.DurationVar(&f.wait, "wait", 0, "how long to wait for the end of it; 0: as long as it takes")
	for _, name := range []string{"parallel", "throttle", "wait"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

func (f *moveFlags) check(cmd *cobra.Command) error {
	switch {
	case f.parallel < 1:
		return wrongUse(cmd, "--parallel %d: must be 1 or more", f.parallel)
	case f.throttle < 0:
		return wrongUse(cmd, "--throttle %d: must not be negative", f.throttle)
	}
	return nil
}

// placement is where a cluster's partitions are, and where they may go.
type placement struct {
	client     *kgo.Client
	admin      *kadm.Client
	timeout    time.Duration // of a request
	nodes      []clusterNode
	draining   map[int32]string // what ringmill.drain says of nodes that are drained
	throttles  map[int32]throttleOf
	partitions []placedPartition
}

// placedPartition is a partition with the replicas that it has, or will have at the end of a reassignment that is under way.
type placedPartition struct {
	partition
	replicas []int32
	leader   int32
	inSync   []int32
	removing []int32 // that it has until a reassignment is at its end
	underWay bool
}

// within runs one request within the timeout.
func (p *placement) within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	return cause(ask(ctx))
}

// read asks for all of it.
func (p *placement) read(ctx context.Context) error {
	return p.within(ctx, func(ctx context.Context) error {
		status := clusterStatus{}
		if err := status.readNodes(ctx, p.client); err != nil {
			return err
		}
		p.nodes = status.Nodes
		if err := cmp.Or(p.readDraining(ctx), topicsHidden(ctx, p.client)); err != nil {
			return err // what cannot be seen is not moved, and a node that has it is not empty
		}
		topics, err := p.admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return err
		}
		moving, err := p.moving(ctx)
		if err != nil {
			return err
		}
		p.place(topics, moving)
		return nil
	})
}

// place takes where partitions are, and where those go that move.
func (p *placement) place(topics kadm.TopicDetails, moving kadm.ListPartitionReassignmentsResponses) {
	p.partitions = p.partitions[:0]
	for _, t := range topics.Sorted() {
		for _, d := range t.Partitions.Sorted() {
			at := placedPartition{partition: partition{d.Topic, d.Partition}, replicas: d.Replicas, leader: d.Leader, inSync: d.ISR}
			if r, under := moving[d.Topic][d.Partition]; under {
				at.replicas, at.removing, at.underWay = without(r.Replicas, r.RemovingReplicas), r.RemovingReplicas, true
			}
			p.partitions = append(p.partitions, at)
		}
	}
}

// drainProperty is a node's property by which it is drained.
const drainProperty = "ringmill.drain"

// readDraining asks which nodes are drained, and how nodes are throttled. Other makes of nodes know of no drains. What is known after an error is
// what the others answered.
func (p *placement) readDraining(ctx context.Context) error {
	p.draining, p.throttles = make(map[int32]string), make(map[int32]throttleOf)
	all, err := p.admin.DescribeBrokerConfigs(ctx, serving(p.nodes)...)
	for _, r := range all {
		id, unreadable := strconv.ParseInt(r.Name, 10, 32)
		if unreadable != nil || r.Err != nil {
			continue
		}
		for _, c := range r.Configs {
			p.noteConfig(int32(id), c.Key, orNone(c.Value))
		}
	}
	if errors.Is(err, kerr.ClusterAuthorizationFailed) {
		return errDrainsHidden
	}
	return err
}

// targets are the nodes that replicas may go to: those that serve and are not drained, without one.
func (p *placement) targets(without int32) (nodes []reassign.Node) {
	for _, n := range p.nodes {
		if n.ID != without && !n.Fenced && p.draining[n.ID] == "" {
			nodes = append(nodes, reassign.Node{ID: wire.NodeID(n.ID), Rack: orNone(n.Rack)})
		}
	}
	return nodes
}

// planDrain moves every replica of a node to the least loaded of the others, into another rack where there is one. stays are those that no
// other node can take, leaderless those that no node can be given a copy of.
func (p *placement) planDrain(node int32) (plan []replicaMove, stays, leaderless []partition) {
	nodes, load := p.targets(node), make(map[wire.NodeID]int)
	for _, at := range p.partitions {
		for _, id := range at.replicas {
			load[wire.NodeID(id)]++
		}
	}
	for _, at := range p.partitions {
		place := slices.Index(at.replicas, node)
		if place < 0 || at.underWay {
			continue
		}
		if at.leader < 0 {
			leaderless = append(leaderless, at.partition)
			continue
		}
		to, ok := reassign.Replacement(nodes, func(id wire.NodeID) int { return load[id] }, wire.NodeIDs(at.replicas), wire.NodeID(node))
		if !ok {
			stays = append(stays, at.partition)
			continue
		}
		load[to]++
		replicas := slices.Clone(at.replicas)
		replicas[place] = int32(to)
		plan = append(plan, replicaMove{at.partition, at.replicas, replicas})
	}
	return plan, stays, leaderless
}

// leaving are the moves away from a node that are under way already.
func (p *placement) leaving(ctx context.Context, node int32) (started []replicaMove, err error) {
	moving, err := p.moving(ctx)
	for _, r := range moving.Sorted() {
		if slices.Contains(r.RemovingReplicas, node) {
			started = append(started, replicaMove{partition{r.Topic, r.Partition}, r.Replicas, without(r.Replicas, r.RemovingReplicas)})
		}
	}
	return started, err
}

// planBalance spreads replicas and preferred leaders evenly. leaderless are those that no node can be given a copy of, and that stay.
func (p *placement) planBalance() (plan []replicaMove, leaderless []partition) {
	placed := make([]reassign.Placed, len(p.partitions))
	for i, at := range p.partitions {
		placed[i] = reassign.Placed{Replicas: wire.NodeIDs(at.replicas), Fixed: at.underWay || at.leader < 0}
		if at.leader < 0 {
			leaderless = append(leaderless, at.partition)
		}
	}
	for _, moved := range reassign.Balance(p.targets(-1), placed) {
		at := p.partitions[moved.Partition]
		to := make([]int32, len(moved.Replicas))
		for i, id := range moved.Replicas {
			to[i] = int32(id)
		}
		plan = append(plan, replicaMove{at.partition, at.replicas, to})
	}
	return plan, leaderless
}

// movePause is how often moves that are under way are looked at.
const movePause = 500 * time.Millisecond

// moveOutcome is what has become of a plan, as JSON.
type moveOutcome struct {
	Moved    []replicaMove `json:"moved"`
	UnderWay int           `json:"underWay"`
	Waiting  int           `json:"waiting"`
	Failures []string      `json:"failures"`
	// Stuck are begun, and have no leader to be copied from: they go on once it is back, and are not waited for.
	Stuck []partition `json:"stuck"`
}

func newMoveOutcome() moveOutcome {
	return moveOutcome{Moved: []replicaMove{}, Failures: []string{}, Stuck: []partition{}}
}

// moveProgress is told how far a plan is, and what is under way waits for, if nothing has happened for a while.
type moveProgress interface {
	moved(moved, underWay, waiting int)
	standStill(all []standing)
}

// standStillAfter is how long nothing may happen until it is said why: many times what a partition without much in it takes.
const standStillAfter = 15 * time.Second

// run carries out a plan, some partitions at a time, and shows how far it is; moves that were started before count as its own. It ends when
// all is done, and before where ctx ends or the wait is over: what is under way then goes on.
func (p *placement) run(ctx context.Context, plan, started []replicaMove, f *moveFlags, progress moveProgress) (*moveOutcome, error) {
	made := newMoveOutcome()
	out := &made
	if f.wait > 0 {
		limited, cancel := context.WithTimeout(ctx, f.wait)
		defer cancel()
		ctx = limited
	}
	if err := p.setThrottle(ctx, plan, f.throttle); err != nil {
		return out, err
	}
	waiting := plan
	plan = append(slices.Clone(plan), started...)
	happened, told := time.Now(), []standing(nil)
	for last := -1; ; {
		moving, err := p.moving(ctx)
		if err != nil {
			return out, p.interrupted(ctx, out, started, err)
		}
		started = out.take(started, moving)
		some := min(max(f.parallel-len(started), 0), len(waiting))
		begun, err := p.begin(ctx, waiting[:some], out)
		if err != nil {
			return out, p.interrupted(ctx, out, started, err)
		}
		waiting, started = waiting[some:], append(started, begun...)
		out.UnderWay, out.Waiting = len(started), len(waiting)
		if len(out.Moved) != last || some > 0 {
			last, happened = len(out.Moved), time.Now()
			progress.moved(len(out.Moved), len(started), len(waiting))
		}
		if time.Since(happened) > standStillAfter {
			happened = time.Now()
			stands := p.stand(ctx, started)
			if !slices.Equal(stands, told) {
				told = stands
				progress.standStill(stands)
			}
			started = out.leave(started, stands)
		}
		if len(started) == 0 && len(waiting) == 0 {
			return out, p.finish(ctx, plan, f.throttle)
		}
		select {
		case <-ctx.Done():
			return out, p.interrupted(ctx, out, started, ctx.Err())
		case <-time.After(movePause):
		}
	}
}

// take counts those of the moves that have ended, and gives the others.
func (out *moveOutcome) take(started []replicaMove, moving kadm.ListPartitionReassignmentsResponses) (goOn []replicaMove) {
	return slices.DeleteFunc(started, func(m replicaMove) bool {
		_, under := moving[m.Topic][m.Partition]
		if !under {
			out.Moved = append(out.Moved, m)
		}
		return !under
	})
}

// leave gives up waiting for those of the moves that have no leader to be copied from, so that others have their places. A leader that is only being
// replaced is there long before a stand still is told.
func (out *moveOutcome) leave(started []replicaMove, stands []standing) (goOn []replicaMove) {
	return slices.DeleteFunc(started, func(m replicaMove) bool {
		stuck := slices.Contains(stands, standing{m.partition, noLeader})
		if stuck {
			out.Stuck = append(out.Stuck, m.partition)
		}
		return stuck
	})
}

// interrupted says what goes on without the command, and what one of the moves waits for.
func (p *placement) interrupted(ctx context.Context, out *moveOutcome, started []replicaMove, err error) error {
	if ctx.Err() == nil {
		return err
	}
	waits := ""
	if all := p.stand(context.WithoutCancel(ctx), started); len(all) > 0 {
		waits = fmt.Sprintf("; %s: %s", partitionName(all[0].partition), all[0].Why)
	}
	return fmt.Errorf("%d moved, %d under way and going on, %d not begun: the same command goes on with it%s", len(out.Moved), out.UnderWay, out.Waiting, waits)
}

// moving are all reassignments that are under way. kadm lists those of topics that are named, and without names none.
func (p *placement) moving(ctx context.Context) (kadm.ListPartitionReassignmentsResponses, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	var resp *kmsg.ListPartitionReassignmentsResponse
	err := p.within(ctx, func(ctx context.Context) (err error) {
		resp, err = req.RequestWith(ctx, p.client)
		return err
	})
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		return nil, err
	}
	all := make(kadm.ListPartitionReassignmentsResponses)
	for _, t := range resp.Topics {
		all[t.Topic] = make(map[int32]kadm.ListPartitionReassignmentsResponse)
		for _, r := range t.Partitions {
			all[t.Topic][r.Partition] = kadm.ListPartitionReassignmentsResponse{
				Topic: t.Topic, Partition: r.Partition, Replicas: r.Replicas, AddingReplicas: r.AddingReplicas, RemovingReplicas: r.RemovingReplicas,
			}
		}
	}
	return all, nil
}

// begin asks for some moves; what is refused is noted, and the rest goes on.
func (p *placement) begin(ctx context.Context, moves []replicaMove, out *moveOutcome) (begun []replicaMove, err error) {
	if len(moves) == 0 {
		return nil, nil
	}
	var req kadm.AlterPartitionAssignmentsReq
	for _, m := range moves {
		req.Assign(m.Topic, m.Partition, m.To)
	}
	var answers kadm.AlterPartitionAssignmentsResponses
	if err := p.within(ctx, func(ctx context.Context) (err error) {
		answers, err = p.admin.AlterPartitionAssignments(ctx, req)
		return err
	}); err != nil {
		return nil, err
	}
	for _, m := range moves {
		if r := answers[m.Topic][m.Partition]; r.Err != nil {
			out.Failures = append(out.Failures, refused("partition", partitionName(m.partition), r.Err, r.ErrMessage).Error())
			continue
		}
		begun = append(begun, m)
	}
	return begun, nil
}

// finish has preferred leaders lead, and takes the throttle away.
func (p *placement) finish(ctx context.Context, plan []replicaMove, throttle int64) error {
	if err := p.electPreferred(ctx, plan); err != nil || throttle == 0 {
		return err
	}
	return p.alterThrottle(ctx, plan, nil)
}

// electPreferred has the preferred leaders of partitions lead. Those that cannot now will when leaders are balanced.
func (p *placement) electPreferred(ctx context.Context, plan []replicaMove) error {
	if len(plan) == 0 {
		return nil
	}
	set := kadm.TopicsSet{}
	for _, m := range plan {
		set.Add(m.Topic, m.Partition)
	}
	return p.within(ctx, func(ctx context.Context) error {
		_, err := p.admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, set)
		return err
	})
}

// throttleRates and throttledReplicas are the properties of KIP-73, of nodes and of topics.
var (
	throttleRates     = []string{"leader.replication.throttled.rate", "follower.replication.throttled.rate"}
	throttledReplicas = []string{"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
)

// setThrottle bounds what nodes copy for a plan. Replicas that are in sync are not slowed by it.
func (p *placement) setThrottle(ctx context.Context, plan []replicaMove, rate int64) error {
	if rate == 0 || len(plan) == 0 {
		return nil
	}
	return p.alterThrottle(ctx, plan, &rate)
}

// alterThrottle sets the throttle, or takes it away.
func (p *placement) alterThrottle(ctx context.Context, plan []replicaMove, rate *int64) error {
	changes := func(names []string, value string) (all []kadm.AlterConfig) {
		for _, name := range names {
			c := kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name}
			if rate != nil {
				c.Op, c.Value = kadm.SetConfig, &value
			}
			all = append(all, c)
		}
		return all
	}
	value := ""
	if rate != nil {
		value = fmt.Sprint(*rate)
	}
	var topics []string
	for _, m := range plan {
		if !slices.Contains(topics, m.Topic) {
			topics = append(topics, m.Topic)
		}
	}
	return p.within(ctx, func(ctx context.Context) error {
		brokers, err := p.admin.AlterBrokerConfigs(ctx, changes(throttleRates, value), serving(p.nodes)...)
		if err != nil {
			return err
		}
		all, err := p.admin.AlterTopicConfigs(ctx, changes(throttledReplicas, "*"), topics...)
		if err != nil {
			return err
		}
		for _, r := range append(brokers, all...) {
			if r.Err != nil && !errors.Is(r.Err, kerr.UnknownTopicOrPartition) {
				return refused("throttle of", r.Name, r.Err, r.ErrMessage)
			}
		}
		return nil
	})
}

// placed runs a command that moves replicas.
func (a *app) placed(ctx context.Context, do func(context.Context, *placement) error) error {
	client, err := a.client.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	p := &placement{client: client, admin: kadm.NewClient(client), timeout: a.client.timeout}
	if err := p.read(ctx); err != nil {
		return err
	}
	return do(ctx, p)
}

// shownProgress writes lines of text as a plan goes on; JSON tells of the end alone.
type shownProgress struct{ *app }

func (a shownProgress) moved(moved, underWay, waiting int) {
	if a.output == outputText && underWay+waiting > 0 {
		fmt.Fprintf(a.stdout, "moved %d, under way %d, waiting %d\n", moved, underWay, waiting)
	}
}

func (a shownProgress) standStill(all []standing) {
	if a.output == outputText {
		writeStanding(a.stdout, all)
	}
}

func writePlan(w io.Writer, plan []replicaMove) {
	var rows [][]string
	for _, m := range plan {
		rows = append(rows, []string{m.Topic, fmt.Sprint(m.Partition), joined(m.From), joined(m.To)})
	}
	table(w, []string{"TOPIC", "PARTITION", "REPLICAS", "NEW-REPLICAS"}, rows)
}
