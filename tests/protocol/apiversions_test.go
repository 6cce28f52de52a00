package protocol

import (
	"sort"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// advertised is what a node that serves producers, consumers, topic tools and classic groups lists, with Apache Kafka
// 4.1.1's ranges: clients guess a node's version from them. librdkafka turns features off when an old version is missing,
// every compression codec among them when Produce does not start at 0 (confluentinc/librdkafka#4956).
var advertised = []struct {
	name          string
	key, min, max int16
}{
	{"Produce", 0, 0, 13}, {"Fetch", 1, 4, 18}, {"ListOffsets", 2, 1, 10}, {"Metadata", 3, 0, 13},
	{"OffsetCommit", 8, 2, 9}, {"OffsetFetch", 9, 1, 9}, {"FindCoordinator", 10, 0, 6}, {"JoinGroup", 11, 0, 9},
	{"Heartbeat", 12, 0, 4}, {"LeaveGroup", 13, 0, 5}, {"SyncGroup", 14, 0, 5}, {"DescribeGroups", 15, 0, 6},
	{"ListGroups", 16, 0, 5}, {"ApiVersions", 18, 0, 4}, {"CreateTopics", 19, 2, 7}, {"DeleteTopics", 20, 1, 6},
	{"InitProducerId", 22, 0, 5}, {"OffsetForLeaderEpoch", 23, 2, 4}, {"DescribeConfigs", 32, 1, 4},
	{"CreatePartitions", 37, 0, 3}, {"DeleteGroups", 42, 0, 2}, {"IncrementalAlterConfigs", 44, 0, 1},
	{"OffsetDelete", 47, 0, 0}, {"DescribeClientQuotas", 48, 0, 1}, {"AlterClientQuotas", 49, 0, 1}, {"DescribeCluster", 60, 0, 2}, {"DescribeTopicPartitions", 75, 0, 0},
}

func apiVersionsRequest() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "protocol-test", "1"
	return req
}

func TestApiVersions(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for version := int16(0); version <= 4; version++ {
		res := ask[*kmsg.ApiVersionsResponse](dial(t, node), version, apiVersionsRequest())
		wantCode(t, "ApiVersions", res.ErrorCode, nil)
		for _, api := range advertised {
			row, ok := find(res.ApiKeys, api.key)
			if !ok {
				t.Errorf("v%d: %s is not advertised", version, api.name)
				continue
			}
			low := api.min
			if api.key == 1 {
				low = departure(node, 4, int16(0), "agents whose Fetch is older than v4 get v2 batches; Apache Kafka 4 turns them away")
			}
			want(t, api.name+" min", row.MinVersion, low)
			want(t, api.name+" max", row.MaxVersion, api.max)
		}
	}
}

func find(keys []kmsg.ApiVersionsResponseApiKey, key int16) (kmsg.ApiVersionsResponseApiKey, bool) {
	for _, k := range keys {
		if k.ApiKey == key {
			return k, true
		}
	}
	return kmsg.ApiVersionsResponseApiKey{}, false
}

func TestApiVersionsKeysAreSorted(t *testing.T) {
	t.Parallel()
	res := ask[*kmsg.ApiVersionsResponse](dial(t, harness.Shared(t)), 3, apiVersionsRequest())
	if !sort.SliceIsSorted(res.ApiKeys, func(i, j int) bool { return res.ApiKeys[i].ApiKey < res.ApiKeys[j].ApiKey }) {
		t.Errorf("keys out of order: %v", res.ApiKeys)
	}
}

// An unknown version gets a v0 answer with error 35 and the one row that lets a client choose again, and the connection
// stays: vectordotdev/vector#5491, redpanda-data/redpanda#296, twmb/franz-go#1011.
func TestApiVersionsUnknownVersion(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for _, version := range []int16{5, 9, 99} {
		c := dial(t, node)
		req := apiVersionsRequest()
		req.SetVersion(version)
		correlation := c.send(req)
		res := kmsg.NewPtrApiVersionsResponse() // v0, whatever was asked
		c.receive(correlation, res)
		wantCode(t, "unknown version", res.ErrorCode, kerr.UnsupportedVersion)
		if len(res.ApiKeys) != 1 {
			t.Fatalf("v%d: %d rows, want only ApiVersions' own", version, len(res.ApiKeys))
		}
		own := res.ApiKeys[0]
		want(t, "key", own.ApiKey, 18)
		want(t, "min", own.MinVersion, 0)
		want(t, "max", own.MaxVersion, 4)
		again := ask[*kmsg.ApiVersionsResponse](c, own.MaxVersion, apiVersionsRequest())
		wantCode(t, "second try on the same connection", again.ErrorCode, nil)
	}
}

func TestApiVersionsClientSoftware(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for _, row := range []struct {
		name, software, version string
		want                    *kerr.Error
	}{
		{"both", "franz-go", "v1.22.3", nil},
		{"empty name", "", "1", kerr.InvalidRequest},
		{"empty version", "name", "", kerr.InvalidRequest},
		{"blank in the name", "a b", "1", kerr.InvalidRequest},
		{"line feed in the name", "a\nb", "1", kerr.InvalidRequest},
		{"dots, dashes, digits", "apache-kafka.java-4", "4.1.1-SNAPSHOT", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			req := kmsg.NewPtrApiVersionsRequest()
			req.ClientSoftwareName, req.ClientSoftwareVersion = row.software, row.version
			res := ask[*kmsg.ApiVersionsResponse](dial(t, node), 3, req)
			wantCode(t, row.name, res.ErrorCode, row.want)
		})
	}
}

// Requests that no node serves end the connection: there is no schema to answer in.
func TestUnknownRequestsClose(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for _, row := range []struct {
		name         string
		key, version int16
	}{
		{"key 999", 999, 0}, {"negative key", -1, 0}, {"Metadata v99", 3, 99}, {"ListOffsets v0", 2, 0}, {"OffsetCommit v1", 8, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := dial(t, node)
			frame := []byte{0, 0, 0, 10, byte(uint16(row.key) >> 8), byte(row.key), byte(row.version >> 8), byte(row.version), 0, 0, 0, 7, 0xff, 0xff}
			c.write(frame)
			c.closed()
		})
	}
}
