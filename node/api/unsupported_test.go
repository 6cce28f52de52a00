package api

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// refused sends a request of a version that is not served, and reads the answer.
func refused[P kmsg.Response](t *testing.T, version int16, req kmsg.Request) P {
	t.Helper()
	req.SetVersion(version)
	body, ok := Unsupported(wire.RequestHeader{Key: wire.APIKey(req.Key()), Version: wire.APIVersion(version)}, req.AppendTo(nil))
	if !ok {
		t.Fatalf("%T version %d has no answer", req, version)
	}
	resp := req.ResponseKind()
	resp.SetVersion(version)
	if err := resp.ReadFrom(body); err != nil {
		t.Fatalf("%T version %d: %v", resp, version, err)
	}
	return resp.(P)
}

func TestUnsupportedVersionsThatCanBeTold(t *testing.T) {
	got := map[string]int16{}
	list := listOffsetsRequest(offsetQuery(0, -1, -1))
	for _, v := range []int16{0, 11} {
		got["ListOffsets"] = refused[*kmsg.ListOffsetsResponse](t, v, list).Topics[0].Partitions[0].ErrorCode
	}
	for _, v := range []int16{0, 1, 10} {
		got["OffsetCommit"] = refused[*kmsg.OffsetCommitResponse](t, v, commitRequest("g", commitTopic("v", 0))).Topics[0].Partitions[0].ErrorCode
	}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "v", Partitions: []int32{0}}}
	got["OffsetFetch"] = refused[*kmsg.OffsetFetchResponse](t, 0, fetch).Topics[0].Partitions[0].ErrorCode
	fetch.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g"}}
	got["OffsetFetch 10"] = refused[*kmsg.OffsetFetchResponse](t, 10, fetch).Groups[0].ErrorCode
	for _, v := range []int16{0, 1} {
		got["CreateTopics"] = refused[*kmsg.CreateTopicsResponse](t, v, createRequest(false, topicToCreate("v", 1, 1))).Topics[0].ErrorCode
	}
	got["DeleteTopics"] = refused[*kmsg.DeleteTopicsResponse](t, 0, deleteRequest(byName("v"))).Topics[0].ErrorCode
	epoch := kmsg.NewPtrOffsetForLeaderEpochRequest()
	epoch.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "v", Partitions: make([]kmsg.OffsetForLeaderEpochRequestTopicPartition, 1)}}
	for _, v := range []int16{0, 1} {
		got["OffsetForLeaderEpoch"] = refused[*kmsg.OffsetForLeaderEpochResponse](t, v, epoch).Topics[0].Partitions[0].ErrorCode
	}
	got["DescribeConfigs"] = refused[*kmsg.DescribeConfigsResponse](t, 0, describeConfigsRequest(2, "v")).Resources[0].ErrorCode
	for name, code := range got {
		if code != 35 {
			t.Errorf("%s: %d", name, code)
		}
	}
}

// oldProduce is a Produce of version 0 to 2 for partition 3 of topic "t", with four bytes of a message set.
func oldProduce(acks int16) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(acks))
	b = append(b, 0, 0, 0, 100, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 4)
	return append(b, 9, 9, 9, 9)
}

func TestUnsupportedProduce(t *testing.T) {
	for v := int16(0); v <= 2; v++ {
		body, ok := Unsupported(wire.RequestHeader{Key: wire.KeyProduce, Version: wire.APIVersion(v)}, oldProduce(-1))
		resp := kmsg.NewPtrProduceResponse()
		resp.SetVersion(v)
		if !ok || resp.ReadFrom(body) != nil {
			t.Fatalf("version %d: %v % x", v, ok, body)
		}
		if p := resp.Topics[0].Partitions[0]; resp.Topics[0].Topic != "t" || p.Partition != 3 || p.ErrorCode != 35 || p.BaseOffset != -1 {
			t.Errorf("version %d: %+v", v, resp.Topics)
		}
	}
}

func TestUnsupportedVersionsThatCannotBeTold(t *testing.T) {
	for _, c := range []struct {
		name    string
		key     wire.APIKey
		version wire.APIVersion
		body    []byte
	}{
		{"a version without a schema", wire.KeyListOffsets, 99, nil},
		{"a negative version", wire.KeyListOffsets, -1, nil},
		{"a Produce that nobody reads the answer of", wire.KeyProduce, 0, oldProduce(0)},
		{"a Produce of a version to come", wire.KeyProduce, 14, oldProduce(-1)},
		{"a torn Produce", wire.KeyProduce, 0, oldProduce(-1)[:20]},
		{"a Fetch", wire.KeyFetch, 19, nil},
		{"a torn request", wire.KeyCreateTopics, 0, []byte{0, 0}},
		{"a long request", wire.KeyCreateTopics, 0, make([]byte, 64<<10+1)},
		{"an unknown key", 999, 0, nil},
		{"a key of other nodes", 7, 0, nil},
	} {
		if body, ok := Unsupported(wire.RequestHeader{Key: c.key, Version: c.version}, c.body); ok {
			t.Errorf("%s is answered with % x", c.name, body)
		}
	}
}

func TestVersionCure(t *testing.T) {
	for id, word := range map[string]string{
		"Telegraf": `version = "2.1.0"`, "sarama": "V2_1_0_0", "rdkafka": "api.version.request", "kafka-python-1.4": "api_version",
		"beats-7": "output.kafka", "": "2.1.0", "my-app": "2.1.0",
	} {
		if cure := VersionCure(wire.RequestHeader{ClientID: []byte(id)}); !strings.Contains(cure, word) {
			t.Errorf("%q: %s", id, cure)
		}
	}
}
