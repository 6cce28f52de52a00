package api

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

var describeConfigsRow = row{key: wire.KeyDescribeConfigs, min: 1, max: 4, handle: on(describeConfigs)}

// describedEntriesMax bounds the entries that one DescribeConfigs lists, since ten bytes can ask for a hundred kilobytes:
// it has room for 10,000 topics with all their properties.
const describedEntriesMax = 350_000

func describeConfigs(b Broker, r *Request, req *kmsg.DescribeConfigsRequest) *kmsg.DescribeConfigsResponse {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	resp.Resources = make([]kmsg.DescribeConfigsResponseResource, len(req.Resources))
	listed := 0
	for i := range req.Resources {
		asked, out := &req.Resources[i], &resp.Resources[i]
		out.Default()
		out.ResourceType, out.ResourceName = asked.ResourceType, asked.ResourceName
		why := refuse(wire.PolicyViolation, "More than %d entries in one answer.", describedEntriesMax)
		switch {
		case !r.mayDescribeConfigs(b, asked.ResourceType, asked.ResourceName):
			why = unauthorizedResource(asked.ResourceType)
		case listed < describedEntriesMax:
			out.Configs, why = describeResource(b, req, asked)
		}
		out.ErrorCode, out.ErrorMessage = int16(why.code), &why.message
		listed += len(out.Configs)
	}
	return resp
}

// mayDescribeConfigs: configurations of nodes, their logs and client metrics are the cluster's.
func (r *Request) mayDescribeConfigs(b Broker, t kmsg.ConfigResourceType, name string) bool {
	switch t {
	case kmsg.ConfigResourceTypeTopic:
		return r.may(b, describeTopicConfigs, name)
	case kmsg.ConfigResourceTypeGroupConfig:
		return r.may(b, describeGroupConfigs, name)
	}
	return r.mayInCluster(b, describeClusterConfigs)
}

// mayAlterConfigs is mayDescribeConfigs for changes.
func (r *Request) mayAlterConfigs(b Broker, t kmsg.ConfigResourceType, name string) bool {
	switch t {
	case kmsg.ConfigResourceTypeTopic:
		return r.may(b, alterTopicConfigs, name)
	case kmsg.ConfigResourceTypeGroupConfig:
		return r.may(b, alterGroupConfigs, name)
	}
	return r.mayInCluster(b, alterClusterConfigs)
}

// unauthorizedResource is the refusal of a client that may not see, or change, a resource's configuration.
func unauthorizedResource(t kmsg.ConfigResourceType) refusal {
	switch t {
	case kmsg.ConfigResourceTypeTopic:
		return unauthorizedTopic
	case kmsg.ConfigResourceTypeGroupConfig:
		return unauthorizedGroup
	}
	return unauthorizedCluster
}

func describeResource(b Broker, req *kmsg.DescribeConfigsRequest, asked *kmsg.DescribeConfigsRequestResource) ([]kmsg.DescribeConfigsResponseResourceConfig, refusal) {
	entries, why := describedResource(b, asked)
	if why.code != wire.None {
		return nil, why
	}
	return describedEntries(req, asked.ConfigNames, entries), refusal{}
}

func describedResource(b Broker, asked *kmsg.DescribeConfigsRequestResource) ([]config.Entry, refusal) {
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return describedTopic(b, asked.ResourceName)
	case kmsg.ConfigResourceTypeBroker:
		return describedBroker(b.Config(), asked.ResourceName)
	case kmsg.ConfigResourceTypeBrokerLogger:
		return describedLoggers(b, asked.ResourceName)
	case kmsg.ConfigResourceTypeGroupConfig:
		return describedGroup(b, asked.ResourceName)
	case kmsg.ConfigResourceTypeClientMetrics:
		return describedClientMetrics(b, asked.ResourceName)
	}
	return nil, refuse(wire.InvalidRequest, "Resources of type %d have no configuration on this node.", asked.ResourceType)
}

func describedTopic(b Broker, name string) ([]config.Entry, refusal) {
	if err := wire.CheckTopicName(name); err != nil {
		return nil, refusal{wire.InvalidTopicException, err.Error()}
	}
	t := b.Image().ByName(name)
	if t == nil {
		return nil, refusal{code: wire.UnknownTopicOrPartition}
	}
	return b.Config().DescribeTopic(t.Configs), refusal{}
}

// describedBroker: a name is this node's number; an empty one means what is set for all nodes at run time.
func describedBroker(cfg *config.Config, name string) ([]config.Entry, refusal) {
	if name == "" {
		return cfg.DescribeCluster(), refusal{}
	}
	id, err := strconv.Atoi(name)
	switch {
	case err != nil:
		return nil, refuse(wire.InvalidRequest, "Broker id must be an integer, but it is: %s", name)
	case id != int(cfg.NodeID):
		return nil, refuse(wire.InvalidRequest, "Unexpected broker id, expected %d or empty string, but received %s", cfg.NodeID, name)
	}
	return cfg.DescribeBroker(), refusal{}
}

// describedGroup: there need be no such group.
func describedGroup(b Broker, name string) ([]config.Entry, refusal) {
	if name == "" {
		return nil, refuse(wire.InvalidRequest, "Group name must not be empty")
	}
	return b.Config().DescribeGroup(b.Image().GroupOverrides(name)), refusal{}
}

func describedClientMetrics(b Broker, name string) ([]config.Entry, refusal) {
	if name == "" {
		return nil, refuse(wire.InvalidRequest, "Client metrics subscription name must not be empty")
	}
	return config.DescribeClientMetrics(b.Image().Configs(image.Resource{Type: image.ClientMetricsResource, Name: name})), refusal{}
}

// describedEntries picks the entries that were asked for; no names mean all.
func describedEntries(req *kmsg.DescribeConfigsRequest, names []string, entries []config.Entry) []kmsg.DescribeConfigsResponseResourceConfig {
	wanted := make(map[string]struct{}, min(len(names), len(entries)))
	for _, name := range names {
		wanted[name] = struct{}{}
	}
	if len(names) > 0 {
		entries = slices.DeleteFunc(entries, func(e config.Entry) bool {
			_, is := wanted[e.Name]
			return !is
		})
	}
	out := make([]kmsg.DescribeConfigsResponseResourceConfig, len(entries))
	for i := range entries {
		describeEntry(&out[i], &entries[i], req)
	}
	return out
}

func describeEntry(out *kmsg.DescribeConfigsResponseResourceConfig, e *config.Entry, req *kmsg.DescribeConfigsRequest) {
	out.Default()
	out.Name, out.Value, out.ReadOnly, out.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	out.Source, out.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
	if req.IncludeDocumentation && e.Doc != "" {
		out.Documentation = &e.Doc
	}
	if !req.IncludeSynonyms {
		return
	}
	out.ConfigSynonyms = make([]kmsg.DescribeConfigsResponseResourceConfigConfigSynonym, len(e.Synonyms))
	for i, s := range e.Synonyms {
		syn := &out.ConfigSynonyms[i]
		syn.Name, syn.Value, syn.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
	}
}
