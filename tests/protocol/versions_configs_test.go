package protocol

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// configSweeps read and change properties.
var configSweeps = []sweep{
	{32, []exchange{
		{name: "of a topic", request: func(s *scene) kmsg.Request {
			return describeConfigsRequest(kmsg.ConfigResourceTypeTopic, s.records(), "retention.ms", "cleanup.policy", "segment.bytes")
		}, trim: sortedDescription},
		{name: "of the node", request: func(*scene) kmsg.Request {
			return describeConfigsRequest(kmsg.ConfigResourceTypeBroker, "1", "num.partitions", "auto.create.topics.enable", "log.retention.hours")
		}, trim: sortedDescription},
		{name: "of another node", request: func(*scene) kmsg.Request { return describeConfigsRequest(kmsg.ConfigResourceTypeBroker, "77") }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request {
			return describeConfigsRequest(kmsg.ConfigResourceTypeTopic, s.name("missing"))
		}},
		{name: "a name that is none", request: func(s *scene) kmsg.Request {
			return describeConfigsRequest(kmsg.ConfigResourceTypeTopic, s.records(), "odd")
		}},
	}},
	{33, []exchange{
		{name: "of a topic", request: func(s *scene) kmsg.Request { return alterRequest(s.topic(), "retention.ms", "7654321") }},
		{name: "a value that is none", request: func(s *scene) kmsg.Request { return alterRequest(s.topic(), "retention.ms", "soon") }},
		{name: "a name that is none", request: func(s *scene) kmsg.Request { return alterRequest(s.topic(), "odd", "1") }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return alterRequest(s.name("missing"), "retention.ms", "7654321") }},
	}},
	{44, []exchange{
		{name: "set", request: func(s *scene) kmsg.Request { return changeRequest(s.topic(), "retention.ms", 0, "7654321") }},
		{name: "delete", request: func(s *scene) kmsg.Request { return changeRequest(s.topic(), "retention.ms", 1, "") }},
		{name: "append", request: func(s *scene) kmsg.Request { return changeRequest(s.topic(), "cleanup.policy", 2, "compact") }},
		{name: "append to what is no list", request: func(s *scene) kmsg.Request { return changeRequest(s.topic(), "retention.ms", 2, "1") }},
		{name: "a value that is none", request: func(s *scene) kmsg.Request { return changeRequest(s.topic(), "retention.ms", 0, "soon") }},
		{name: "a topic that is not there", request: func(s *scene) kmsg.Request { return changeRequest(s.name("missing"), "retention.ms", 0, "1") }},
	}},
	{74, []exchange{
		{name: "topics", request: func(s *scene) kmsg.Request {
			s.records()
			req := kmsg.NewPtrListConfigResourcesRequest()
			if s.version >= 1 {
				req.ResourceTypes = []int8{2}
			}
			return req
		}, trim: onlyOwnResources},
		{name: "nodes", request: func(s *scene) kmsg.Request {
			req := kmsg.NewPtrListConfigResourcesRequest()
			if s.version >= 1 {
				req.ResourceTypes = []int8{4}
			}
			return req
		}},
		{name: "of a type that is none", request: func(s *scene) kmsg.Request {
			req := kmsg.NewPtrListConfigResourcesRequest()
			if s.version >= 1 {
				req.ResourceTypes = []int8{99}
			}
			return req
		}},
	}},
}

func alterRequest(topic, name, value string) *kmsg.AlterConfigsRequest {
	return &kmsg.AlterConfigsRequest{Resources: []kmsg.AlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic,
		Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: name, Value: &value}}}}}
}

func changeRequest(topic, name string, op kmsg.IncrementalAlterConfigOp, value string) *kmsg.IncrementalAlterConfigsRequest {
	c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: name, Op: op, Value: &value}
	if op == kmsg.IncrementalAlterConfigOpDelete {
		c.Value = nil
	}
	return &kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: topic, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{c}}}}
}

// sortedDescription: properties come in no order.
func sortedDescription(_ *scene, answer kmsg.Response) {
	for _, r := range answer.(*kmsg.DescribeConfigsResponse).Resources {
		slices.SortFunc(r.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return cmp.Compare(a.Name, b.Name) })
	}
}

func onlyOwnResources(s *scene, answer kmsg.Response) {
	res := answer.(*kmsg.ListConfigResourcesResponse)
	res.ConfigResources = slices.DeleteFunc(res.ConfigResources, func(r kmsg.ListConfigResourcesResponseConfigResource) bool { return s.names[r.Name] == "" })
}
