package main

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestClusterProblems: what is wrong is counted, and said with what to do about it.
func TestClusterProblems(t *testing.T) {
	s := &clusterStatus{ClusterID: "c", Controller: -1, Nodes: []clusterNode{{ID: 1, Address: "a:1"}, {ID: 2, Address: "a:2", Fenced: true}}}
	s.member(1, "voter", 0)
	s.member(7, "voter", 3)
	s.nodeProblems()
	s.count(kadm.PartitionDetail{Topic: "t", Partition: 0, Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
	s.count(kadm.PartitionDetail{Topic: "t", Partition: 1, Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1}})
	s.count(kadm.PartitionDetail{Topic: "t", Partition: 2, Leader: -1, Replicas: []int32{2}, ISR: []int32{2}})
	if want := (partitionCounts{Total: 3, Offline: 1, UnderReplicated: 1}); s.Partitions != want {
		t.Errorf("%+v, want %+v", s.Partitions, want)
	}
	if s.Nodes[0].Leaders != 2 || s.Nodes[0].Replicas != 2 || s.Nodes[1].Leaders != 0 || s.Nodes[1].Replicas != 3 {
		t.Errorf("leaders and replicas: %+v", s.Nodes)
	}
	var text strings.Builder
	s.write(&text)
	for _, want := range []string{
		"controller none", "voter 7 of the metadata quorum is no node", "there is no controller", "node 2 (a:2) is fenced",
		"partition t-1 lacks replicas in sync: 2 of 1,2", "partition t-2 has no leader: replicas 2, in sync were 2",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in:\n%s", want, text.String())
		}
	}
	if len(s.Problems) != 5 {
		t.Errorf("%d problems, want 5: %+v", len(s.Problems), s.Problems)
	}
}
