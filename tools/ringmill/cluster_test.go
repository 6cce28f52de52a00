package main

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestClusterProblems: what is wrong is counted, and said with what to do about it.
func TestClusterProblems(t *testing.T) {
	s := &clusterStatus{ClusterID: "c", Controller: -1, Nodes: []clusterNode{{ID: 1, Address: "a:1"}, {ID: 2, Address: "a:2", Fenced: true}}}
	s.member(quorumMember{Node: 1, Role: roleVoter})
	s.member(quorumMember{Node: 7, Role: roleVoter, Lag: 3})
	s.count(kadm.PartitionDetail{Topic: "t", Partition: 0, Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
	s.count(kadm.PartitionDetail{Topic: "t", Partition: 1, Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1}})
	s.count(kadm.PartitionDetail{Topic: "t", Partition: 2, Leader: -1, Replicas: []int32{2}})
	s.nodeProblems()
	if want := (partitionCounts{Total: 3, Offline: 1, UnderReplicated: 1}); s.Partitions != want {
		t.Errorf("%+v, want %+v", s.Partitions, want)
	}
	if s.Nodes[0].Leaders != 2 || s.Nodes[0].Replicas != 2 || s.Nodes[1].Leaders != 0 || s.Nodes[1].Replicas != 3 {
		t.Errorf("leaders and replicas: %+v", s.Nodes)
	}
	var text strings.Builder
	s.write(&text)
	for _, want := range []string{
		"controller none", "voter 7 of the metadata quorum is no node", "there is no controller", "node 2 (a:2) is fenced", "ringmill node drain 2 ", "ringmill node unregister 2 ", "ringmill cluster voters remove 7\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in:\n%s", want, text.String())
		}
	}
	if len(s.Problems) != 3 {
		t.Errorf("%d problems, want 3: %+v", len(s.Problems), s.Problems)
	}
}

// TestPartitionProblems: the cure names the nodes that help.
func TestPartitionProblems(t *testing.T) {
	s := &clusterStatus{Nodes: []clusterNode{{ID: 1}, {ID: 2, Fenced: true}, {ID: 3}}}
	without := kadm.PartitionDetail{Topic: "t", Partition: 2, Leader: -1, Replicas: []int32{2, 4}}
	lone := kadm.PartitionDetail{Topic: "t", Partition: 1, Leader: -1, Replicas: []int32{2}}
	for _, c := range []struct {
		got           problem
		problem, cure string
	}{
		{leaderless(without, nil), "partition t-2 has no leader: replicas 2,4", "start the nodes of its replicas; only if that does not help, ringmill topic elect"},
		{leaderless(lone, nil), "partition t-1 has no leader: replicas 2", "start the nodes of its replicas; only if that does not help, its records are lost: there is no other"},
		{leaderless(lone, []int32{2}), "partition t-1 has no leader: replicas 2, of which 2 has all that was acknowledged",
			"start node 2, which leads as soon as it serves; only if it is gone for good, its records are lost: there is no other"},
		{leaderless(without, []int32{4}), "partition t-2 has no leader: replicas 2,4, of which 4 has all that was acknowledged",
			"start node 4, which leads as soon as it serves; only if it is gone for good, ringmill topic elect"},
		{leaderless(without, []int32{2, 4}), "partition t-2 has no leader: replicas 2,4, of which 2,4 have all that was acknowledged",
			"start any of the nodes 2,4, which leads as soon as it serves; only if all of them are gone for good, its records are lost: there is no other"},
		{s.underReplicated(kadm.PartitionDetail{Topic: "t", Leader: 1, Replicas: []int32{1, 2, 3}, ISR: []int32{1}}),
			"partition t-0 lacks replicas in sync: 2,3 of 1,2,3", "start node 2; what runs catches up by itself"},
		{s.underReplicated(kadm.PartitionDetail{Topic: "t", Leader: 1, Replicas: []int32{1, 2, 4}, ISR: []int32{1}}),
			"partition t-0 lacks replicas in sync: 2,4 of 1,2,4", "start nodes 2,4; what runs catches up by itself"},
		{s.underReplicated(kadm.PartitionDetail{Topic: "t", Leader: 1, Replicas: []int32{1, 3}, ISR: []int32{1}}),
			"partition t-0 lacks replicas in sync: 3 of 1,3", "wait: what runs catches up by itself; if not, see the log of node 3"},
	} {
		if c.got.Problem != c.problem || !strings.HasPrefix(c.got.Cure, c.cure) {
			t.Errorf("%+v, want %q and %q", c.got, c.problem, c.cure)
		}
	}
}

// TestProblemsOfOneCure: a node that is down is the cause of a thousand problems, and starting it is said once.
func TestProblemsOfOneCure(t *testing.T) {
	s := &clusterStatus{Problems: []problem{{"a", "start node 2"}, {"b", "start node 3"}}}
	for range 7 {
		s.Problems = append(s.Problems, problem{"c", "start node 2"})
	}
	var text strings.Builder
	s.writeProblems(&text)
	want := "\na\nc\nc\nc\nc\n... and 3 more (-o json has all)\n  start node 2\n\nb\n  start node 3\n"
	if text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
}

// TestVotersThatRemain: a vote is not taken away where nothing could be decided without it.
func TestVotersThatRemain(t *testing.T) {
	const now, long = 1_000_000, 900_000
	voter := func(id int32, fetched int64) quorumMember {
		return quorumMember{Node: id, Role: roleVoter, LastFetch: fetched}
	}
	for _, c := range []struct {
		leaves int
		of     []quorumMember
		ok     bool
	}{
		{1, []quorumMember{voter(1, now), voter(2, now-200), voter(3, now-100)}, true},
		{2, []quorumMember{voter(1, now), voter(2, now-200), voter(3, long)}, true},  // the one that is gone
		{1, []quorumMember{voter(1, now), voter(2, now-200), voter(3, long)}, false}, // one that is needed
		{1, []quorumMember{voter(1, now), voter(2, now-200), voter(3, -1)}, false},   // not heard of since the leader leads
		{1, []quorumMember{voter(1, now), voter(2, now), {Node: 3, Role: roleObserver, LastFetch: long}}, true},
		{0, []quorumMember{voter(1, now)}, false},
	} {
		q := metadataQuorum{Members: c.of}
		if err := q.remains(c.of[c.leaves]); (err == nil) != c.ok {
			t.Errorf("node %d leaves %+v: %v", c.of[c.leaves].Node, c.of, err)
		}
	}
}

// TestWhatADrainWaitsFor: each replica that is to leave a node and cannot, or is on its way, is told of with the reason.
func TestWhatADrainWaitsFor(t *testing.T) {
	const none = math.MaxInt64
	p := &placement{
		nodes:     []clusterNode{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4, Fenced: true}, {ID: 5}},
		draining:  map[int32]string{3: "replicas", 5: "leaders"},
		throttles: map[int32]throttleOf{1: {leader: 5000, follower: none}, 2: {leader: none, follower: 1000}},
		partitions: []placedPartition{
			{partition: partition{"all", 0}, replicas: []int32{1, 2, 3}, leader: 1, inSync: []int32{1, 2, 3}},
			{partition: partition{"free", 0}, replicas: []int32{1, 3}, leader: 1, inSync: []int32{1, 3}},
			{partition: partition{"gone", 0}, replicas: []int32{3}, leader: -1},
			{partition: partition{"late", 0}, replicas: []int32{2}, leader: 3, inSync: []int32{3}, removing: []int32{3}, underWay: true},
			{partition: partition{"slow", 0}, replicas: []int32{2}, leader: 1, inSync: []int32{1, 3}, removing: []int32{3}, underWay: true},
			{partition: partition{"dead", 0}, replicas: []int32{4}, leader: 3, inSync: []int32{3}, removing: []int32{3}, underWay: true},
			{partition: partition{"soon", 0}, replicas: []int32{2}, leader: 2, inSync: []int32{2, 3}, removing: []int32{3}, underWay: true},
			{partition: partition{"other", 0}, replicas: []int32{2}, leader: 5, inSync: []int32{5}, removing: []int32{5}, underWay: true},
		},
	}
	d, leaving := p.drainOf(3)
	var told strings.Builder
	writeStanding(&told, d.Standing[:5])
	writeStanding(&told, d.Standing[5:])
	const want = `  late-0: node 2 is not in sync yet, and copies no more than 1000 bytes a second: a throttle is set
  slow-0: node 2 is not in sync yet, and copies no more than 1000 bytes a second: a throttle is set
  dead-0: node 4, which is to have it, does not serve
  soon-0: the controller is about to end the move
  all-0: no other node can take it: its 3 replicas need as many nodes, and without node 3 it is 2 that serve and are not drained
  gone-0: it has no leader to be copied from
`
	if told.String() != want || !leaving {
		t.Errorf("leaving %v:\n%s", leaving, told.String())
	}
	s := &clusterStatus{Nodes: []clusterNode{{ID: 3, Replicas: 7}, {ID: 3}, {ID: 5, Replicas: 1}}}
	for i := range s.Nodes {
		s.noteDrain(&s.Nodes[i], p)
	}
	if got := []string{s.Nodes[0].State, s.Nodes[1].State, s.Nodes[2].State}; !slices.Equal(got, []string{stateDraining, stateDrained, stateDraining}) {
		t.Errorf("states %v", got)
	}
	s.drainProblems()
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Problem, "all-0 stays on node 3") {
		t.Errorf("%+v", s.Problems)
	}
	p.partitions = p.partitions[:7] // nothing leaves node 5 any more
	s = &clusterStatus{Nodes: []clusterNode{{ID: 5, Replicas: 1}}}
	if s.noteDrain(&s.Nodes[0], p); s.Nodes[0].State != stateLeadersDrained || len(s.Drains) > 0 {
		t.Errorf("%+v", s)
	}
}

// TestWhatABalanceLeavesOut: a partition without a leader has nothing to be copied from. It stays, although its only node is dead, and the others
// are spread as if it were theirs to count.
func TestWhatABalanceLeavesOut(t *testing.T) {
	p := &placement{
		nodes: []clusterNode{{ID: 1}, {ID: 2, Fenced: true}, {ID: 3}},
		partitions: []placedPartition{
			{partition: partition{"gone", 0}, replicas: []int32{2}, leader: -1},
			{partition: partition{"gone", 1}, replicas: []int32{2}, leader: -1},
			{partition: partition{"here", 0}, replicas: []int32{1}, leader: 1, inSync: []int32{1}},
			{partition: partition{"here", 1}, replicas: []int32{1}, leader: 1, inSync: []int32{1}},
		},
	}
	plan, leaderless := p.planBalance()
	wantPlan, wantLeft := []replicaMove{{partition{"here", 0}, []int32{1}, []int32{3}}}, []partition{{"gone", 0}, {"gone", 1}}
	if !reflect.DeepEqual(plan, wantPlan) || !slices.Equal(leaderless, wantLeft) {
		t.Errorf("%v without %v, want %v without %v", plan, leaderless, wantPlan, wantLeft)
	}
	var text strings.Builder
	(&balanceOutcome{Leaderless: leaderless}).writePlan(&text)
	if want := "gone-0 stays: it has no leader to be copied from\ngone-1 stays: it has no leader to be copied from\n"; text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
	if err := notCopied(len(leaderless)); err == nil || !strings.HasPrefix(err.Error(), "2 partitions have no leader to be copied from: ") {
		t.Error(err)
	}
}

// TestMovesThatLoseTheirLeader: they hold the places of others no longer, and are told of at the end.
func TestMovesThatLoseTheirLeader(t *testing.T) {
	moves := []replicaMove{{partition: partition{"t", 0}}, {partition: partition{"t", 1}}}
	out := newMoveOutcome()
	goOn := out.leave(moves, []standing{{partition{"t", 0}, noLeader}, {partition{"t", 1}, "node 3 is not in sync yet"}})
	if len(goOn) != 1 || goOn[0].partition != (partition{"t", 1}) || !slices.Equal(out.Stuck, []partition{{"t", 0}}) {
		t.Errorf("goes on %v, is left %v", goOn, out.Stuck)
	}
}

func TestCounted(t *testing.T) {
	for want, got := range map[string]string{
		"0 voters are": counted(0, "voter is", "voters are"), "1 voter is": counted(1, "voter is", "voters are"), "1 replica": counted(1, "replica"), "2 replicas": counted(2, "replica"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestElectionPlans: what a plan shows is what can be done.
func TestElectionPlans(t *testing.T) {
	lost := kadm.PartitionDetail{Topic: "t", Leader: -1, Replicas: []int32{2, 3}}
	for _, c := range []struct {
		of         kadm.PartitionDetail
		unclean    bool
		serve      []int32
		candidates []int32
		outcome    string
	}{
		{lost, true, []int32{1, 3}, []int32{3}, "planned"},
		{lost, true, []int32{1}, []int32{}, "not possible: no replica serves"},
		{lost, false, []int32{1, 2, 3}, []int32{}, "not possible: the preferred replica is not in sync"},
		{kadm.PartitionDetail{Topic: "t", Leader: 3, Replicas: []int32{2, 3}, ISR: []int32{2, 3}}, false, []int32{2, 3}, []int32{2}, "planned"},
		{kadm.PartitionDetail{Topic: "t", Leader: 3, Replicas: []int32{2, 3}, ISR: []int32{3}}, true, []int32{3}, []int32{}, "not needed"},
	} {
		e := newElection(c.of, c.unclean, c.serve)
		if e.outcome() != c.outcome || !slices.Equal(e.Candidates, c.candidates) {
			t.Errorf("%+v, unclean %v, of %v: %s by %v, want %s by %v", c.of, c.unclean, c.serve, e.outcome(), e.Candidates, c.outcome, c.candidates)
		}
		err := (&electionPlan{elections: []election{e}}).impossible()
		if (err != nil) != (e.Result == notPossible) {
			t.Errorf("%s: %v", e.outcome(), err)
		}
	}
}
