package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// standing is a replica that is to leave a node and has not yet, as JSON, with what it waits for.
type standing struct {
	partition
	Why string `json:"why"`
}

// drainStatus is how far a node is that is being emptied, as JSON.
type drainStatus struct {
	Node int32 `json:"node"`
	// ReplicasLeft are those that it has still. Standing are those of them that cannot go, or are under way; the others wait for their turn.
	ReplicasLeft int        `json:"replicasLeft"`
	Standing     []standing `json:"standing"`

	stays []partition // that no other node can take
}

// What a node does, of cluster status.
const (
	stateServes         = "serves"
	stateFenced         = "fenced"
	stateDraining       = "draining"        // its replicas go to other nodes
	stateDrained        = "drained"         // it has none, and gets none
	stateLeadersDrained = "leaders-drained" // it leads nothing that another can lead, and keeps its replicas
)

// readDrains asks which nodes are drained and which replicas move, and says why what is left does not go. Without an answer nothing is told.
func (s *clusterStatus) readDrains(ctx context.Context, client *kgo.Client, topics kadm.TopicDetails) {
	ctx, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	p := &placement{client: client, admin: kadm.NewClient(client), timeout: reachPatience, nodes: s.Nodes}
	s.hidden(p.readDraining(ctx)) // else of those that answer
	if len(p.draining) == 0 {
		return
	}
	moving, err := p.moving(ctx)
	if err != nil {
		return
	}
	p.place(topics, moving)
	for i := range s.Nodes {
		if n := &s.Nodes[i]; p.draining[n.ID] != "" {
			s.noteDrain(n, p)
		}
	}
}

// noteDrain is of one node that is drained.
func (s *clusterStatus) noteDrain(n *clusterNode, p *placement) {
	drain, leaving := p.drainOf(n.ID)
	drain.ReplicasLeft = n.Replicas
	switch n.Drain = p.draining[n.ID]; {
	case n.Replicas == 0:
		n.State = stateDrained
	case n.Drain == "leaders" && !leaving:
		n.State = stateLeadersDrained
	default:
		n.State = stateDraining
		s.Drains = append(s.Drains, drain)
	}
}

// drainOf is what stands of the replicas of a node that is to have none; leaving says that some of them are on their way.
func (p *placement) drainOf(node int32) (d drainStatus, leaving bool) {
	d = drainStatus{Node: node, Standing: []standing{}}
	for _, at := range p.partitions {
		if at.underWay && slices.Contains(at.removing, node) {
			leaving = true
			d.Standing = append(d.Standing, standing{at.partition, p.whyUnderWay(at)})
		}
	}
	_, stays, leaderless := p.planDrain(node)
	d.stays = stays
	for _, at := range p.partitions {
		switch {
		case slices.Contains(stays, at.partition):
			d.Standing = append(d.Standing, standing{at.partition, p.whyStays(at, node)})
		case slices.Contains(leaderless, at.partition):
			d.Standing = append(d.Standing, standing{at.partition, noLeader})
		}
	}
	return d, leaving
}

const noLeader = "it has no leader to be copied from"

// whyStays says why no other node can take a replica.
func (p *placement) whyStays(at placedPartition, node int32) string {
	return fmt.Sprintf("no other node can take it: its %d replicas need as many nodes, and without node %d it is %d that serve and are not drained",
		len(at.replicas), node, len(p.targets(node)))
}

// whyUnderWay says what a move waits for.
func (p *placement) whyUnderWay(at placedPartition) string {
	if at.leader < 0 {
		return noLeader
	}
	var waits []string
	for _, id := range without(at.replicas, at.inSync) {
		switch rate := min(p.throttle(id).follower, p.throttle(at.leader).leader); {
		case !serves(p.nodes, id):
			waits = append(waits, fmt.Sprintf("node %d, which is to have it, does not serve", id))
		case rate < math.MaxInt64:
			waits = append(waits, fmt.Sprintf("node %d is not in sync yet, and copies no more than %d bytes a second: a throttle is set", id, rate))
		default:
			waits = append(waits, fmt.Sprintf("node %d is not in sync yet", id))
		}
	}
	if len(waits) == 0 {
		return "the controller is about to end the move"
	}
	return strings.Join(waits, "; ")
}

// throttleOf are a node's rates in bytes a second; math.MaxInt64 is none.
type throttleOf struct{ leader, follower int64 }

func (p *placement) throttle(node int32) throttleOf {
	if t, known := p.throttles[node]; known {
		return t
	}
	return throttleOf{math.MaxInt64, math.MaxInt64}
}

// noteConfig takes what is of interest of a node's configuration.
func (p *placement) noteConfig(node int32, key, value string) {
	switch {
	case key == drainProperty && value != "none":
		p.draining[node] = value
	case slices.Contains(throttleRates, key):
		rate, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return
		}
		t := p.throttle(node)
		if key == throttleRates[0] {
			t.leader = rate
		} else {
			t.follower = rate
		}
		p.throttles[node] = t
	}
}

// stand gives what moves that are under way wait for, as of now.
func (p *placement) stand(ctx context.Context, moves []replicaMove) (all []standing) {
	if p.read(ctx) != nil {
		return nil
	}
	for _, at := range p.partitions {
		if at.underWay && slices.ContainsFunc(moves, func(m replicaMove) bool { return m.partition == at.partition }) {
			all = append(all, standing{at.partition, p.whyUnderWay(at)})
		}
	}
	return all
}

// writeDrains tells how far nodes are that are being emptied.
func (s *clusterStatus) writeDrains(w io.Writer) {
	for _, d := range s.Drains {
		fmt.Fprintf(w, "\nnode %d is draining, and has %s left\n", d.Node, counted(d.ReplicasLeft, "replica"))
		writeStanding(w, d.Standing)
	}
}

func writeStanding(w io.Writer, all []standing) {
	writeFirst(w, "  ", all, func(s standing) string { return partitionName(s.partition) + ": " + s.Why })
}
