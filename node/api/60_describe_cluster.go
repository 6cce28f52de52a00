package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var describeClusterRow = row{key: wire.KeyDescribeCluster, min: 0, max: 2, handle: on(describeCluster)}

// The kinds of endpoints a client can look for (KIP-919).
const (
	brokerEndpoint     int8 = 1
	controllerEndpoint int8 = 2
)

func describeCluster(b Broker, r *Request, req *kmsg.DescribeClusterRequest) *kmsg.DescribeClusterResponse {
	resp := kmsg.NewPtrDescribeClusterResponse()
	resp.EndpointType = brokerEndpoint
	if why := checkEndpointType(req); why.code != wire.None {
		resp.ErrorCode, resp.ErrorMessage, resp.ControllerID = int16(why.code), &why.message, -1
		return resp
	}
	m := b.Image()
	resp.ClusterID, resp.ControllerID = m.ClusterID(), int32(b.Controller())
	for _, n := range clusterNodes(b, m, r.Client.ListenerName, req.IncludeFencedBrokers) {
		node := kmsg.NewDescribeClusterResponseBroker()
		node.NodeID, node.Host, node.Port, node.Rack, node.IsFenced = n.id, n.host, n.port, nullable(n.rack), n.fenced
		resp.Brokers = append(resp.Brokers, node)
	}
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = r.allowedInCluster(b)
	}
	return resp
}

func checkEndpointType(req *kmsg.DescribeClusterRequest) refusal {
	switch {
	case req.Version < 1 || req.EndpointType == brokerEndpoint:
		return refusal{}
	case req.EndpointType == controllerEndpoint:
		return refuse(wire.MismatchedEndpointType, "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
	}
	return refuse(wire.UnsupportedEndpointType, "Unsupported endpoint type %d", req.EndpointType)
}
