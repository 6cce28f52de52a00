package replicatetest

import (
	"strings"
	"testing"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// TestCheckPrefixesSees: a check that never failed proves nothing.
func TestCheckPrefixesSees(t *testing.T) {
	var nodes []*Node
	for i, value := range []string{"a", "b"} {
		n, err := NewNode(wire.NodeID(i), replicate.FlushCache, Config(), 1)
		if err != nil {
			t.Fatal(err)
		}
		n.Partition.Lead(0, replicate.LeaderState{Metadata: n.Metadata(replicate.Metadata{}), Self: n.ID, Replicas: []wire.NodeID{n.ID}, ISR: []wire.NodeID{n.ID}}, &n.Effects)
		if _, err := n.Produce("r", replicate.AcksAll, wire.BatchHeader{}, value); err != nil {
			t.Fatal(err)
		}
		if err := n.Write(1); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	if err := CheckPrefixes(nodes); err == nil || !strings.Contains(err.Error(), "I5") {
		t.Errorf("two logs that differ: %v", err)
	}
	nodes[1].Down = true
	if err := CheckPrefixes(nodes); err != nil {
		t.Error(err)
	}
}
