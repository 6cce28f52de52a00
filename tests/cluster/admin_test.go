package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// TestCredentialsAtAnyNode: what a node is told of a user's password is with all nodes, and on their disks only their owner can read it.
func TestCredentialsAtAnyNode(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	for i, n := range c.Nodes {
		req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
			{Name: fmt.Sprint("user", i), Mechanism: 2, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: []byte("salted")}}
		if r := askOne[*kmsg.AlterUserSCRAMCredentialsResponse](t, n, req).Results[0]; r.ErrorCode != 0 {
			t.Errorf("AlterUserScramCredentials at %s: %d %v", n.Address, r.ErrorCode, r.ErrorMessage)
		}
	}
	for _, n := range c.Nodes {
		harness.Await(t, "all three users at "+n.Address, func() bool {
			return len(askOne[*kmsg.DescribeUserSCRAMCredentialsResponse](t, n, kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()).Results) == 3
		})
		var found map[string]fs.FileMode
		harness.Await(t, "a file at "+n.Address+" that has the credentials", func() bool { // the log gives way to a snapshot now and then
			found = filesHolding(t, n.Dir, "USER_SCRAM_CREDENTIAL_RECORD")
			return len(found) > 0
		})
		for name, mode := range found {
			if mode&0o077 != 0 {
				t.Errorf("%s has mode %v", name, mode)
			}
		}
	}
}

// filesHolding gives the modes of the files below a directory of a running node that hold a text. What goes meanwhile is passed over.
func filesHolding(t *testing.T, dir, text string) map[string]fs.FileMode {
	t.Helper()
	found := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return passGone(err)
		}
		data, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(data, []byte(text)) {
			return passGone(err)
		}
		info, err := d.Info()
		if err == nil {
			found[name] = info.Mode().Perm()
		}
		return passGone(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func passGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
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

// TestNodesThatAreGoneLeaveTheQuorum: nothing stays in the metadata quorum of a node that is gone for good, whether it voted, or came no further
// than into the quorum.
func TestNodesThatAreGoneLeaveTheQuorum(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"ringmill.quorum.voters": "4"})
	unregister := func(id int32) {
		t.Helper()
		gone := kmsg.NewPtrUnregisterBrokerRequest()
		gone.BrokerID = id
		if r := askOne[*kmsg.UnregisterBrokerResponse](t, c.Nodes[0], gone); r.ErrorCode != 0 {
			t.Fatalf("UnregisterBroker of node %d: %d %s", id, r.ErrorCode, *r.ErrorMessage)
		}
	}
	voter := c.Add(t, nil)
	harness.Await(t, "node 4 votes", func() bool {
		voters, _ := quorumOf(t, c.Nodes[0])
		return slices.Contains(voters, 4)
	})
	voter.Stop(t)
	unregister(4)
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	remove := kmsg.NewPtrRemoveRaftVoterRequest()
	remove.VoterID = 4
	for _, v := range harness.Ask[*kmsg.DescribeQuorumResponse](t, c.Nodes[0], req).Topics[0].Partitions[0].CurrentVoters {
		if v.ReplicaID == 4 {
			remove.VoterDirectoryID = v.ReplicaDirectoryID
		}
	}
	if r := askOne[*kmsg.RemoveRaftVoterResponse](t, c.Nodes[0], remove); r.ErrorCode != 0 {
		t.Fatalf("RemoveRaftVoter: %d %s", r.ErrorCode, *r.ErrorMessage)
	}
	if voters, observers := quorumOf(t, c.Nodes[1]); len(voters) != 3 || len(observers) != 0 {
		t.Errorf("voters %v, observers %v", voters, observers)
	}

	fifth := c.Layout(t, 5, nil)
	damaged := filepath.Join(fifth.DataDir(), "logs", "meta.properties")
	if err := os.MkdirAll(filepath.Dir(damaged), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(damaged, []byte("version=1\nnode.id=\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	fifth.Begin(t) // it joins, and ends before it is registered
	harness.Await(t, "the node that cannot start to end", func() bool { return !fifth.Alive() })
	if _, observers := quorumOf(t, c.Nodes[1]); !slices.Equal(observers, []int32{5}) {
		t.Fatalf("observers %v", observers)
	}
	unregister(5)
	if voters, observers := quorumOf(t, c.Nodes[1]); len(voters) != 3 || len(observers) != 0 {
		t.Errorf("voters %v, observers %v", voters, observers)
	}
}

// TestOneMinInSyncReplicas: nodes whose files have other numbers go by one, that of the first controller;
// another for the whole cluster is in force on all.
func TestOneMinInSyncReplicas(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{"min.insync.replicas": "{id}"})
	topic := createTopic(t, c.Nodes[0], 1, 3)
	values := func() (all []string) {
		for _, n := range c.Nodes {
			awaitTopic(t, n, topic, noCheck)
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"min.insync.replicas"}}}
			all = append(all, *askOne[*kmsg.DescribeConfigsResponse](t, n, req).Resources[0].Configs[0].Value)
		}
		return all
	}
	if v := values(); v[0] != v[1] || v[0] != v[2] {
		t.Errorf("the nodes go by %v", v)
	}
	two := "2"
	set := kmsg.NewPtrIncrementalAlterConfigsRequest()
	set.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeBroker,
		Configs:      []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "min.insync.replicas", Value: &two}},
	}}
	if r := askOne[*kmsg.IncrementalAlterConfigsResponse](t, c.Nodes[1], set).Resources[0]; r.ErrorCode != 0 {
		t.Fatalf("IncrementalAlterConfigs: %d %v", r.ErrorCode, r.ErrorMessage)
	}
	harness.Await(t, "all nodes go by 2", func() bool { return fmt.Sprint(values()) == "[2 2 2]" })
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

// TestValidateOnly: what could not be placed is refused by any node where a request only validates too, as Apache Kafka does, and what could be is
// not made.
func TestValidateOnly(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, nil)
	topic := createTopic(t, c.Nodes[0], 2, 2)
	assigned := func(nodes ...int32) kmsg.CreatePartitionsRequestTopicAssignment {
		return kmsg.CreatePartitionsRequestTopicAssignment{Replicas: nodes}
	}
	for _, n := range c.Nodes {
		for replicas, want := range map[int16]error{3: nil, 4: kerr.InvalidReplicationFactor} {
			create := kmsg.NewPtrCreateTopicsRequest()
			create.TimeoutMillis, create.ValidateOnly = 10000, true
			create.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "validated", NumPartitions: 1, ReplicationFactor: replicas}}
			if got := askOne[*kmsg.CreateTopicsResponse](t, n, create).Topics[0]; kerr.ErrorForCode(got.ErrorCode) != want {
				t.Errorf("%d replicas: %v, want %v", replicas, kerr.ErrorForCode(got.ErrorCode), want)
			}
		}
		for _, test := range []struct {
			assignment kmsg.CreatePartitionsRequestTopicAssignment
			want       error
		}{{assigned(1, 2), nil}, {assigned(1), kerr.InvalidReplicaAssignment}} {
			grow := kmsg.NewPtrCreatePartitionsRequest()
			grow.TimeoutMillis, grow.ValidateOnly = 10000, true
			grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: topic, Count: 3, Assignment: []kmsg.CreatePartitionsRequestTopicAssignment{test.assignment}}}
			if got := askOne[*kmsg.CreatePartitionsResponse](t, n, grow).Topics[0]; kerr.ErrorForCode(got.ErrorCode) != test.want {
				t.Errorf("a partition on %v: %v, want %v", test.assignment.Replicas, kerr.ErrorForCode(got.ErrorCode), test.want)
			}
		}
	}
	made := harness.Asked(t, c.Nodes[0], "ListTopics", func(ctx context.Context, admin *kadm.Client) (kadm.TopicDetails, error) { return admin.ListTopics(ctx) })
	if len(made) != 1 || len(made[topic].Partitions) != 2 {
		t.Errorf("topics %v, with %d partitions, want %s alone with 2", made.Names(), len(made[topic].Partitions), topic)
	}
}

// TestACLsAtAnyNode: ACLs are made at every node, and in force at all of them, after a restart too.
func TestACLsAtAnyNode(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t, 3, map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:ANONYMOUS",
	})
	described := func(n *harness.Node) (count int) {
		req := kmsg.NewPtrDescribeACLsRequest()
		req.ResourceType, req.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
		req.Operation, req.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
		for _, r := range askOne[*kmsg.DescribeACLsResponse](t, n, req).Resources {
			count += len(r.ACLs)
		}
		return count
	}
	await := func(want int) {
		t.Helper()
		for _, n := range c.Nodes {
			harness.Await(t, fmt.Sprintf("%d ACLs at %s", want, n.Address), func() bool { return described(n) == want })
		}
	}
	for i, n := range c.Nodes {
		req := kmsg.NewPtrCreateACLsRequest()
		req.Creations = []kmsg.CreateACLsRequestCreation{{
			ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: fmt.Sprint("t", i), ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
			Principal: "User:alice", Host: "*", Operation: kmsg.ACLOperationRead, PermissionType: kmsg.ACLPermissionTypeAllow,
		}}
		if r := askOne[*kmsg.CreateACLsResponse](t, n, req).Results[0]; r.ErrorCode != 0 {
			t.Errorf("CreateAcls: %d %v", r.ErrorCode, r.ErrorMessage)
		}
	}
	await(3)
	for _, n := range c.Nodes {
		n.Stop(t)
		n.Restart(t)
	}
	await(3)
	remove := kmsg.NewPtrDeleteACLsRequest()
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourcePatternType, f.Operation, f.PermissionType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny, kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	remove.Filters = []kmsg.DeleteACLsRequestFilter{f}
	if r := askOne[*kmsg.DeleteACLsResponse](t, c.Nodes[1], remove).Results[0]; r.ErrorCode != 0 || len(r.MatchingACLs) != 3 {
		t.Errorf("DeleteAcls: %d %v, %d taken away", r.ErrorCode, r.ErrorMessage, len(r.MatchingACLs))
	}
	await(0)
}
