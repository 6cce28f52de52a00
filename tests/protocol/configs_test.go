package protocol

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func describeConfigsRequest(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = []kmsg.DescribeConfigsRequestResource{r}
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	return req
}

func (c *conn) topicConfig(topic, key string) kmsg.DescribeConfigsResponseResourceConfig {
	c.t.Helper()
	res := ask[*kmsg.DescribeConfigsResponse](c, 4, describeConfigsRequest(kmsg.ConfigResourceTypeTopic, topic, key))
	wantCode(c.t, "DescribeConfigs", res.Resources[0].ErrorCode, nil)
	if len(res.Resources[0].Configs) != 1 {
		c.t.Fatalf("%d configs for %s", len(res.Resources[0].Configs), key)
	}
	return res.Resources[0].Configs[0]
}

func TestDescribeTopicConfigs(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t, "retention.ms=7654321")
	for version := int16(1); version <= 4; version++ {
		res := ask[*kmsg.DescribeConfigsResponse](c, version, describeConfigsRequest(kmsg.ConfigResourceTypeTopic, topic))
		wantCode(t, "all configs", res.Resources[0].ErrorCode, nil)
		if n := len(res.Resources[0].Configs); n < 30 {
			t.Errorf("v%d: %d configs, Kafka has 34 for a topic", version, n)
		}
	}
	set := c.topicConfig(topic, "retention.ms")
	want(t, "value", text(set.Value), "7654321")
	want(t, "source", set.Source, kmsg.ConfigSourceDynamicTopicConfig)
	want(t, "read only", set.ReadOnly, false)
	want(t, "type", set.ConfigType, kmsg.ConfigTypeLong)
	if text(set.Documentation) == "" || set.Documentation == nil {
		t.Error("no documentation")
	}
	unset := c.topicConfig(topic, "cleanup.policy")
	want(t, "default", text(unset.Value), "delete")
	want(t, "source of a default", unset.Source, kmsg.ConfigSourceDefaultConfig)
	want(t, "type of a list", unset.ConfigType, kmsg.ConfigTypeList)
}

func TestDescribeConfigsErrors(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	for _, row := range []struct {
		name     string
		kind     kmsg.ConfigResourceType
		resource string
		want     *kerr.Error
	}{
		{"unknown topic", kmsg.ConfigResourceTypeTopic, "no-such-topic", kerr.UnknownTopicOrPartition},
		{"invalid topic", kmsg.ConfigResourceTypeTopic, "a b", kerr.InvalidTopicException},
		{"broker that is not a number", kmsg.ConfigResourceTypeBroker, "one", kerr.InvalidRequest},
		{"another broker", kmsg.ConfigResourceTypeBroker, "4711", kerr.InvalidRequest},
		{"unknown kind", kmsg.ConfigResourceType(99), "x", kerr.InvalidRequest},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := ask[*kmsg.DescribeConfigsResponse](dial(t, node), 4, describeConfigsRequest(row.kind, row.resource))
			wantCode(t, row.name, res.Resources[0].ErrorCode, row.want)
		})
	}
}

func TestDescribeBrokerConfigs(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	broker := ask[*kmsg.MetadataResponse](c, 7, metadataRequest()).Brokers[0].NodeID
	req := describeConfigsRequest(kmsg.ConfigResourceTypeBroker, itoa(broker), "log.retention.hours", "num.partitions", "node.id")
	res := ask[*kmsg.DescribeConfigsResponse](c, 4, req)
	wantCode(t, "broker", res.Resources[0].ErrorCode, nil)
	values := map[string]string{}
	for _, config := range res.Resources[0].Configs {
		values[config.Name] = text(config.Value)
	}
	want(t, "log.retention.hours", values["log.retention.hours"], "168")
	want(t, "num.partitions", values["num.partitions"], "1")
	want(t, "node.id", values["node.id"], itoa(broker))
}

// alter is IncrementalAlterConfigs of one key.
func (c *conn) alter(kind kmsg.ConfigResourceType, name, key string, op kmsg.IncrementalAlterConfigOp, value *string, validateOnly bool) int16 {
	c.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = validateOnly
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kind, ResourceName: name,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Op: op, Value: value}}}}
	return ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, req).Resources[0].ErrorCode
}

func TestIncrementalAlterConfigs(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	const set, del, app, sub = kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete,
		kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract
	for _, row := range []struct {
		name         string
		key          string
		op           kmsg.IncrementalAlterConfigOp
		value        *string
		validateOnly bool
		want         *kerr.Error
		after        string
	}{
		{"set", "retention.ms", set, ptr("5000000"), false, nil, "5000000"},
		{"set, validate only", "retention.ms", set, ptr("6000000"), true, nil, "5000000"},
		{"set a bad value", "retention.ms", set, ptr("later"), false, kerr.InvalidConfig, "5000000"},
		{"set out of range", "retention.ms", set, ptr("-2"), false, kerr.InvalidConfig, "5000000"},
		{"set to null", "retention.ms", set, nil, false, kerr.InvalidRequest, "5000000"},
		{"append to what is no list", "retention.ms", app, ptr("1"), false, kerr.InvalidConfig, "5000000"},
		{"delete", "retention.ms", del, nil, false, nil, "604800000"},
		{"append", "cleanup.policy", app, ptr("compact"), false, nil, "delete,compact"},
		{"append what is there", "cleanup.policy", app, ptr("compact"), false, nil, "delete,compact"},
		{"subtract", "cleanup.policy", sub, ptr("delete"), false, nil, "compact"},
	} {
		wantCode(t, row.name, c.alter(kmsg.ConfigResourceTypeTopic, topic, row.key, row.op, row.value, row.validateOnly), row.want)
		harness.Await(t, row.name+" is in force", func() bool { return text(c.topicConfig(topic, row.key).Value) == row.after })
	}
	wantCode(t, "unknown key", c.alter(kmsg.ConfigResourceTypeTopic, topic, "no.such.key", set, ptr("1"), false), kerr.InvalidConfig)
	wantCode(t, "unknown topic", c.alter(kmsg.ConfigResourceTypeTopic, "no-such-topic", "retention.ms", set, ptr("1"), false), kerr.UnknownTopicOrPartition)
}

// A topic's limit that is altered binds the next batch.
func TestAlteredLimitBinds(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	big := newBatch(record(string(make([]byte, 5000)))).bytes()
	wantCode(t, "before", c.produce(topic, 0, big).ErrorCode, nil)
	wantCode(t, "alter", c.alter(kmsg.ConfigResourceTypeTopic, topic, "max.message.bytes", kmsg.IncrementalAlterConfigOpSet, ptr("1000"), false), nil)
	harness.Await(t, "the limit binds", func() bool {
		return c.produce(topic, 0, big).ErrorCode == kerr.MessageTooLarge.Code
	})
}
