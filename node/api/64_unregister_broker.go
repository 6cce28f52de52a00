package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var unregisterBrokerRow = row{key: wire.KeyUnregisterBroker, min: 0, max: 0, clustered: true, handle: on(unregisterBroker), authorize: inCluster(alterCluster, refusedWhole)}

// unregisterBroker: an operator takes a node out of the cluster that will not come back (KIP-731). The controller answers.
func unregisterBroker(b Broker, _ *Request, req *kmsg.UnregisterBrokerRequest) kmsg.Response {
	return b.Control(req)
}
