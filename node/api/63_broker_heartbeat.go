package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var brokerHeartbeatRow = row{key: wire.KeyBrokerHeartbeat, min: 0, max: 1, hidden: true, handle: on(brokerHeartbeat), authorize: inCluster(actForCluster, refusedWhole)}

// brokerHeartbeat: a node says that it lives (KIP-631). The controller answers.
func brokerHeartbeat(b Broker, _ *Request, req *kmsg.BrokerHeartbeatRequest) kmsg.Response {
	return b.Control(req)
}
