package api

import (
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// row is one served API key: the versions that are answered, and by what.
type row struct {
	key      wire.APIKey
	min, max wire.APIVersion
	// handle answers a decoded request; nil where the loops do it (Produce, Fetch) or Answer itself (ApiVersions).
	handle handler
	// authorize refuses the request whole; nil where the handler asks for each resource what the client may do with it.
	authorize authorization
	// hidden is left out of ApiVersions: nodes of a cluster alone send it to each other.
	hidden bool
	// clustered is left out of ApiVersions of a node of its own, which does not serve it.
	clustered bool
}

// handler answers one decoded request. The response is of the request's kind; Answer sets its version.
type handler func(b Broker, r *Request, req kmsg.Request) kmsg.Response

// rows is what this node serves; each row stands in its key's file.
var rows = [...]row{
	produceRow, fetchRow, listOffsetsRow, metadataRow,
	offsetCommitRow, offsetFetchRow, findCoordinatorRow, joinGroupRow, heartbeatRow, leaveGroupRow, syncGroupRow,
	describeGroupsRow, listGroupsRow, apiVersionsRow, createTopicsRow, deleteTopicsRow, deleteRecordsRow,
	initProducerIDRow, offsetForLeaderEpochRow, addPartitionsRow, addOffsetsRow, endTxnRow, writeTxnMarkersRow, txnOffsetCommitRow,
	describeACLsRow, createACLsRow, deleteACLsRow, describeConfigsRow, alterConfigsRow, alterReplicaLogDirsRow, describeLogDirsRow, createPartitionsRow,
	deleteGroupsRow, electLeadersRow, incrementalAlterConfigsRow, alterPartitionReassignmentsRow, listPartitionReassignmentsRow,
	offsetDeleteRow, describeClientQuotasRow, alterClientQuotasRow, describeUserSCRAMCredentialsRow, alterUserSCRAMCredentialsRow, describeQuorumRow, alterPartitionRow, updateFeaturesRow, describeClusterRow,
	describeProducersRow, brokerRegistrationRow, brokerHeartbeatRow, unregisterBrokerRow, describeTransactionsRow, listTransactionsRow, allocateProducerIDsRow,
	consumerGroupHeartbeatRow, consumerGroupDescribeRow, listConfigResourcesRow, describeTopicPartitionsRow,
	shareGroupHeartbeatRow, shareGroupDescribeRow, shareFetchRow, shareAcknowledgeRow,
	addRaftVoterRow, removeRaftVoterRow, initializeShareGroupStateRow, readShareGroupStateRow, writeShareGroupStateRow, deleteShareGroupStateRow, readShareGroupStateSummaryRow,
	describeShareGroupOffsetsRow, alterShareGroupOffsetsRow, deleteShareGroupOffsetsRow,
}

// served finds a row by its key.
var served = func() (byKey [wire.APIKeysMax]*row) {
	for i := range rows {
		if byKey[rows[i].key] != nil {
			panic(fmt.Sprintf("BUG: API key %d has two rows", rows[i].key))
		}
		byKey[rows[i].key] = &rows[i]
	}
	return byKey
}()

// on makes a handler of a function that takes and gives kmsg's type for its key.
func on[Q kmsg.Request, P kmsg.Response](f func(b Broker, r *Request, req Q) P) handler {
	return func(b Broker, r *Request, req kmsg.Request) kmsg.Response { return f(b, r, req.(Q)) }
}

// Served is the range of versions that are answered for a key; known is false for a key that is not served.
func Served(key wire.APIKey) (r wire.VersionRange, known bool) {
	if key < 0 || int(key) >= len(served) || served[key] == nil {
		return wire.VersionRange{}, false
	}
	r, _ = wire.LookupAPI(key)
	r.Min, r.Max = served[key].min, served[key].max
	return r, true
}

// Answer decodes a request of a served version and has it answered: it appends the response's body to dst. r.Client may be
// completed, and r.Body is given up: the answer may be long in coming. An error means that the bytes are no such request.
func Answer(dst []byte, b Broker, r *Request) ([]byte, error) {
	if r.Header.Key == wire.KeyApiVersions {
		body, err := answerAPIVersions(b, r)
		return append(dst, body...), err
	}
	req, err := decode(r.Header, r.Body)
	r.Body = nil
	if err != nil {
		return nil, err
	}
	var resp kmsg.Response
	row := served[r.Header.Key]
	if row.authorize != nil && b.Authorizer() != nil {
		resp = row.authorize(b, r, req)
	}
	if resp == nil {
		resp = row.handle(b, r, req)
	}
	resp.SetVersion(int16(r.Header.Version))
	r.setThrottle(resp)
	return resp.AppendTo(dst), nil
}

// ErrLongString is of a request with a string of more than 32,767 bytes, which no string of Kafka's protocol may have.
var ErrLongString = errors.New("a string is too long")

// decode reads a body with kmsg.
func decode(h wire.RequestHeader, body []byte) (kmsg.Request, error) {
	req := kmsg.RequestForKey(int16(h.Key))
	if req == nil {
		return nil, fmt.Errorf("api: key %d has no schema", h.Key)
	}
	req.SetVersion(int16(h.Version))
	if err := req.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("api: %s version %d, %d bytes: %w", h.Key, h.Version, len(body), err)
	}
	if len(body) > math.MaxInt16 {
		if n := longString(reflect.ValueOf(req)); n > 0 {
			return nil, fmt.Errorf("api: %s version %d: %w: one of %d bytes", h.Key, h.Version, ErrLongString, n)
		}
	}
	return req, nil
}
