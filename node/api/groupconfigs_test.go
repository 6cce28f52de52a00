package api

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// TestAlterGroupConfigs is a walk with what the group has of its own after each step, as Apache Kafka 4.1.1 took it.
func TestAlterGroupConfigs(t *testing.T) {
	b := newFakeBroker(t)
	for i, step := range []struct {
		group   string
		change  change
		code    wire.ErrorCode
		message string
		then    int
	}{
		{"g", change{"nonsense", set, "1"}, 40, "Unknown group config name: nonsense", 0},
		{"g", change{"consumer.session.timeout.ms", set, "44999"}, 40, "consumer.session.timeout.ms must be greater than or equal to group.consumer.min.session.timeout.ms", 0},
		{"g", change{"consumer.session.timeout.ms", set, "<null>"}, 42, "Null value not supported for : consumer.session.timeout.ms", 0},
		{"g", change{"consumer.session.timeout.ms", add, "3"}, 40, "Can't APPEND to key consumer.session.timeout.ms because its type is not LIST.", 0},
		{"g", change{"share.isolation.level", sub, "3"}, 40, "Can't SUBTRACT to key share.isolation.level because its type is not LIST.", 0},
		{"g", change{"nonsense", add, "3"}, 40, "Can't APPEND to key nonsense because its type is not LIST.", 0},
		{"g", change{"nonsense", del, "<null>"}, 0, "<null>", 0},
		{"", change{"consumer.session.timeout.ms", set, "46000"}, 42, "Default group resources are not allowed.", 0},
		{"g", change{"consumer.session.timeout.ms", set, "46000"}, 0, "<null>", 1},
		{"with space/ü\x01", change{"share.isolation.level", set, "read_committed"}, 0, "<null>", 1},
		{"g", change{"consumer.session.timeout.ms", del, "<null>"}, 0, "<null>", 0},
	} {
		code, message := alter(t, b, alterRequest(kmsg.ConfigResourceTypeGroupConfig, step.group, step.change))
		if code != step.code || message != step.message {
			t.Errorf("step %d, %+v: %d %q", i, step.change, code, message)
		}
		if n := len(b.image.GroupOverrides(step.group)); n != step.then {
			t.Errorf("step %d, %+v: the group has %d values of its own", i, step.change, n)
		}
	}
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.ResourceTypes = []int8{int8(kmsg.ConfigResourceTypeGroupConfig)}
	listed := ask[*kmsg.ListConfigResourcesResponse](t, b, 1, req).ConfigResources
	if len(listed) != 1 || listed[0].Name != "with space/ü\x01" {
		t.Errorf("listed: %+v", listed)
	}
}

// AlterConfigs replaces what a group has, in Apache Kafka 4.1.1 too.
func TestAlterConfigsReplacesAGroups(t *testing.T) {
	b := newFakeBroker(t)
	alter(t, b, alterRequest(kmsg.ConfigResourceTypeGroupConfig, "g", change{"consumer.session.timeout.ms", set, "46000"}))
	req := kmsg.NewPtrAlterConfigsRequest()
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeGroupConfig, "g"
	c := kmsg.NewAlterConfigsRequestResourceConfig()
	c.Name, c.Value = "share.isolation.level", kmsg.StringPtr("read_committed")
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	if got := ask[*kmsg.AlterConfigsResponse](t, b, 2, req).Resources[0]; got.ErrorCode != 0 {
		t.Fatal(got.ErrorCode, text(got.ErrorMessage))
	}
	if own := b.image.GroupOverrides("g"); len(own) != 1 || own["share.isolation.level"] != "read_committed" {
		t.Error(own)
	}
}

// TestAlterClientMetrics: the codes and messages are those of Apache Kafka 4.1.1.
func TestAlterClientMetrics(t *testing.T) {
	b := newFakeBroker(t)
	for i, step := range []struct {
		name    string
		change  change
		code    wire.ErrorCode
		message string
	}{
		{"", change{"interval.ms", set, "1000"}, 42, "Subscription name can't be empty"},
		{"m", change{"nonsense", set, "1"}, 42, "Unknown client metrics configuration: nonsense"},
		{"m", change{"interval.ms", set, "x"}, 40, "Invalid value x for configuration interval.ms: Not a number of type INT"},
		{"m", change{"metrics", add, "org.b"}, 40, "Can't APPEND to key metrics because its type is not LIST."},
		{"m", change{"metrics", set, "org.a,org.b"}, 0, "<null>"},
	} {
		code, message := alter(t, b, alterRequest(kmsg.ConfigResourceTypeClientMetrics, step.name, step.change))
		if code != step.code || message != step.message {
			t.Errorf("step %d, %+v: %d %q", i, step.change, code, message)
		}
	}
	got := described(t, b, describeConfigsRequest(kmsg.ConfigResourceTypeClientMetrics, "m")).Configs
	at := slices.IndexFunc(got, func(c kmsg.DescribeConfigsResponseResourceConfig) bool { return c.Name == "metrics" })
	if len(got) != 3 || text(got[at].Value) != "org.a,org.b" || got[at].Source != kmsg.ConfigSourceClientMetricsConfig {
		t.Errorf("%+v", got)
	}
}

// TestConfiguredGroupsAreBounded: a name is all that it takes to have a configuration.
func TestConfiguredGroupsAreBounded(t *testing.T) {
	b := newFakeBroker(t)
	var records []image.Record
	for i := range configuredResourcesMax {
		records = append(records, image.ConfigRecord{Resource: image.Resource{Type: image.GroupResource, Name: fmt.Sprint(i)},
			Key: "share.isolation.level", Value: kmsg.StringPtr("read_committed")})
	}
	b.apply(t, records...)
	one := change{"consumer.session.timeout.ms", set, "46000"}
	if code, _ := alter(t, b, alterRequest(kmsg.ConfigResourceTypeGroupConfig, "one more", one)); code != wire.PolicyViolation {
		t.Error(code)
	}
	if code, message := alter(t, b, alterRequest(kmsg.ConfigResourceTypeGroupConfig, "7", one)); code != wire.None {
		t.Error("one that has a configuration already:", code, message)
	}
}
