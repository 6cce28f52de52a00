package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
)

// What a cluster of one node says of things that need several; the values are those of Apache Kafka 4.1.1.

func TestACLsWithoutAnAuthorizer(t *testing.T) {
	b := newFakeBroker(t)
	create, remove := kmsg.NewPtrCreateACLsRequest(), kmsg.NewPtrDeleteACLsRequest()
	create.Creations = make([]kmsg.CreateACLsRequestCreation, 2)
	remove.Filters = make([]kmsg.DeleteACLsRequestFilter, 2)
	for v := int16(1); v <= 3; v++ {
		if got := ask[*kmsg.DescribeACLsResponse](t, b, v, kmsg.NewPtrDescribeACLsRequest()); got.ErrorCode != 54 ||
			text(got.ErrorMessage) != "No Authorizer is configured on the broker" || len(got.Resources) != 0 {
			t.Errorf("%+v", got)
		}
		made, removed := ask[*kmsg.CreateACLsResponse](t, b, v, create).Results, ask[*kmsg.DeleteACLsResponse](t, b, v, remove).Results
		if len(made) != 2 || made[1].ErrorCode != 54 || text(made[1].ErrorMessage) != "No Authorizer is configured." {
			t.Errorf("%+v", made)
		}
		if len(removed) != 2 || removed[1].ErrorCode != 54 || text(removed[1].ErrorMessage) != "No Authorizer is configured." {
			t.Errorf("%+v", removed)
		}
	}
}

func electionRequest(kind int8, topics ...kmsg.ElectLeadersRequestTopic) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType, req.Topics = kind, topics
	return req
}

func electionTopic(name string, partitions ...int32) kmsg.ElectLeadersRequestTopic {
	return kmsg.ElectLeadersRequestTopic{Topic: name, Partitions: partitions}
}

// toldElections prints an answer: "CODE TOPIC: PARTITION CODE MESSAGE, ...; ...".
func toldElections(r *kmsg.ElectLeadersResponse) string {
	var topics []string
	for _, t := range r.Topics {
		var partitions []string
		for _, p := range t.Partitions {
			partitions = append(partitions, fmt.Sprintf("%d %d %s", p.Partition, p.ErrorCode, text(p.ErrorMessage)))
		}
		topics = append(topics, t.Topic+": "+strings.Join(partitions, ", "))
	}
	return fmt.Sprintf("%d %s", r.ErrorCode, strings.Join(topics, "; "))
}

func TestElectLeaders(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 2)
	b.withTopic(t, "w", 1)
	const notNeeded = "84 Leader election not needed for topic partition."
	asked := []kmsg.ElectLeadersRequestTopic{electionTopic("v", 0, 1, 9), electionTopic("nope", 0)}
	want := "0 v: 0 " + notNeeded + ", 1 " + notNeeded + ", 9 3 No such partition as v-9; nope: 0 3 No such topic as nope"
	for v := int16(0); v <= 2; v++ {
		if got := toldElections(ask[*kmsg.ElectLeadersResponse](t, b, v, electionRequest(electPreferred, asked...))); got != want {
			t.Errorf("version %d: %s", v, got)
		}
	}
	for _, c := range []struct {
		req  *kmsg.ElectLeadersRequest
		want string
	}{
		{electionRequest(electUnclean, asked...), want},
		{electionRequest(electPreferred), "0 v: ; w: "},
		{&kmsg.ElectLeadersRequest{Topics: []kmsg.ElectLeadersRequestTopic{}}, "0 "},
		{electionRequest(electPreferred, electionTopic("v")), "0 v: "},
		{electionRequest(electPreferred, electionTopic("v", 0, 0)), "0 v: 0 " + notNeeded + ", 0 " + notNeeded},
		{electionRequest(9, electionTopic("v", 0)), "42 v: 0 42 Unknown election type 9"},
	} {
		if got := toldElections(ask[*kmsg.ElectLeadersResponse](t, b, 2, c.req)); got != c.want {
			t.Errorf("%s", got)
		}
	}
}

func TestAlterPartitionReassignments(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	const noSuch = "The manual partition assignment includes broker %d, but no such broker is registered."
	for _, c := range []struct {
		topic     string
		partition int32
		replicas  []int32
		code      int16
		message   string
	}{
		{"v", 0, []int32{1}, 0, "<null>"},
		{"v", 0, []int32{2}, 39, fmt.Sprintf(noSuch, 2)},
		{"v", 0, []int32{1, 2}, 39, fmt.Sprintf(noSuch, 2)},
		{"v", 0, []int32{-1}, 39, fmt.Sprintf(noSuch, -1)},
		{"v", 0, []int32{1, 1}, 39, "The manual partition assignment includes the broker 1 more than once."},
		{"v", 0, []int32{}, 39, "The manual partition assignment includes an empty replica list."},
		{"v", 0, nil, 85, "<null>"},
		{"v", 9, []int32{1}, 3, "Unable to find partition v:9."},
		{"nope", 0, []int32{1}, 3, "Unable to find a topic named nope."},
		{"nope", 0, nil, 3, "Unable to find a topic named nope."},
	} {
		for v := int16(0); v <= 1; v++ {
			req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
			req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: c.topic,
				Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: c.partition, Replicas: c.replicas}}}}
			got := ask[*kmsg.AlterPartitionAssignmentsResponse](t, b, v, req)
			if p := got.Topics[0].Partitions[0]; got.ErrorCode != 0 || p.ErrorCode != c.code || text(p.ErrorMessage) != c.message || p.Partition != c.partition {
				t.Errorf("%s-%d %v: %+v", c.topic, c.partition, c.replicas, got)
			}
		}
	}
}

func TestListPartitionReassignments(t *testing.T) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.Topics = []kmsg.ListPartitionReassignmentsRequestTopic{{Topic: "nope", Partitions: []int32{0}}}
	if got := ask[*kmsg.ListPartitionReassignmentsResponse](t, newFakeBroker(t), 0, req); got.ErrorCode != 0 || len(got.Topics) != 0 {
		t.Errorf("%+v", got)
	}
}

func quorumRequest(topic string, partitions ...int32) *kmsg.DescribeQuorumRequest {
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = topic
	for _, i := range partitions {
		t.Partitions = append(t.Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: i})
	}
	req.Topics = append(req.Topics, t)
	return req
}

func TestDescribeQuorum(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	end := int64(b.image.Version())
	for v := int16(0); v <= 2; v++ {
		got := ask[*kmsg.DescribeQuorumResponse](t, b, v, quorumRequest("__cluster_metadata", 0))
		p := got.Topics[0].Partitions[0]
		if got.ErrorCode != 0 || p.ErrorCode != 0 || p.LeaderID != 1 || p.HighWatermark != end || len(p.CurrentVoters) != 1 || len(p.Observers) != 0 {
			t.Fatalf("version %d: %+v", v, got)
		}
		voter := p.CurrentVoters[0]
		if timed := voter.LastFetchTimestamp > 0 && voter.LastCaughtUpTimestamp > 0; voter.ReplicaID != 1 || voter.LogEndOffset != end || timed != (v >= 1) {
			t.Errorf("version %d: %+v", v, voter)
		}
		if nodes := len(got.Nodes) == 1 && got.Nodes[0].NodeID == 1 && got.Nodes[0].Listeners[0].Port == 9092; nodes != (v >= 2) {
			t.Errorf("version %d: %+v", v, got.Nodes)
		}
	}
}

func TestDescribeQuorumOfAnythingElse(t *testing.T) {
	two := quorumRequest("__cluster_metadata", 0)
	two.Topics = append(two.Topics, two.Topics[0])
	for _, req := range []*kmsg.DescribeQuorumRequest{
		quorumRequest("v", 0), quorumRequest("__cluster_metadata", 1), quorumRequest("__cluster_metadata", 0, 1), two,
		quorumRequest("__cluster_metadata"), kmsg.NewPtrDescribeQuorumRequest(),
	} {
		got := ask[*kmsg.DescribeQuorumResponse](t, newFakeBroker(t), 2, req)
		if got.ErrorCode != 0 || len(got.Topics) != len(req.Topics) || len(got.Nodes) != 0 {
			t.Errorf("%+v", got)
		}
		for _, topic := range got.Topics {
			for _, p := range topic.Partitions {
				if p.ErrorCode != 3 || text(p.ErrorMessage) != "This server does not host this topic-partition." || p.CurrentVoters != nil {
					t.Errorf("%+v", p)
				}
			}
		}
	}
}

func TestListConfigResources(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	b.withTopic(t, "a", 1)
	value := "45000"
	for _, r := range []image.Resource{{Type: image.GroupResource, Name: "h"}, {Type: image.GroupResource, Name: "g"}, {Type: image.ClientMetricsResource, Name: "m"}} {
		b.apply(t, image.ConfigRecord{Resource: r, Key: "k", Value: &value})
	}
	for _, c := range []struct {
		version int16
		types   []int8
		code    int16
		want    string
	}{
		{0, nil, 0, "16:m"},
		{1, nil, 0, "8:1 4:1 2:a 2:v 32:g 32:h 16:m"},
		{1, []int8{2}, 0, "2:a 2:v"},
		{1, []int8{4, 4, 8}, 0, "8:1 4:1"},
		{1, []int8{32}, 0, "32:g 32:h"},
		{1, []int8{16}, 0, "16:m"},
		{1, []int8{3}, 35, ""},
		{1, []int8{0}, 35, ""},
		{1, []int8{4, 77}, 35, ""},
	} {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = c.types
		got := ask[*kmsg.ListConfigResourcesResponse](t, b, c.version, req)
		var s []string
		for _, r := range got.ConfigResources {
			s = append(s, fmt.Sprintf("%d:%s", r.Type, r.Name))
		}
		if got.ErrorCode != c.code || strings.Join(s, " ") != c.want {
			t.Errorf("version %d %v: %d %s", c.version, c.types, got.ErrorCode, strings.Join(s, " "))
		}
	}
}
