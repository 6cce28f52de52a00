package api

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var listConfigResourcesRow = row{key: wire.KeyListConfigResources, min: 0, max: 1, handle: on(listConfigResources), authorize: inCluster(describeClusterConfigs, refusedWhole)}

// listedTypes are the types of resources that can be listed, in the order in which Kafka lists them.
var listedTypes = []kmsg.ConfigResourceType{
	kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeTopic,
	kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigResourceTypeClientMetrics,
}

// listConfigResources: no types mean all; version 0 knows client metrics only (KIP-1142). One type that is not known is
// the answer to all.
func listConfigResources(b Broker, _ *Request, req *kmsg.ListConfigResourcesRequest) *kmsg.ListConfigResourcesResponse {
	resp := kmsg.NewPtrListConfigResourcesResponse()
	asked := make(map[kmsg.ConfigResourceType]bool, len(listedTypes))
	for _, t := range req.ResourceTypes {
		kind := kmsg.ConfigResourceType(t)
		if !slices.Contains(listedTypes, kind) {
			resp.ErrorCode = int16(wire.UnsupportedVersion)
			return resp
		}
		asked[kind] = true
	}
	if req.Version < 1 {
		asked[kmsg.ConfigResourceTypeClientMetrics] = true
	}
	for _, kind := range listedTypes {
		if len(asked) > 0 && !asked[kind] {
			continue
		}
		for _, name := range resourceNames(b, kind) {
			out := kmsg.NewListConfigResourcesResponseConfigResource()
			out.Name, out.Type = name, int8(kind)
			resp.ConfigResources = append(resp.ConfigResources, out)
		}
	}
	return resp
}

// resourceNames are the brokers and topics that there are, and the groups and subscriptions that have a configuration.
func resourceNames(b Broker, kind kmsg.ConfigResourceType) (names []string) {
	switch kind {
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		return []string{strconv.Itoa(int(b.Config().NodeID))}
	case kmsg.ConfigResourceTypeTopic:
		for t := range b.Image().Topics() {
			names = append(names, t.Name)
		}
		return names
	}
	for r := range b.Image().Resources() {
		if r.Type == image.ResourceType(kind) {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}
