package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// metadata asks one node, and no other, for what it knows.
func metadata(ctx context.Context, t *testing.T, n *harness.Node, topics ...string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, topic := range topics {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &topic})
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(n.Address), kgo.RequestRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	resp, err := client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.MetadataResponse), nil
}

// awaitAgreement waits until these nodes tell of the same brokers, these, and of the same controller, and gives its id.
func awaitAgreement(t *testing.T, nodes []*harness.Node, brokers ...int32) (controller int32) {
	t.Helper()
	harness.Eventually(t, fmt.Sprint("all nodes tell of brokers ", brokers), func(ctx context.Context) error {
		controller = -1
		for _, n := range nodes {
			m, err := metadata(ctx, t, n)
			if err != nil {
				return err
			}
			var ids []int32
			for i := range m.Brokers {
				ids = append(ids, m.Brokers[i].NodeID)
			}
			if !slices.Equal(ids, brokers) || m.ControllerID < 0 || controller >= 0 && m.ControllerID != controller {
				return fmt.Errorf("%s tells of brokers %v and controller %d", n.Address, ids, m.ControllerID)
			}
			controller = m.ControllerID
		}
		return nil
	})
	return controller
}

// createTopic makes a topic through one node.
func createTopic(t *testing.T, n *harness.Node, partitions int32, replicas int16) string {
	t.Helper()
	topic := harness.Name("topic")
	n.MakeTopic(t, topic, partitions, replicas)
	return topic
}

// TestThreeNodesAreOneCluster: fresh nodes form a cluster, topics that are made through any of them are there on all, and each leads its
// part of them.
func TestThreeNodesAreOneCluster(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	for _, n := range c.Nodes {
		topic := createTopic(t, n, 6, 1)
		for _, other := range c.Nodes {
			awaitTopic(t, other, topic, func(p *kmsg.MetadataResponseTopicPartition) error {
				if p.Leader < 1 || len(p.Replicas) != 1 || p.Replicas[0] != p.Leader || !slices.Equal(p.ISR, p.Replicas) {
					return fmt.Errorf("partition %d: leader %d, replicas %v, in sync %v", p.Partition, p.Leader, p.Replicas, p.ISR)
				}
				return nil
			})
		}
		values := harness.Numbered("v", 60)
		n.Produce(t, topic, values, kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
		for _, other := range c.Nodes {
			got := harness.Values(other.Consume(t, topic, len(values)))
			slices.Sort(got)
			slices.Sort(values)
			if !slices.Equal(got, values) {
				t.Errorf("%s gives %d records of %s, want %d", other.Address, len(got), topic, len(values))
			}
		}
	}
	topic := createTopic(t, c.Nodes[0], 4, 3)
	awaitTopic(t, c.Nodes[1], topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		if len(p.Replicas) != 3 || p.Leader != p.Replicas[0] {
			return fmt.Errorf("partition %d: leader %d of replicas %v", p.Partition, p.Leader, p.Replicas)
		}
		return nil
	})
}

// awaitTopic waits until a node tells of a topic all of whose partitions pass.
func awaitTopic(t *testing.T, n *harness.Node, topic string, check func(p *kmsg.MetadataResponseTopicPartition) error) {
	t.Helper()
	harness.Eventually(t, topic+" at "+n.Address, func(ctx context.Context) error {
		m, err := metadata(ctx, t, n, topic)
		if err != nil {
			return err
		}
		if code := m.Topics[0].ErrorCode; code != 0 {
			return kerr.ErrorForCode(code)
		}
		for i := range m.Topics[0].Partitions {
			if err := check(&m.Topics[0].Partitions[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestOnlyTheLeaderTellsOfOffsets: another node sends who asks for a partition's end on.
func TestOnlyTheLeaderTellsOfOffsets(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	topic := createTopic(t, c.Nodes[0], 1, 1)
	var leader int32
	awaitTopic(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		leader = p.Leader
		return nil
	})
	for i, n := range c.Nodes {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: -1, CurrentLeaderEpoch: -1}}}}
		harness.Eventually(t, "ListOffsets at "+n.Address, func(ctx context.Context) error {
			client, err := kgo.NewClient(kgo.SeedBrokers(n.Address))
			if err != nil {
				return err
			}
			defer client.Close()
			resp, err := client.SeedBrokers()[0].Request(ctx, req)
			if err != nil {
				return err
			}
			got, want := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode, int16(0)
			if int32(i+1) != leader {
				want = kerr.NotLeaderForPartition.Code
			}
			if got != want {
				return fmt.Errorf("error %d, want %d", got, want)
			}
			return nil
		})
	}
}

// TestTheControllerIsKilled: another node becomes the controller, topics can be made, and the node that was killed comes back.
func TestTheControllerIsKilled(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	first := awaitAgreement(t, c.Nodes, 1, 2, 3)
	before := createTopic(t, c.Nodes[0], 3, 1)
	killed := c.Nodes[first-1]
	killed.Kill(t)
	var rest []*harness.Node
	var ids []int32
	for i, n := range c.Nodes {
		if n != killed {
			rest, ids = append(rest, n), append(ids, int32(i+1))
		}
	}
	if second := awaitAgreement(t, rest, ids...); second == first {
		t.Errorf("the killed node %d is told of as the controller", first)
	}
	after := createTopic(t, rest[0], 3, 1)
	killed.Restart(t)
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	for _, topic := range []string{before, after} {
		awaitTopic(t, killed, topic, hasLeader)
	}
}

// TestAllNodesRestart: a cluster whose nodes all stop, one after the other, is there again when they start together.
func TestAllNodesRestart(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	topic := createTopic(t, c.Nodes[0], 3, 1)
	for _, n := range c.Nodes {
		n.Stop(t)
	}
	c.Restart(t)
	awaitAgreement(t, c.Nodes, 1, 2, 3)
	for _, n := range c.Nodes {
		awaitTopic(t, n, topic, hasLeader)
	}
}

// TestAFourthNodeJoins: it is given replicas, and does not vote.
func TestAFourthNodeJoins(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	before := createTopic(t, c.Nodes[0], 3, 1)
	added := c.Add(t, nil)
	awaitAgreement(t, c.Nodes, 1, 2, 3, 4)
	awaitTopic(t, added, before, noCheck)
	topic := createTopic(t, added, 8, 1)
	leads := false
	awaitTopic(t, c.Nodes[0], topic, func(p *kmsg.MetadataResponseTopicPartition) error {
		leads = leads || p.Leader == 4
		return nil
	})
	if !leads {
		t.Error("none of 8 new partitions is led by the new node")
	}
	voters, observers := quorumOf(t, added)
	if len(voters) != 3 || !slices.Equal(observers, []int32{4}) {
		t.Errorf("voters %v, observers %v", voters, observers)
	}
}

// quorumOf are the ids of the members of the metadata quorum that vote, and of those that do not.
func quorumOf(t *testing.T, n *harness.Node) (voters, observers []int32) {
	t.Helper()
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	q := harness.Ask[*kmsg.DescribeQuorumResponse](t, n, req)
	if q.ErrorCode != 0 || len(q.Topics) != 1 {
		t.Fatalf("%+v", q)
	}
	p := &q.Topics[0].Partitions[0]
	for i := range p.CurrentVoters {
		voters = append(voters, p.CurrentVoters[i].ReplicaID)
	}
	for i := range p.Observers {
		observers = append(observers, p.Observers[i].ReplicaID)
	}
	return voters, observers
}

func noCheck(*kmsg.MetadataResponseTopicPartition) error { return nil }

func hasLeader(p *kmsg.MetadataResponseTopicPartition) error {
	if p.Leader < 1 {
		return fmt.Errorf("partition %d has no leader", p.Partition)
	}
	return nil
}

// staysOpen connects, and says why the connection does not last: the socket of a killed process takes some for as long as the kernel needs to
// end its ring.
func staysOpen(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return err
	}
	if _, err = conn.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// TestClientsThatComeEarly: requests at a node that is still starting are answered when it serves, and none fails.
func TestClientsThatComeEarly(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	topic := createTopic(t, c.Nodes[0], 3, 1)
	c.Nodes[1].Kill(t)
	c.Nodes[1].Begin(t)
	harness.Eventually(t, "the node that starts takes connections", func(ctx context.Context) error { return staysOpen(ctx, c.Nodes[1].Address) })
	client := c.Nodes[1].Client(t)
	if _, err := kadm.NewClient(client).ListTopics(harness.Context(t), topic); err != nil {
		t.Error(err)
	}
}
