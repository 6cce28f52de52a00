package api

import (
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

func describeConfigsRequest(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	return req
}

func described(t *testing.T, b Broker, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResource {
	t.Helper()
	return ask[*kmsg.DescribeConfigsResponse](t, b, 4, req).Resources[0]
}

func TestDescribeConfigsPicksKeys(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1, "retention.ms", "5000")
	req := describeConfigsRequest(kmsg.ConfigResourceTypeTopic, "v", "retention.ms", "nope", "cleanup.policy", "retention.ms")
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	got := described(t, b, req)
	if got.ErrorCode != 0 || len(got.Configs) != 2 {
		t.Fatalf("%+v", got)
	}
	policy, retention := got.Configs[0], got.Configs[1]
	if policy.Name != "cleanup.policy" || text(policy.Value) != "delete" || policy.Source != kmsg.ConfigSourceDefaultConfig ||
		policy.ConfigType != kmsg.ConfigTypeList || policy.ReadOnly || policy.IsSensitive || text(policy.Documentation) == "" {
		t.Errorf("%+v", policy)
	}
	if s := policy.ConfigSynonyms; len(s) != 1 || s[0].Name != "log.cleanup.policy" || text(s[0].Value) != "delete" || s[0].Source != kmsg.ConfigSourceDefaultConfig {
		t.Errorf("%+v", s)
	}
	if retention.Source != kmsg.ConfigSourceDynamicTopicConfig || text(retention.Value) != "5000" || retention.ConfigSynonyms[0].Name != "retention.ms" {
		t.Errorf("%+v", retention)
	}
}

func TestDescribeConfigsTellsNoMoreThanIsAskedFor(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	for _, v := range []int16{1, 2, 3, 4} {
		got := ask[*kmsg.DescribeConfigsResponse](t, b, v, describeConfigsRequest(kmsg.ConfigResourceTypeTopic, "v", "retention.ms")).Resources[0].Configs[0]
		if got.Name != "retention.ms" || text(got.Value) != "604800000" || got.Documentation != nil || got.ConfigSynonyms != nil {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

// TestDescribeConfigsNoKeysAreAll: null and an empty list alike.
func TestDescribeConfigsNoKeysAreAll(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	empty := describeConfigsRequest(kmsg.ConfigResourceTypeTopic, "v")
	empty.Resources[0].ConfigNames = []string{}
	for _, req := range []*kmsg.DescribeConfigsRequest{empty, describeConfigsRequest(kmsg.ConfigResourceTypeTopic, "v")} {
		if n := len(described(t, b, req).Configs); n < 34 {
			t.Errorf("%d entries", n)
		}
	}
}

func TestDescribeConfigsRefuses(t *testing.T) {
	b := newFakeBroker(t)
	for _, c := range []struct {
		kind    kmsg.ConfigResourceType
		name    string
		code    wire.ErrorCode
		message string
	}{
		{kmsg.ConfigResourceTypeTopic, "none", 3, ""},
		{kmsg.ConfigResourceTypeTopic, "a b", 17, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{kmsg.ConfigResourceTypeTopic, "", 17, "Topic name is invalid: the empty string is not allowed"},
		{kmsg.ConfigResourceTypeBroker, "2", 42, "Unexpected broker id, expected 1 or empty string, but received 2"},
		{kmsg.ConfigResourceTypeBroker, "x", 42, "Broker id must be an integer, but it is: x"},
		{kmsg.ConfigResourceTypeBrokerLogger, "2", 42, "Unexpected broker id, expected 1 but received 2"},
		{kmsg.ConfigResourceTypeBrokerLogger, "", 42, "Broker id must not be empty"},
		{kmsg.ConfigResourceTypeGroupConfig, "", 42, "Group name must not be empty"},
		{kmsg.ConfigResourceTypeClientMetrics, "", 42, "Client metrics subscription name must not be empty"},
		{kmsg.ConfigResourceType(7), "g", 42, "Resources of type 7 have no configuration on this node."},
	} {
		got := described(t, b, describeConfigsRequest(c.kind, c.name))
		if wire.ErrorCode(got.ErrorCode) != c.code || text(got.ErrorMessage) != c.message || got.ResourceType != c.kind || got.ResourceName != c.name {
			t.Errorf("%s %q: %d %q", c.kind, c.name, got.ErrorCode, text(got.ErrorMessage))
		}
	}
}

func TestDescribeConfigsOfTheNode(t *testing.T) {
	b := newFakeBroker(t)
	got := described(t, b, describeConfigsRequest(kmsg.ConfigResourceTypeBroker, "1", "node.id", "log.retention.ms", "num.partitions", "broker.rack"))
	want := map[string]struct {
		value    string
		source   kmsg.ConfigSource
		readOnly bool
	}{
		"broker.rack":      {"rack-1", kmsg.ConfigSourceStaticBrokerConfig, true},
		"log.retention.ms": {"<null>", kmsg.ConfigSourceDefaultConfig, false},
		"node.id":          {"1", kmsg.ConfigSourceDefaultConfig, true},
		"num.partitions":   {"1", kmsg.ConfigSourceDefaultConfig, true},
	}
	for _, c := range got.Configs {
		if w := want[c.Name]; text(c.Value) != w.value || c.Source != w.source || c.ReadOnly != w.readOnly {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
	if len(got.Configs) != len(want) {
		t.Errorf("%d entries", len(got.Configs))
	}
	if all := described(t, b, describeConfigsRequest(kmsg.ConfigResourceTypeBroker, "")); all.ErrorCode != 0 || len(all.Configs) != 0 {
		t.Errorf("of all nodes: %+v", all)
	}
}

// TestDescribeConfigsBoundsItsAnswer: a request of 60 kB that would be answered with hundreds of megabytes.
func TestDescribeConfigsBoundsItsAnswer(t *testing.T) {
	b := newFakeBroker(t)
	req := describeConfigsRequest(kmsg.ConfigResourceTypeBroker, "1")
	for range 9999 {
		req.Resources = append(req.Resources, req.Resources[0])
	}
	resp := describeConfigs(b, nil, req)
	entries := 0
	for i := range resp.Resources {
		entries += len(resp.Resources[i].Configs)
	}
	if last := resp.Resources[9999]; entries > describedEntriesMax+1000 || last.ErrorCode != int16(wire.PolicyViolation) {
		t.Errorf("%d entries, the last is refused with %d", entries, last.ErrorCode)
	}
}

// The operations of IncrementalAlterConfigs.
const (
	set = kmsg.IncrementalAlterConfigOpSet
	del = kmsg.IncrementalAlterConfigOpDelete
	add = kmsg.IncrementalAlterConfigOpAppend
	sub = kmsg.IncrementalAlterConfigOpSubtract
)

type change struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value string // "<null>" for null
}

func alterRequest(kind kmsg.ConfigResourceType, name string, changes ...change) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, c := range changes {
		x := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		if x.Name, x.Op = c.key, c.op; c.value != "<null>" {
			x.Value = &c.value
		}
		r.Configs = append(r.Configs, x)
	}
	req.Resources = append(req.Resources, r)
	return req
}

func alter(t *testing.T, b Broker, req *kmsg.IncrementalAlterConfigsRequest) (wire.ErrorCode, string) {
	t.Helper()
	got := ask[*kmsg.IncrementalAlterConfigsResponse](t, b, 1, req).Resources[0]
	return wire.ErrorCode(got.ErrorCode), text(got.ErrorMessage)
}

// TestAlterTopicConfigs is a walk with the value of cleanup.policy or retention.ms after each step, as Apache Kafka 4.1.1
// took it; "<none>" is a value that the topic does not have itself.
func TestAlterTopicConfigs(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	for i, step := range []struct {
		change  change
		code    wire.ErrorCode
		message string
		then    string
	}{
		{change{"retention.ms", set, "5000"}, 0, "<null>", "5000"},
		{change{"retention.ms", set, "x"}, 40, "Invalid value x for configuration retention.ms: Not a number of type LONG", "5000"},
		{change{"retention.ms", set, ""}, 40, "Invalid value  for configuration retention.ms: Not a number of type LONG", "5000"},
		{change{"retention.ms", set, "<null>"}, 42, "Null value not supported for : retention.ms", "5000"},
		{change{"retention.ms", add, "5"}, 40, "Can't APPEND to key retention.ms because its type is not LIST.", "5000"},
		{change{"retention.ms", sub, "5"}, 40, "Can't SUBTRACT to key retention.ms because its type is not LIST.", "5000"},
		{change{"retention.ms", 7, "5"}, 42, "Unknown operation 7 on retention.ms", "5000"},
		{change{"retention.ms", del, "<null>"}, 0, "<null>", "<none>"},
		{change{"retention.ms", del, "x"}, 0, "<null>", "<none>"},
		{change{"nope", set, "x"}, 40, "Unknown topic config name: nope", "<none>"},
		{change{"nope", del, "<null>"}, 0, "<null>", "<none>"},
		{change{"nope", add, "x"}, 40, "Can't APPEND to key nope because its type is not LIST.", "<none>"},
		{change{"cleanup.policy", add, "<null>"}, 42, "Null value not supported for : cleanup.policy", "<none>"},
		{change{"cleanup.policy", add, "compact"}, 0, "<null>", "delete,compact"},
		{change{"cleanup.policy", add, "compact,delete"}, 0, "<null>", "delete,compact"},
		{change{"cleanup.policy", sub, "delete"}, 0, "<null>", "compact"},
		{change{"cleanup.policy", sub, "delete"}, 0, "<null>", "compact"},
		{change{"cleanup.policy", sub, "compact"}, 0, "<null>", ""},
		{change{"cleanup.policy", del, "<null>"}, 0, "<null>", "<none>"},
		{change{"cleanup.policy", sub, "delete"}, 0, "<null>", ""},
		{change{"cleanup.policy", set, "x"}, 40, "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete", ""},
	} {
		req := alterRequest(kmsg.ConfigResourceTypeTopic, "v", step.change)
		if code, message := alter(t, b, req); code != step.code || message != step.message {
			t.Errorf("step %d, %+v: %d %q", i, step.change, code, message)
		}
		now, ok := b.image.ByName("v").Configs[step.change.key]
		if !ok {
			now = "<none>"
		}
		if now != step.then {
			t.Errorf("step %d, %+v: now %q", i, step.change, now)
		}
	}
}

func TestAlterConfigsIsAllOrNothingForAResource(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	for _, c := range []struct {
		name    string
		req     *kmsg.IncrementalAlterConfigsRequest
		code    wire.ErrorCode
		message string
	}{
		{"one of two bad", alterRequest(2, "v", change{"retention.ms", set, "8000"}, change{"cleanup.policy", set, "x"}), 40, "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete"},
		{"bad together", alterRequest(2, "v", change{"min.compaction.lag.ms", set, "8000"}, change{"max.compaction.lag.ms", set, "10"}), 40, "conflict topic config setting min.compaction.lag.ms (8000) > max.compaction.lag.ms (10)"},
		{"key twice", alterRequest(2, "v", change{"retention.ms", set, "5"}, change{"retention.ms", set, "6"}), 42, "Error due to duplicate config keys"},
		{"unknown topic", alterRequest(2, "none", change{"retention.ms", set, "5"}), 3, "The topic 'none' does not exist."},
		{"bad topic", alterRequest(2, "a b", change{"retention.ms", set, "5"}), 17, "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"},
		{"unknown kind", alterRequest(7, "v", change{"a", set, "5"}), 42, "Unknown resource type 7"},
		{"logger", alterRequest(8, "1", change{"nope", set, "INFO"}), 40, "Logger nope does not exist!"},
		{"nothing", alterRequest(2, "v"), 0, "<null>"},
	} {
		if code, message := alter(t, b, c.req); code != c.code || message != c.message {
			t.Errorf("%s: %d %q", c.name, code, message)
		}
		if len(b.image.ByName("v").Configs) != 0 {
			t.Fatalf("%s: %v is set", c.name, b.image.ByName("v").Configs)
		}
	}
}

func TestAlterConfigsOfAResourceNamedTwice(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	b.withTopic(t, "w", 1)
	req := alterRequest(2, "v", change{"retention.ms", set, "5"})
	req.Resources = append(req.Resources, req.Resources[0], alterRequest(2, "w", change{"retention.ms", set, "6"}).Resources[0])
	got := ask[*kmsg.IncrementalAlterConfigsResponse](t, b, 0, req).Resources
	for i, code := range []int16{42, 42, 0} {
		if got[i].ErrorCode != code {
			t.Errorf("resource %d: %d %q", i, got[i].ErrorCode, text(got[i].ErrorMessage))
		}
	}
	if len(b.image.ByName("v").Configs) != 0 || b.image.ByName("w").Configs["retention.ms"] != "6" {
		t.Error("v was changed, or w was not")
	}
}

func TestAlterConfigsValidateOnly(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	req := alterRequest(2, "v", change{"retention.ms", set, "7000"})
	req.ValidateOnly = true
	if code, message := alter(t, b, req); code != 0 || len(b.image.ByName("v").Configs) != 0 {
		t.Error(code, message, b.image.ByName("v").Configs)
	}
}

func TestAlterConfigsOfNodes(t *testing.T) {
	for _, c := range []struct {
		name, node string
		change     change
		code       wire.ErrorCode
		message    string
	}{
		{"read-only", "1", change{"node.id", set, "5"}, 42, "Cannot update these configs dynamically: Set(node.id)"},
		{"read-only, all nodes", "", change{"node.id", set, "5"}, 42, "Cannot update these configs dynamically: Set(node.id)"},
		{"read-only, taken away", "1", change{"node.id", del, "<null>"}, 0, "<null>"},
		{"per node, all nodes", "", change{"listeners", set, "PLAINTEXT://:1"}, 42, "Cannot update these configs at default cluster level, broker id must be specified: Set(listeners)"},
		{"bad value", "1", change{"log.retention.ms", set, "x"}, 42, "Invalid value x for configuration log.retention.ms: Not a number of type LONG"},
		{"null", "1", change{"log.retention.ms", set, "<null>"}, 42, "Null value not supported for : log.retention.ms"},
		{"added to no list", "1", change{"log.retention.ms", add, "5"}, 40, "Config value append is not allowed for config key: log.retention.ms"},
		{"bad element", "1", change{"log.cleanup.policy", add, "x"}, 42, "Invalid value x for configuration log.cleanup.policy: String must be one of: compact, delete"},
		{"another node", "2", change{"log.retention.ms", set, "500000"}, 42, "Unexpected broker id, expected 1, but received 2"},
		{"no node", "x", change{"log.retention.ms", set, "500000"}, 42, "Node id must be an integer, but it is: x"},
		{"unknown key", "1", change{"nope", set, "x"}, 0, "<null>"},
		{"added", "1", change{"log.cleanup.policy", add, "compact"}, 0, "<null>"},
		{"one node", "1", change{"log.retention.ms", set, "500000"}, 0, "<null>"},
		{"all nodes", "", change{"log.retention.ms", set, "500000"}, 0, "<null>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFakeBroker(t)
			if code, message := alter(t, b, alterRequest(4, c.node, c.change)); code != c.code || message != c.message {
				t.Errorf("%d %q", code, message)
			}
			if n := len(b.image.BrokerConfigs(c.node)); (n == 1) != (c.code == 0 && c.change.op != del) {
				t.Errorf("%d values are set", n)
			}
		})
	}
}

// TestAlterConfigsBoundsWhatANodeKeeps: unknown keys are kept, but not without end.
func TestAlterConfigsBoundsWhatANodeKeeps(t *testing.T) {
	b := newFakeBroker(t)
	var many []change
	for i := range configKeysMax + 1 {
		many = append(many, change{"k" + strconv.Itoa(i), set, "x"})
	}
	if code, _ := alter(t, b, alterRequest(4, "1", many...)); code != wire.PolicyViolation || len(b.image.BrokerConfigs("1")) != 0 {
		t.Error(code)
	}
	if code, message := alter(t, b, alterRequest(4, "1", many[1:]...)); code != wire.None {
		t.Error(code, message)
	}
}

// TestMinInSyncReplicasOfAClusterAreOne: in a cluster no node can have another min.insync.replicas than the others. Codes and words are
// those of Apache Kafka 4.1.1.
func TestMinInSyncReplicasOfAClusterAreOne(t *testing.T) {
	for _, c := range []struct {
		clustered bool
		node      string
		op        kmsg.IncrementalAlterConfigOp
		want      refusal
	}{
		{true, "1", set, refusal{wire.InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."}},
		{true, "", del, refusal{wire.InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."}},
		{true, "1", del, refusal{}},
		{true, "", set, refusal{}},
		{false, "1", set, refusal{}},
		{false, "", del, refusal{}},
	} {
		b := newFakeBroker(t)
		b.apply(t, image.BrokerRecord{Broker: image.Broker{ID: 1}})
		b.clustered = c.clustered
		req := alterRequest(4, c.node, change{"min.insync.replicas", c.op, "2"})
		got := ask[*kmsg.IncrementalAlterConfigsResponse](t, b, 1, req).Resources[0]
		if wire.ErrorCode(got.ErrorCode) != c.want.code || text(got.ErrorMessage) != text(nullable(c.want.message)) {
			t.Errorf("%+v: %d %s", c, got.ErrorCode, text(got.ErrorMessage))
		}
	}
}

// TestAlteredConfigsAreDescribed: a node's value beats that of all nodes, and both are told.
func TestAlteredConfigsAreDescribed(t *testing.T) {
	b := newFakeBroker(t)
	b.withTopic(t, "v", 1)
	alter(t, b, alterRequest(4, "", change{"log.retention.ms", set, "70000"}))
	alter(t, b, alterRequest(4, "1", change{"log.retention.ms", set, "60000"}))
	req := describeConfigsRequest(kmsg.ConfigResourceTypeBroker, "1", "log.retention.ms")
	req.IncludeSynonyms = true
	got := described(t, b, req).Configs[0]
	if text(got.Value) != "60000" || got.Source != kmsg.ConfigSourceDynamicBrokerConfig || len(got.ConfigSynonyms) != 3 || text(got.ConfigSynonyms[1].Value) != "70000" {
		t.Errorf("node: %+v", got)
	}
	if got := described(t, b, describeConfigsRequest(4, "")).Configs; len(got) != 1 || text(got[0].Value) != "70000" || got[0].Source != kmsg.ConfigSourceDynamicDefaultBrokerConfig {
		t.Errorf("all nodes: %+v", got)
	}
	if got := described(t, b, describeConfigsRequest(2, "v", "retention.ms")).Configs[0]; text(got.Value) != "60000" || got.Source != kmsg.ConfigSourceDynamicBrokerConfig {
		t.Errorf("topic: %+v", got)
	}
}
