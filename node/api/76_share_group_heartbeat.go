package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var shareGroupHeartbeatRow = row{key: wire.KeyShareGroupHeartbeat, min: 1, max: 1, handle: on(shareGroupHeartbeat),
	authorize: ofGroup(readGroup, func(req *kmsg.ShareGroupHeartbeatRequest) string { return req.GroupID })}

func shareGroupHeartbeat(b Broker, r *Request, req *kmsg.ShareGroupHeartbeatRequest) *kmsg.ShareGroupHeartbeatResponse {
	if !servesShareGroups(b) {
		resp := kmsg.NewPtrShareGroupHeartbeatResponse()
		resp.ErrorCode = unsupportedVersion
		return resp
	}
	if !r.mayDescribeAll(b, req.SubscribedTopicNames) {
		resp := kmsg.NewPtrShareGroupHeartbeatResponse()
		resp.ErrorCode = int16(unauthorizedTopic.code)
		return resp
	}
	return b.Coordinate(req.GroupID, r.Client, req).(*kmsg.ShareGroupHeartbeatResponse)
}

// servesShareGroups reports whether the cluster has share groups (KIP-932): by its feature share.version, or the node's
// configuration.
func servesShareGroups(b Broker) bool { return shareVersion(b) > 0 || b.Config().GroupShareEnable }
