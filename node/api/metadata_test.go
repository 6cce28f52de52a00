package api

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

func metadataRequest(auto bool, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = auto
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// TestMetadataNullAndEmptyLists: version 0 cannot say null, and means all by an empty list.
func TestMetadataNullAndEmptyLists(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 2)
	for v := int16(0); v <= 13; v++ {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		want := 0
		if v == 0 {
			want = 1
		}
		if got := ask[*kmsg.MetadataResponse](t, b, v, req); len(got.Topics) != want {
			t.Errorf("version %d, empty: %d topics", v, len(got.Topics))
		}
		if v == 0 {
			continue
		}
		if got := ask[*kmsg.MetadataResponse](t, b, v, kmsg.NewPtrMetadataRequest()); len(got.Topics) != 1 {
			t.Errorf("version %d, null: %d topics", v, len(got.Topics))
		}
	}
}

func TestMetadataOfATopicInEveryVersion(t *testing.T) {
	b := newFakeBroker(t)
	id := b.withTopic(t, "v", 2)
	b.partitions[wire.TopicPartition{Topic: "v", Partition: 1}] = &fakePartition{epoch: 4}
	for v := int16(0); v <= 13; v++ {
		got := ask[*kmsg.MetadataResponse](t, b, v, metadataRequest(false, "v", "v"))
		if n := got.Brokers[0]; n.NodeID != 1 || n.Host != "127.0.0.1" || n.Port != 9092 || v >= 1 && text(n.Rack) != "rack-1" {
			t.Errorf("version %d: node %+v", v, n)
		}
		if v >= 1 && got.ControllerID != 1 || v >= 2 && text(got.ClusterID) != "EWQSy0NlTDyqwnN72eXERg" {
			t.Errorf("version %d: %+v", v, got)
		}
		topic := got.Topics[0]
		if len(got.Topics) != 1 || text(topic.Topic) != "v" || len(topic.Partitions) != 2 || v >= 10 && wire.TopicID(topic.TopicID) != id {
			t.Fatalf("version %d: %+v", v, got.Topics)
		}
		p := topic.Partitions[1]
		if p.Partition != 1 || p.Leader != 1 || p.Replicas[0] != 1 || p.ISR[0] != 1 || len(p.OfflineReplicas) != 0 || v >= 7 && p.LeaderEpoch != 4 {
			t.Errorf("version %d: %+v", v, p)
		}
	}
}

func TestMetadataOfAnOfflinePartition(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	b.offline[wire.TopicPartition{Topic: "v"}] = true
	p := ask[*kmsg.MetadataResponse](t, b, 12, metadataRequest(false, "v")).Topics[0].Partitions[0]
	if p.ErrorCode != int16(wire.LeaderNotAvailable) || p.Leader != -1 || len(p.OfflineReplicas) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestMetadataOfWhatIsNotThere(t *testing.T) {
	b := newFakeBroker(t)
	for _, c := range []struct {
		name string
		code wire.ErrorCode
	}{{"none", 3}, {"a b", 17}, {"", 17}, {"__transaction_state", 3}} {
		for _, v := range []int16{4, 9, 12, 13} {
			got := ask[*kmsg.MetadataResponse](t, b, v, metadataRequest(false, c.name)).Topics[0]
			if wire.ErrorCode(got.ErrorCode) != c.code || text(got.Topic) != c.name || len(got.Partitions) != 0 || got.IsInternal != image.IsInternal(c.name) {
				t.Errorf("%q version %d: %+v", c.name, v, got)
			}
		}
	}
	if b.image.TopicCount() != 0 {
		t.Error("a topic was made")
	}
}

func TestMetadataMakesTopicsWhereItMay(t *testing.T) {
	for _, c := range []struct {
		name    string
		version int16
		asked   bool
		node    string
		made    bool
	}{
		{"version 1 always asks", 1, false, "true", true},
		{"version 4 asks", 4, true, "true", true},
		{"version 4 does not", 4, false, "true", false},
		{"the node does not allow it", 12, true, "false", false},
	} {
		b := newFakeBroker(t, "auto.create.topics.enable="+c.node, "num.partitions=3")
		got := ask[*kmsg.MetadataResponse](t, b, c.version, metadataRequest(c.asked, "v")).Topics[0]
		if made := b.image.ByName("v") != nil; made != c.made {
			t.Errorf("%s: made %v", c.name, made)
		}
		if got.ErrorCode != 3 || len(got.Partitions) != 0 {
			t.Errorf("%s: first told %+v", c.name, got)
		}
		if got = ask[*kmsg.MetadataResponse](t, b, c.version, metadataRequest(false, "v")).Topics[0]; c.made && len(got.Partitions) != 3 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestMetadataMakesNothingThatCannotBe(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "a.c", 1)
	for name, code := range map[string]wire.ErrorCode{"a b": 17, "": 17, "a_c": 17, "__transaction_state": 3} {
		if got := ask[*kmsg.MetadataResponse](t, b, 12, metadataRequest(true, name)).Topics[0]; wire.ErrorCode(got.ErrorCode) != code {
			t.Errorf("%q: %d", name, got.ErrorCode)
		}
	}
	b.createCode = wire.KafkaStorageError
	if got := ask[*kmsg.MetadataResponse](t, b, 12, metadataRequest(true, "v")).Topics[0]; got.ErrorCode != 3 {
		t.Errorf("the disk is full: %d", got.ErrorCode)
	}
}

func TestMetadataMakesTheOffsetsTopicItself(t *testing.T) {
	b := newFakeBroker(t)
	ask[*kmsg.MetadataResponse](t, b, 12, metadataRequest(true, image.ConsumerOffsetsTopic))
	got := ask[*kmsg.MetadataResponse](t, b, 12, metadataRequest(true, image.ConsumerOffsetsTopic)).Topics[0]
	if got.ErrorCode != 0 || !got.IsInternal || len(got.Partitions) != 10 {
		t.Errorf("%+v", got)
	}
}

func TestMetadataBoundsWhatOneRequestMakes(t *testing.T) {
	b := newFakeBroker(t)
	var names []string
	for i := range autoCreatedMax + 10 {
		names = append(names, string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	ask[*kmsg.MetadataResponse](t, b, 12, metadataRequest(true, names...))
	got := ask[*kmsg.MetadataResponse](t, b, 12, metadataRequest(false, names...))
	if b.image.TopicCount() != autoCreatedMax || got.Topics[autoCreatedMax-1].ErrorCode != 0 || got.Topics[autoCreatedMax].ErrorCode != 3 {
		t.Errorf("%d topics", b.image.TopicCount())
	}
}

func TestMetadataByID(t *testing.T) {
	b := newFakeBroker(t)
	id := b.withTopic(t, "v", 1)
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{{TopicID: id}, {TopicID: [16]byte{9}}, {TopicID: id}}
	got := ask[*kmsg.MetadataResponse](t, b, 12, req).Topics
	if len(got) != 2 || text(got[0].Topic) != "v" || got[0].ErrorCode != 0 || got[1].ErrorCode != 100 || got[1].Topic != nil {
		t.Errorf("%+v", got)
	}
}

// TestMetadataRefusesAsAWhole: ids before version 12 and null names without one are answered without anything else.
func TestMetadataRefusesAsAWhole(t *testing.T) {
	b := newFakeBroker(t)
	id := b.withTopic(t, "v", 1)
	for _, c := range []struct {
		name    string
		version int16
		topic   kmsg.MetadataRequestTopic
	}{
		{"id before 12", 11, kmsg.MetadataRequestTopic{TopicID: id}},
		{"name and id before 12", 11, kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr("v"), TopicID: id}},
		{"null name before 12", 10, kmsg.MetadataRequestTopic{}},
		{"null name", 12, kmsg.MetadataRequestTopic{}},
	} {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{c.topic}
		got := ask[*kmsg.MetadataResponse](t, b, c.version, req)
		if len(got.Brokers) != 0 || got.ControllerID != -1 || got.Topics[0].ErrorCode != 42 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestMetadataAuthorizedOperations(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	for _, v := range []int16{8, 9, 10, 12} {
		req := metadataRequest(false, "v", "none")
		got := ask[*kmsg.MetadataResponse](t, b, v, req)
		if got.Topics[0].AuthorizedOperations != math.MinInt32 || got.AuthorizedOperations != math.MinInt32 {
			t.Errorf("version %d: told without being asked", v)
		}
		req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = true, true
		got = ask[*kmsg.MetadataResponse](t, b, v, req)
		if got.Topics[0].AuthorizedOperations != 3576 || got.Topics[1].AuthorizedOperations != 3576 || v <= 10 && got.AuthorizedOperations != 8096 {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

func TestDescribeCluster(t *testing.T) {
	b := newFakeBroker(t)
	for v := int16(0); v <= 2; v++ {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType, req.IncludeClusterAuthorizedOperations = 1, true
		got := ask[*kmsg.DescribeClusterResponse](t, b, v, req)
		if got.ErrorCode != 0 || got.ClusterID != "EWQSy0NlTDyqwnN72eXERg" || got.ControllerID != 1 || got.ClusterAuthorizedOperations != 8096 {
			t.Errorf("version %d: %+v", v, got)
		}
		if n := got.Brokers[0]; n.NodeID != 1 || n.Port != 9092 || text(n.Rack) != "rack-1" || n.IsFenced {
			t.Errorf("version %d: %+v", v, n)
		}
	}
	for kind, want := range map[int8]struct {
		code    int16
		message string
	}{
		2: {114, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"},
		3: {115, "Unsupported endpoint type 3"},
		0: {115, "Unsupported endpoint type 0"},
	} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = kind
		got := ask[*kmsg.DescribeClusterResponse](t, b, 2, req)
		if got.ErrorCode != want.code || text(got.ErrorMessage) != want.message || got.ControllerID != -1 || len(got.Brokers) != 0 {
			t.Errorf("endpoint type %d: %+v", kind, got)
		}
	}
}
