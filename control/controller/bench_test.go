package controller

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// bigCluster has 100,000 partitions of three replicas on thirty nodes, in topics of that many partitions.
func bigCluster(b *testing.B, perTopic int32) (*Controller, *image.Image) {
	b.Helper()
	records := []image.Record{image.ClusterRecord{ClusterID: clusterID, NodeID: wire.NoNode}}
	for i := range 30 {
		records = append(records, image.BrokerRecord{Broker: image.Broker{ID: wire.NodeID(i), Epoch: wire.BrokerEpoch(i + 1), Incarnation: uuid(i), Rack: fmt.Sprint(i % 3)}})
	}
	m, err := new(image.Image).With(records...)
	if err != nil {
		b.Fatal(err)
	}
	c := New(testConfig(rand.New(rand.NewPCG(1, 2))))
	c.BecomeController(m, 0)
	for i := range 100_000 / perTopic {
		records, why := c.CreateTopic(m, TopicSpec{Name: fmt.Sprintf("topic.%06d", i), ID: uuid(int(i)), Partitions: perTopic, ReplicationFactor: 3})
		if why.Code != wire.None {
			b.Fatal(why)
		}
		if m, err = m.With(records...); err != nil {
			b.Fatal(err)
		}
	}
	return c, m
}

// A node with 10,000 replicas, and a third of them led by it, is fenced.
func BenchmarkFence(b *testing.B) {
	for _, perTopic := range []int32{1, 10, 1000} {
		b.Run(fmt.Sprintf("topics of %d", perTopic), func(b *testing.B) {
			c, m := bigCluster(b, perTopic)
			req := kmsg.NewPtrBrokerHeartbeatRequest()
			req.BrokerID, req.BrokerEpoch, req.WantFence = 3, 4, true
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c.Rebase(m)
				b.StartTimer()
				records, _ := c.Heartbeat(m, time.Second, req)
				if len(records) < 9000 {
					b.Fatalf("%d records", len(records))
				}
			}
		})
	}
}

// A leader's one follower leaves and comes back: what the controller does most.
func BenchmarkAlterPartition(b *testing.B) {
	c, m := bigCluster(b, 10)
	t := m.ByName("topic.000007")
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = 3
	for b.Loop() {
		s := t.State(3)
		part := kmsg.NewAlterPartitionRequestTopicPartition()
		part.Partition, part.LeaderEpoch, part.PartitionEpoch = 3, int32(s.LeaderEpoch), int32(s.PartitionEpoch)
		for _, id := range s.Replicas {
			if id == s.Leader || len(s.ISR) < len(s.Replicas) {
				part.NewEpochISR = append(part.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: int32(id), BrokerEpoch: int64(id) + 1})
			}
		}
		req.BrokerID, req.BrokerEpoch = int32(s.Leader), int64(s.Leader)+1
		req.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: t.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{part}}}
		records, _ := c.AlterPartition(m, req)
		if len(records) != 1 {
			b.Fatal("nothing changed")
		}
		m, _ = m.With(records...)
		t = m.ByName("topic.000007")
	}
}

// A node becomes the controller of 100,000 partitions.
func BenchmarkBecomeController(b *testing.B) {
	c, m := bigCluster(b, 10)
	for b.Loop() {
		c.BecomeController(m, 0)
	}
}
