package apps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// servers is what an application runs against: a node, or a cluster.
type servers struct {
	nodes []*harness.Node
	turn  int // failures so far
}

func one(n *harness.Node) *servers { return &servers{nodes: []*harness.Node{n}} }

// three are the nodes of a fresh cluster of the run's choice that survives the loss of one of them, with these properties beside.
func three(t *testing.T, properties map[string]string) *servers {
	t.Helper()
	all := map[string]string{"min.insync.replicas": "2", "auto.create.topics.enable": "true", "default.replication.factor": "3"}
	for key, value := range properties {
		all[key] = value
	}
	return &servers{nodes: harness.StartChosenCluster(t, 3, all).Nodes}
}

func (s *servers) addresses() (all []string) {
	for _, n := range s.nodes {
		all = append(all, n.Address)
	}
	return all
}

// bootstrap is how Apache Kafka's programs are told.
func (s *servers) bootstrap() string { return strings.Join(s.addresses(), ",") }

// replicas is how many a topic has.
func (s *servers) replicas() int { return min(len(s.nodes), 3) }

// Client knows all nodes.
func (s *servers) Client(tb testing.TB, options ...kgo.Opt) *kgo.Client {
	tb.Helper()
	return s.nodes[0].Client(tb, append([]kgo.Opt{kgo.SeedBrokers(s.addresses()...)}, options...)...)
}

// createTopic makes a topic with a replica on every node, and waits until all are in sync.
func (s *servers) createTopic(t *testing.T, topic string, partitions int32, configs ...string) {
	t.Helper()
	if len(s.nodes) == 1 {
		s.nodes[0].CreateNamedTopic(t, topic, partitions, configs...)
		return
	}
	s.nodes[0].MakeTopic(t, topic, partitions, int16(s.replicas()), configs...)
	s.awaitInSync(t, topic)
}

// awaitInSync waits until all replicas of these topics, or of every topic, are in sync.
func (s *servers) awaitInSync(t *testing.T, topics ...string) {
	t.Helper()
	harness.Eventually(t, "all replicas are in sync", func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(s.addresses()...))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		details, err := kadm.NewClient(client).ListTopicsWithInternal(ctx, topics...)
		if err = errors.Join(err, details.Error()); err != nil {
			return err
		}
		if len(details) == 0 {
			return errors.New("there are no topics")
		}
		for name, topic := range details {
			for _, p := range topic.Partitions {
				if p.Err != nil || p.Leader < 0 || len(p.ISR) != len(p.Replicas) {
					return fmt.Errorf("%s-%d: leader %d, in sync %v of %v (%v)", name, p.Partition, p.Leader, p.ISR, p.Replicas, p.Err)
				}
			}
		}
		return nil
	})
}

// awaitPartitions waits until every node knows how many partitions a topic has now: a client that chooses partitions itself does not ask again.
func (s *servers) awaitPartitions(t *testing.T, topic string, count int) {
	t.Helper()
	for _, n := range s.nodes {
		harness.Await(t, "the partitions are known", func() bool {
			topics := harness.Asked(t, n, "topics are listed", func(ctx context.Context, admin *kadm.Client) (kadm.TopicDetails, error) {
				return admin.ListTopics(ctx, topic)
			})
			return len(topics[topic].Partitions) == count
		})
	}
}

// fail is failNode with another node each time.
func (s *servers) fail(t *testing.T, meanwhile func()) {
	t.Helper()
	n := s.nodes[s.turn%len(s.nodes)]
	s.turn++
	s.failNode(t, n, meanwhile)
}

// failNode ends a node by kill -9. One that is alone is started again before meanwhile runs; one of several is started again after it,
// when the others have done without it, and waited for.
func (s *servers) failNode(t *testing.T, n *harness.Node, meanwhile func()) {
	t.Helper()
	n.Kill(t)
	if len(s.nodes) == 1 {
		n.Restart(t)
		meanwhile()
		return
	}
	meanwhile()
	n.Restart(t)
	s.awaitInSync(t)
}

// groupCoordinator is the node that a group's members ask.
func (s *servers) groupCoordinator(t *testing.T, group string) *harness.Node {
	t.Helper()
	return s.coordinator(t, group, (*kadm.Client).FindGroupCoordinators)
}

// transactionCoordinator is the node that decides a producer's transactions.
func (s *servers) transactionCoordinator(t *testing.T, id string) *harness.Node {
	t.Helper()
	return s.coordinator(t, id, (*kadm.Client).FindTxnCoordinators)
}

func (s *servers) coordinator(t *testing.T, key string, find func(*kadm.Client, context.Context, ...string) kadm.FindCoordinatorResponses) (found *harness.Node) {
	t.Helper()
	harness.Eventually(t, "the coordinator of "+key, func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(s.addresses()...))
		if err != nil {
			return err
		}
		defer client.Close()
		answer := find(kadm.NewClient(client), ctx, key)[key]
		if answer.Err == nil {
			found = s.nodes[answer.NodeID-1]
		}
		return answer.Err
	})
	return found
}
