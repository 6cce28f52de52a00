package node

import (
	"fmt"
	"testing"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// TestNextVoterChange: a member is node.directory, a voter with a v behind it; a node has the directory that it registered with, and one that
// is fenced or drained an x.
func TestNextVoterChange(t *testing.T) {
	for _, test := range []struct {
		name    string
		members []string
		nodes   []string
		wanted  int
		change  string
	}{
		{"enough voters", []string{"1.1v", "2.1v", "3.1v", "4.1"}, []string{"1.1", "2.1", "3.1", "4.1"}, 3, ""},
		{"too few", []string{"1.1v", "2.1v", "3.1"}, []string{"1.1", "2.1", "3.1"}, 3, "add 3.1"},
		{"too few, and nobody is fit", []string{"1.1v", "2.1v", "3.1", "4.1"}, []string{"1.1", "2.1", "3.1x", "4.1x"}, 3, ""},
		{"an operator's to say", []string{"1.1v", "2.1v", "3.1"}, []string{"1.1", "2.1", "3.1"}, 0, ""},
		{"a voter's disk is lost", []string{"1.1v", "2.1v", "3.1v", "3.2"}, []string{"1.1", "2.1", "3.2"}, 3, "add 3.2"},
		{"it is fenced still", []string{"1.1v", "2.1v", "3.1v", "3.2"}, []string{"1.1", "2.1", "3.2x"}, 3, ""},
		{"it votes", []string{"1.1v", "2.1v", "3.1v", "3.2v"}, []string{"1.1", "2.1", "3.2"}, 3, "demote 3.1"},
		{"its old self votes no more", []string{"1.1v", "2.1v", "3.1", "3.2v"}, []string{"1.1", "2.1", "3.2"}, 3, "remove 3.1"},
		{"it is not registered again yet", []string{"1.1v", "2.1v", "3.1v", "3.2"}, []string{"1.1", "2.1", "3.1x"}, 3, ""},
		{"a voter that is away keeps its place", []string{"1.1v", "2.1v", "3.1v", "4.1"}, []string{"1.1", "2.1", "3.1x", "4.1"}, 3, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			directory := func(n byte) wire.UUID { return wire.UUID{1, n} }
			var members []quorum.Member
			for _, text := range test.members {
				var m quorum.Member
				m.NodeID, m.DirectoryID, m.Voter = wire.NodeID(text[0]-'0'), directory(text[2]-'0'), len(text) > 3
				members = append(members, m)
			}
			records := []image.Record{image.ClusterRecord{ClusterID: "c", NodeID: wire.NoNode}}
			for _, text := range test.nodes {
				records = append(records, image.BrokerRecord{Broker: image.Broker{ID: wire.NodeID(text[0] - '0'), DirectoryID: directory(text[2] - '0'), Fenced: len(text) > 3}})
			}
			m, err := new(image.Image).With(records...)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if change, key := nextVoterChange(members, m, test.wanted); change != nil {
				names := map[string]voterChange{"add": (*quorum.Quorum).AddVoter, "demote": (*quorum.Quorum).RemoveVoter, "remove": (*quorum.Quorum).Remove}
				for name, c := range names {
					if fmt.Sprintf("%p", c) == fmt.Sprintf("%p", change) {
						got = fmt.Sprintf("%s %d.%d", name, key.NodeID, key.DirectoryID[1])
					}
				}
			}
			if got != test.change {
				t.Errorf("%q, want %q", got, test.change)
			}
		})
	}
}

// TestVoterJudges: the answers are those of Apache Kafka 4.1.1.
func TestVoterJudges(t *testing.T) {
	key := func(node wire.NodeID, directory byte) quorum.ReplicaKey {
		return quorum.ReplicaKey{NodeID: node, DirectoryID: wire.UUID{directory}}
	}
	members := []quorum.Member{{ReplicaKey: key(1, 1), Voter: true}, {ReplicaKey: key(2, 2), Voter: true}, {ReplicaKey: key(3, 3)}}
	for _, test := range []struct {
		name  string
		judge voterJudge
		key   quorum.ReplicaKey
		want  wire.ErrorCode
	}{
		{"a learner is to vote", mayVote, key(3, 3), wire.None},
		{"a voter is to vote", mayVote, key(2, 2), wire.DuplicateVoter},
		{"a voter's node with another directory", mayVote, key(2, 9), wire.DuplicateVoter},
		{"nobody's directory is to vote", mayVote, key(3, 0), wire.InvalidRequest},
		{"no node is to vote", mayVote, key(-1, 3), wire.InvalidRequest},
		{"a voter is removed", mayBeRemoved, key(2, 2), wire.None},
		{"a learner is removed", mayBeRemoved, key(3, 3), wire.VoterNotFound},
		{"a voter with another directory is removed", mayBeRemoved, key(2, 9), wire.VoterNotFound},
		{"nobody's directory is removed", mayBeRemoved, key(2, 0), wire.InvalidRequest},
	} {
		if got, why := test.judge(members, test.key); got != test.want || (why == "") != (got == wire.None) {
			t.Errorf("%s: %v %q, want %v", test.name, got, why, test.want)
		}
	}
}

// TestMemberKey: the id of a log directory stands for that of the node's part of the quorum, of the same node alone.
func TestMemberKey(t *testing.T) {
	part, log, other := wire.UUID{1}, wire.UUID{2}, wire.UUID{3}
	m, err := new(image.Image).With(image.ClusterRecord{ClusterID: "c", NodeID: wire.NoNode},
		image.BrokerRecord{Broker: image.Broker{ID: 1, DirectoryID: part, LogDirs: []wire.UUID{log}}},
		image.BrokerRecord{Broker: image.Broker{ID: 2, DirectoryID: other}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ named, want quorum.ReplicaKey }{
		{quorum.ReplicaKey{NodeID: 1, DirectoryID: part}, quorum.ReplicaKey{NodeID: 1, DirectoryID: part}},
		{quorum.ReplicaKey{NodeID: 1, DirectoryID: log}, quorum.ReplicaKey{NodeID: 1, DirectoryID: part}},
		{quorum.ReplicaKey{NodeID: 2, DirectoryID: log}, quorum.ReplicaKey{NodeID: 2, DirectoryID: log}},
		{quorum.ReplicaKey{NodeID: 9, DirectoryID: log}, quorum.ReplicaKey{NodeID: 9, DirectoryID: log}},
	} {
		if got := memberKey(m, test.named); got != test.want {
			t.Errorf("%v is %v, want %v", test.named, got, test.want)
		}
	}
}
