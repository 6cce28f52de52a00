package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/wire"
)

var findCoordinatorRow = row{key: wire.KeyFindCoordinator, min: 0, max: 6, handle: on(findCoordinator)}

// The kinds of coordinators (org.apache.kafka.common.requests.FindCoordinatorRequest.CoordinatorType).
const (
	groupCoordinator       int8 = 0
	transactionCoordinator int8 = 1
	shareCoordinator       int8 = 2
)

// findShareCoordinatorFrom is the first version that asks for share coordinators (KIP-932).
const findShareCoordinatorFrom = 6

// findCoordinatorManyFrom is the first version that asks for several keys at once (KIP-699).
const findCoordinatorManyFrom = 4

func findCoordinator(b Broker, r *Request, req *kmsg.FindCoordinatorRequest) *kmsg.FindCoordinatorResponse {
	resp := kmsg.NewPtrFindCoordinatorResponse()
	refused := coordinatorRefusal(b, req.CoordinatorType)
	if req.CoordinatorType == shareCoordinator && req.Version < findShareCoordinatorFrom {
		refused = refusal{wire.InvalidRequest, "share coordinators are known from version 6 on"}
	}
	if req.Version < findCoordinatorManyFrom {
		found := lookUpCoordinator(b, r, req.CoordinatorType, req.CoordinatorKey, refused)
		if resp.ErrorCode, resp.ErrorMessage = found.ErrorCode, found.ErrorMessage; found.ErrorCode == 0 {
			resp.ErrorMessage = kmsg.StringPtr(wire.None.String()) // as Kafka; from version 4 on it says nothing
		}
		resp.NodeID, resp.Host, resp.Port = found.NodeID, found.Host, found.Port
		return resp
	}
	resp.Coordinators = make([]kmsg.FindCoordinatorResponseCoordinator, len(req.CoordinatorKeys))
	for i, key := range req.CoordinatorKeys {
		resp.Coordinators[i] = lookUpCoordinator(b, r, req.CoordinatorType, key, refused)
		if _, ok := share.ParseKey(key); !ok && req.CoordinatorType == shareCoordinator {
			resp.Coordinators[i] = noCoordinator(wire.InvalidRequest, "a share coordinator's key is group:topicId:partition")
		}
		resp.Coordinators[i].Key = key
	}
	return resp
}

// lookUpCoordinator finds the leader of a key's partition; one node of its own coordinates everything that it can.
func lookUpCoordinator(b Broker, r *Request, kind int8, key string, refused refusal) kmsg.FindCoordinatorResponseCoordinator {
	if why := r.mayFind(b, kind, key); why.code != wire.None && refused.code != wire.InvalidRequest {
		return noCoordinator(why.code, r.coordinatorMessage(why))
	}
	if refused.code != wire.None {
		return noCoordinator(refused.code, refused.message)
	}
	n, found := coordinatorOf(b, coordinatorTopics[kind], key, r.Client.ListenerName)
	if !found {
		return noCoordinator(wire.CoordinatorNotAvailable, wire.CoordinatorNotAvailable.String())
	}
	c := noCoordinator(wire.None, "")
	c.NodeID, c.Host, c.Port = n.id, n.host, n.port
	return c
}

// mayFind refuses a client that may not know who coordinates; an unknown kind is another refusal's.
func (r *Request) mayFind(b Broker, kind int8, key string) refusal {
	switch {
	case kind == groupCoordinator && !r.may(b, describeGroup, key):
		return unauthorizedGroup
	case kind == transactionCoordinator && !r.may(b, describeTransaction, key):
		return unauthorizedTransaction
	case kind == shareCoordinator && !r.mayInCluster(b, actForCluster):
		return unauthorizedCluster
	}
	return refusal{}
}

// coordinatorMessage is what an answer says beside a code: from version 4 on Kafka says nothing where it has thrown nothing.
func (r *Request) coordinatorMessage(why refusal) string {
	if r.Header.Version >= findCoordinatorManyFrom && why.code != unauthorizedCluster.code {
		return ""
	}
	return why.message
}

// coordinatorTopics are the topics that the kinds of coordinators keep their records in.
var coordinatorTopics = [...]string{
	groupCoordinator: image.ConsumerOffsetsTopic, transactionCoordinator: image.TransactionStateTopic, shareCoordinator: image.ShareGroupStateTopic,
}

// noCoordinator says that there is none, and why.
func noCoordinator(code wire.ErrorCode, message string) kmsg.FindCoordinatorResponseCoordinator {
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.NodeID, c.Port = -1, -1
	c.ErrorCode, c.ErrorMessage = int16(code), &message
	return c
}

// coordinatorRefusal makes sure that the coordinators of a kind have a topic to keep their state in.
func coordinatorRefusal(b Broker, kind int8) refusal {
	ready := false
	switch kind {
	case groupCoordinator:
		ready = b.OffsetsTopicReady()
	case transactionCoordinator:
		ready = b.TransactionsTopicReady()
	case shareCoordinator:
		ready = b.ShareStateTopicReady()
	default:
		return refusal{wire.InvalidRequest, "unknown kind of coordinator"}
	}
	if !ready {
		return refusal{wire.CoordinatorNotAvailable, wire.CoordinatorNotAvailable.String()}
	}
	return refusal{}
}
