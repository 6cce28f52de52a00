package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var brokerRegistrationRow = row{key: wire.KeyBrokerRegistration, min: 0, max: 4, hidden: true, handle: on(brokerRegistration), authorize: inCluster(actForCluster, refusedWhole)}

// brokerRegistration: a node that starts makes itself known (KIP-631). The controller answers.
func brokerRegistration(b Broker, _ *Request, req *kmsg.BrokerRegistrationRequest) kmsg.Response {
	return b.Control(req)
}
