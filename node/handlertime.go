package node

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// timed is the node as a handler sees it whose client is charged with the time that it takes, without what it only waited for: a
// JoinGroup may wait for minutes and costs nobody anything meanwhile (as in Kafka, where no thread waits).
func (n *Node) timed(broker api.Broker, req *api.Request) api.Broker {
	b := &waitingBroker{Broker: broker}
	began := time.Now()
	client := quotaClient(&req.Client)
	req.Charge = func() int32 {
		ms := n.quotas.record(quotaRequest, client, float64(time.Since(began)-b.waited)*percentPerSecond)
		if ms > 0 {
			n.metrics.throttled(quotaRequest, ms)
		}
		return ms
	}
	return b
}

// waitingBroker is the node as one handler sees it, and measures what the handler waits for coordinators.
type waitingBroker struct {
	api.Broker
	waited time.Duration
}

func (b *waitingBroker) since(began time.Time) { b.waited += time.Since(began) }

func (b *waitingBroker) Coordinate(group string, client api.Client, req kmsg.Request) kmsg.Response {
	defer b.since(time.Now())
	return b.Broker.Coordinate(group, client, req)
}

func (b *waitingBroker) CoordinateAll(client api.Client, req kmsg.Request) []kmsg.Response {
	defer b.since(time.Now())
	return b.Broker.CoordinateAll(client, req)
}

func (b *waitingBroker) Transact(id string, req kmsg.Request) kmsg.Response {
	defer b.since(time.Now())
	return b.Broker.Transact(id, req)
}

func (b *waitingBroker) TransactAll(req kmsg.Request) []kmsg.Response {
	defer b.since(time.Now())
	return b.Broker.TransactAll(req)
}

func (b *waitingBroker) ShareState(req kmsg.Request) kmsg.Response {
	defer b.since(time.Now())
	return b.Broker.ShareState(req)
}

func (b *waitingBroker) ShareFetch(client api.Client, req *kmsg.ShareFetchRequest) *kmsg.ShareFetchResponse {
	defer b.since(time.Now())
	return b.Broker.ShareFetch(client, req)
}

func (b *waitingBroker) ShareAcknowledge(client api.Client, req *kmsg.ShareAcknowledgeRequest) *kmsg.ShareAcknowledgeResponse {
	defer b.since(time.Now())
	return b.Broker.ShareAcknowledge(client, req)
}

func (b *waitingBroker) WriteTxnMarkers(markers []api.TxnMarker) []wire.ErrorCode {
	defer b.since(time.Now())
	return b.Broker.WriteTxnMarkers(markers)
}
