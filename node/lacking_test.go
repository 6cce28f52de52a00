package node

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// A list of lacking replicas is read to the letter: of one that is damaged any replica may have been named.
func TestListOfLackingReplicas(t *testing.T) {
	listed, other := replicaName{wire.TopicID{1}, 7}, replicaName{wire.TopicID{2}, 0}
	id := listed.topic.String()
	for text, want := range map[string][]replicaName{
		lackingHead:                     nil,
		lackingHead + id + " 7\n":       {listed},
		"":                              {other},
		lackingHead + id + " 7":         {other},
		lackingHead + id + " 7x\n":      {other},
		lackingHead + id + " 7 8\n":     {other},
		lackingHead + id + " -7\n":      {other},
		lackingHead + id + " +7\n":      {other},
		lackingHead + id + "\n":         {other},
		lackingHead + "x 7\n":           {other},
		"ringmill lacking replicas 2\n": {other},
	} {
		n := &Node{state: &stateDir{path: t.TempDir()}, seams: defaultSeams(), metrics: newNodeMetrics()}
		if err := os.WriteFile(filepath.Join(n.state.path, lackingName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		k := newLackingReplicas(n)
		job := &openJob{topic: &topic{id: other.topic}, found: foundPartition{tp: wire.TopicPartition{Partition: other.index}}}
		if err := k.load([]*openJob{job}); err != nil {
			t.Fatal(err)
		}
		all := make(map[replicaName]wire.LeaderEpoch)
		for _, name := range want {
			all[name] = wire.NoLeaderEpoch
		}
		if !maps.Equal(k.all, all) {
			t.Errorf("%q: %v, want %v", text, k.all, all)
		}
	}
}

// What was written is read again, and a list of none is no file.
func TestListOfLackingReplicasIsKept(t *testing.T) {
	n := &Node{state: &stateDir{path: t.TempDir()}, seams: defaultSeams(), metrics: newNodeMetrics()}
	k, name := newLackingReplicas(n), replicaName{wire.TopicID{1}, 1000}
	k.set(name, 5, true)
	if err := k.save(); err != nil {
		t.Fatal(err)
	}
	again := newLackingReplicas(n)
	if err := again.load(nil); err != nil || !again.has(name) || len(again.all) != 1 {
		t.Errorf("%v, %v", again.all, err)
	}
	k.set(name, 5, false)
	if err := k.save(); err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(n.state.path, "*")); err != nil || len(files) > 0 {
		t.Errorf("%q, %v", files, err)
	}
}
