package image

import (
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// TestClustered: what a standalone node knows, a cluster that begins with it knows too, and of each partition who has it.
func TestClustered(t *testing.T) {
	alone := must(new(Image).With(ClusterRecord{"c", 7}, ProducerIDsRecord{3000}, FeatureLevelRecord{"metadata.version", 27}, topic("old", 2), PartitionsRecord{id(2), 2},
		LeaderEpochRecord{4}, topic("new", 1), LeaderEpochRecord{6}, config(TopicResource, "old", "retention.ms", "5"),
		config(BrokerResource, "7", "log.cleaner.threads", "2")))
	m, err := alone.Clustered(Broker{ID: 7, Fenced: true, Rack: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if m.ClusterID() != "c" || m.NodeID() != wire.NoNode || m.NextProducerID() != 3000 || m.LeaderEpoch() != 0 {
		t.Errorf("cluster %s of node %d, producer ids from %d, leader epoch %d", m.ClusterID(), m.NodeID(), m.NextProducerID(), m.LeaderEpoch())
	}
	if b := m.Broker(7); b == nil || !b.Fenced || b.Rack != "r" {
		t.Errorf("the node is %+v", b)
	}
	for name, want := range map[string]struct {
		partitions int
		epoch      wire.LeaderEpoch
	}{"old": {2, 6}, "new": {1, 2}} {
		topic, seen := m.ByName(name), 0
		for i, s := range topic.States() {
			seen++
			if !slices.Equal(s.Replicas, []wire.NodeID{7}) || !slices.Equal(s.ISR, s.Replicas) || s.Leader != wire.NoNode || s.LeaderEpoch != want.epoch {
				t.Errorf("%s-%d: %+v, want leader epoch %d", name, i, *s, want.epoch)
			}
		}
		if seen != want.partitions || topic.ID != alone.ByName(name).ID {
			t.Errorf("%s: %d partitions have a state, of %d; id %s, was %s", name, seen, want.partitions, topic.ID, alone.ByName(name).ID)
		}
	}
	if got := m.ByName("old").Configs["retention.ms"]; got != "5" {
		t.Errorf("old's retention.ms is %q", got)
	}
	if got := m.Configs(Resource{BrokerResource, "7"})["log.cleaner.threads"]; got != "2" {
		t.Errorf("the node's log.cleaner.threads is %q", got)
	}
	if read, err := ReadSnapshot(m.AppendSnapshot(nil)); err != nil || read.Version() != m.Version() {
		t.Errorf("its snapshot: %v", err)
	}
}
