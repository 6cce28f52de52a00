package cluster

import (
	"context"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// askOne has one node, and no other, answer a request.
func askOne[R kmsg.Response](t *testing.T, n *harness.Node, req kmsg.Request) (resp R) {
	t.Helper()
	harness.Eventually(t, kmsg.NameForKey(req.Key())+" at "+n.Address, func(ctx context.Context) error {
		client, err := kgo.NewClient(kgo.SeedBrokers(n.Address))
		if err != nil {
			return err
		}
		defer client.Close()
		got, err := client.SeedBrokers()[0].Request(ctx, req)
		if err == nil {
			resp = got.(R)
		}
		return err
	})
	return resp
}

// TestControllerRequestsAtAnyNode: what the controller has to decide can be asked for at every node, and is in force on all of them.
func TestControllerRequestsAtAnyNode(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	for i, n := range c.Nodes {
		topic := createTopic(t, n, 2, 1)
		retention, user := fmt.Sprint(1000000+i), harness.Name("user")

		grow := kmsg.NewPtrCreatePartitionsRequest()
		grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: topic, Count: 5}}
		if r := askOne[*kmsg.CreatePartitionsResponse](t, n, grow).Topics[0]; r.ErrorCode != 0 {
			t.Errorf("CreatePartitions: %d %v", r.ErrorCode, r.ErrorMessage)
		}
		set := kmsg.NewPtrIncrementalAlterConfigsRequest()
		set.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
			ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "retention.ms", Value: &retention}},
		}}
		if r := askOne[*kmsg.IncrementalAlterConfigsResponse](t, n, set).Resources[0]; r.ErrorCode != 0 {
			t.Errorf("IncrementalAlterConfigs: %d %v", r.ErrorCode, r.ErrorMessage)
		}
		quota := kmsg.NewPtrAlterClientQuotasRequest()
		quota.Entries = []kmsg.AlterClientQuotasRequestEntry{{
			Entity: []kmsg.AlterClientQuotasRequestEntryEntity{{Type: "user", Name: &user}},
			Ops:    []kmsg.AlterClientQuotasRequestEntryOp{{Key: "producer_byte_rate", Value: 1e9}},
		}}
		if r := askOne[*kmsg.AlterClientQuotasResponse](t, n, quota).Entries[0]; r.ErrorCode != 0 {
			t.Errorf("AlterClientQuotas: %d %v", r.ErrorCode, r.ErrorMessage)
		}
		for _, other := range c.Nodes {
			awaitConfigured(t, other, topic, retention, user)
		}
		remove := kmsg.NewPtrDeleteTopicsRequest()
		remove.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &topic}}
		if r := askOne[*kmsg.DeleteTopicsResponse](t, n, remove).Topics[0]; r.ErrorCode != 0 && r.ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("DeleteTopics: %d %v", r.ErrorCode, r.ErrorMessage)
		}
		for _, other := range c.Nodes {
			harness.Eventually(t, topic+" is gone at "+other.Address, func(ctx context.Context) error {
				m, err := metadata(ctx, t, other, topic)
				if err == nil && m.Topics[0].ErrorCode != kerr.UnknownTopicOrPartition.Code {
					err = fmt.Errorf("error %d", m.Topics[0].ErrorCode)
				}
				return err
			})
		}
	}
}

// awaitConfigured waits until a node tells of a topic's five partitions and its configuration, and of a user's quota.
func awaitConfigured(t *testing.T, n *harness.Node, topic, retention, user string) {
	t.Helper()
	awaitTopic(t, n, topic, noCheck)
	harness.Eventually(t, "what was changed at "+n.Address, func(ctx context.Context) error {
		m, err := metadata(ctx, t, n, topic)
		if err != nil {
			return err
		}
		if len(m.Topics[0].Partitions) != 5 {
			return fmt.Errorf("%d partitions", len(m.Topics[0].Partitions))
		}
		describe := kmsg.NewPtrDescribeConfigsRequest()
		describe.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"retention.ms"}}}
		if r := askOne[*kmsg.DescribeConfigsResponse](t, n, describe).Resources[0]; r.ErrorCode != 0 || len(r.Configs) != 1 || *r.Configs[0].Value != retention {
			return fmt.Errorf("retention.ms: %+v", r)
		}
		quotas := kmsg.NewPtrDescribeClientQuotasRequest()
		quotas.Components = []kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", MatchType: kmsg.QuotasMatchTypeExact, Match: &user}}
		if r := askOne[*kmsg.DescribeClientQuotasResponse](t, n, quotas); r.ErrorCode != 0 || len(r.Entries) != 1 || r.Entries[0].Values[0].Value != 1e9 {
			return fmt.Errorf("quotas: %+v", r)
		}
		return nil
	})
}

// TestVotersAndNodesCanBeChanged: a node that joined is made a voter and is none again; when it is gone it is taken out.
func TestVotersAndNodesCanBeChanged(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	added := c.Add(t, nil)
	awaitAgreement(t, c.Nodes, 1, 2, 3, 4)
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	directory := harness.Ask[*kmsg.DescribeQuorumResponse](t, c.Nodes[0], req).Topics[0].Partitions[0].Observers[0].ReplicaDirectoryID

	add := kmsg.NewPtrAddRaftVoterRequest()
	add.VoterID, add.VoterDirectoryID, add.TimeoutMillis = 4, directory, 10000
	if r := askOne[*kmsg.AddRaftVoterResponse](t, c.Nodes[1], add); r.ErrorCode != 0 {
		t.Fatalf("AddRaftVoter: %d %s", r.ErrorCode, *r.ErrorMessage)
	}
	if voters, observers := quorumOf(t, c.Nodes[2]); len(voters) != 4 || len(observers) != 0 {
		t.Errorf("voters %v, observers %v", voters, observers)
	}
	remove := kmsg.NewPtrRemoveRaftVoterRequest()
	remove.VoterID, remove.VoterDirectoryID = 4, directory
	if r := askOne[*kmsg.RemoveRaftVoterResponse](t, c.Nodes[1], remove); r.ErrorCode != 0 {
		t.Fatalf("RemoveRaftVoter: %d %s", r.ErrorCode, *r.ErrorMessage)
	}
	if voters, observers := quorumOf(t, c.Nodes[2]); len(voters) != 3 || len(observers) != 1 {
		t.Errorf("voters %v, observers %v", voters, observers)
	}
	added.Stop(t)
	rest := c.Nodes[:3]
	awaitAgreement(t, rest, 1, 2, 3)
	gone := kmsg.NewPtrUnregisterBrokerRequest()
	gone.BrokerID = 4
	if r := askOne[*kmsg.UnregisterBrokerResponse](t, rest[0], gone); r.ErrorCode != 0 {
		t.Fatalf("UnregisterBroker: %d", r.ErrorCode)
	}
	if voters, observers := quorumOf(t, rest[2]); len(voters) != 3 || len(observers) != 0 {
		t.Errorf("voters %v, observers %v", voters, observers)
	}
}

// TestTopicsAreMadeForClients: a client that asks for a topic that is not there gets it, whatever node it asks.
func TestTopicsAreMadeForClients(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"auto.create.topics.enable": "true", "num.partitions": "3"})
	for _, n := range c.Nodes {
		topic := harness.Name("wanted")
		client := n.Client(t, kgo.AllowAutoTopicCreation())
		if err := client.ProduceSync(harness.Context(t), &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr(); err != nil {
			t.Errorf("%s: %v", n.Address, err)
		}
		offsets := harness.Asked(t, n, "ListOffsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
			return admin.ListEndOffsets(ctx, topic)
		})
		if len(offsets[topic]) != 3 {
			t.Errorf("%s: %v", n.Address, offsets)
		}
	}
}
