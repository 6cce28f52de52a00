package api

import (
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

func replaceRequest(kind kmsg.ConfigResourceType, name string, keysAndValues ...string) *kmsg.AlterConfigsRequest {
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for i := 0; i < len(keysAndValues); i += 2 {
		c := kmsg.NewAlterConfigsRequestResourceConfig()
		if c.Name = keysAndValues[i]; keysAndValues[i+1] != "<null>" {
			c.Value = &keysAndValues[i+1]
		}
		r.Configs = append(r.Configs, c)
	}
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = append(req.Resources, r)
	return req
}

func replace(t *testing.T, b Broker, version int16, req *kmsg.AlterConfigsRequest) (wire.ErrorCode, string) {
	t.Helper()
	got := ask[*kmsg.AlterConfigsResponse](t, b, version, req).Resources[0]
	return wire.ErrorCode(got.ErrorCode), text(got.ErrorMessage)
}

func TestAlterConfigsReplacesWhatATopicHas(t *testing.T) {
	for v := int16(0); v <= 2; v++ {
		b := newFakeBroker(t)
		b.withTopic(t, "v", 1, "retention.ms", "5000", "retention.bytes", "8")
		req := replaceRequest(kmsg.ConfigResourceTypeTopic, "v", "retention.bytes", "7", "segment.bytes", "2097152")
		req.ValidateOnly = true
		if code, message := replace(t, b, v, req); code != 0 || b.image.ByName("v").Configs["retention.ms"] != "5000" {
			t.Errorf("version %d, validated: %d %s %v", v, code, message, b.image.ByName("v").Configs)
		}
		req.ValidateOnly = false
		code, message := replace(t, b, v, req)
		want := map[string]string{"retention.bytes": "7", "segment.bytes": "2097152"}
		if got := b.image.ByName("v").Configs; code != 0 || message != "<null>" || !maps.Equal(got, want) {
			t.Errorf("version %d: %d %s %v", v, code, message, got)
		}
		if code, _ := replace(t, b, v, replaceRequest(kmsg.ConfigResourceTypeTopic, "v")); code != 0 || len(b.image.ByName("v").Configs) != 0 {
			t.Errorf("version %d, of nothing: %d %v", v, code, b.image.ByName("v").Configs)
		}
	}
}

func TestAlterConfigsReplacesWhatTheNodeHas(t *testing.T) {
	b := newFakeBroker(t)
	if code, message := alter(t, b, alterRequest(kmsg.ConfigResourceTypeBroker, "1", change{"log.retention.ms", set, "9000"})); code != 0 {
		t.Fatal(message)
	}
	code, message := replace(t, b, 2, replaceRequest(kmsg.ConfigResourceTypeBroker, "1", "log.retention.bytes", "77"))
	if got := b.image.BrokerConfigs("1"); code != 0 || !maps.Equal(got, map[string]string{"log.retention.bytes": "77"}) {
		t.Errorf("%d %s %v", code, message, got)
	}
}

// TestAlterConfigsRefuses has the answers of Apache Kafka 4.1.1.
func TestAlterConfigsRefuses(t *testing.T) {
	const topic, broker, logger = kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1, "retention.ms", "5000")
	for _, c := range []struct {
		req     *kmsg.AlterConfigsRequest
		code    wire.ErrorCode
		message string
	}{
		{replaceRequest(topic, "v", "retention.ms", "<null>"), 42, "Null value not supported for : retention.ms"},
		{replaceRequest(topic, "nope", "retention.ms", "<null>"), 42, "Null value not supported for : retention.ms"},
		{replaceRequest(topic, "v", "retention.ms", "x"), 40, "Invalid value x for configuration retention.ms: Not a number of type LONG"},
		{replaceRequest(topic, "v", "nope", "x"), 40, "Unknown topic config name: nope"},
		{replaceRequest(topic, "v", "retention.ms", "5", "retention.ms", "6"), 42, "Error due to duplicate config keys"},
		{replaceRequest(topic, "nope", "retention.ms", "5"), 3, "The topic 'nope' does not exist."},
		{replaceRequest(broker, "77", "log.cleaner.threads", "1"), 42, "Unexpected broker id, expected 1, but received 77"},
		{replaceRequest(broker, "x", "log.cleaner.threads", "1"), 42, "Node id must be an integer, but it is: x"},
		{replaceRequest(broker, "1", "broker.id", "1"), 42, "Cannot update these configs dynamically: Set(broker.id)"},
		{replaceRequest(logger, "1", "kafka", "INFO"), 42, "Unknown resource type 8"},
		{replaceRequest(logger, "1"), 42, "Unknown resource type 8"},
		{replaceRequest(3, "1", "x", "1"), 42, "Unknown resource type 3"},
	} {
		if code, message := replace(t, b, 2, c.req); code != c.code || message != c.message {
			t.Errorf("%v: %d %q", c.req.Resources[0], code, message)
		}
	}
	if got := b.image.ByName("v").Configs; !maps.Equal(got, map[string]string{"retention.ms": "5000"}) {
		t.Errorf("the topic has %v", got)
	}
}

// TestAlterConfigsOfOneResourceTwice: Apache Kafka 4.1.1 never answers.
func TestAlterConfigsOfOneResourceTwice(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	req := replaceRequest(kmsg.ConfigResourceTypeTopic, "v", "retention.ms", "5")
	req.Resources = append(req.Resources, req.Resources[0])
	got := ask[*kmsg.AlterConfigsResponse](t, b, 2, req).Resources
	if len(got) != 2 || got[0].ErrorCode != 42 || got[1].ErrorCode != 42 || len(b.image.ByName("v").Configs) != 0 {
		t.Errorf("%+v", got)
	}
}
