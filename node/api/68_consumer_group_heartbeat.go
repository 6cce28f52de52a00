package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var consumerGroupHeartbeatRow = row{key: wire.KeyConsumerGroupHeartbeat, min: 0, max: 1, handle: on(consumerGroupHeartbeat),
	authorize: ofGroup(readGroup, func(req *kmsg.ConsumerGroupHeartbeatRequest) string { return req.Group })}

func consumerGroupHeartbeat(b Broker, r *Request, req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	if !servesConsumerProtocol(b) {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode = int16(wire.UnsupportedVersion)
		return resp
	}
	if !r.mayDescribeAll(b, req.SubscribedTopicNames) {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode = int16(unauthorizedTopic.code)
		return resp
	}
	return b.Coordinate(req.Group, r.Client, req).(*kmsg.ConsumerGroupHeartbeatResponse)
}

// servesConsumerProtocol reports whether the node's configuration has the consumer protocol (KIP-848).
func servesConsumerProtocol(b Broker) bool {
	return slices.Contains(b.Config().GroupRebalanceProtocols, "consumer")
}
