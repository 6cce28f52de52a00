package share

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestRequestsBetweenNodes: an operation, and its result, are the same after their way to another node and back.
func TestRequestsBetweenNodes(t *testing.T) {
	key := Key{Group: "g", Topic: wire.TopicID{1, 2}, Partition: 3}
	batches := []StateBatch{{First: 5, Last: 7, State: RecordState(2), Deliveries: 2}}
	cases := []struct {
		op     Operation
		result Result
	}{
		{Operation{Kind: Initialize, Key: key, StateEpoch: 4, StartOffset: -1}, Result{Code: wire.FencedStateEpoch, Message: "old"}},
		{Operation{Kind: Read, Key: key, LeaderEpoch: 6}, Result{StateEpoch: 4, StartOffset: 5, Batches: batches}},
		{Operation{Kind: Write, Key: key, StateEpoch: 4, LeaderEpoch: 6, StartOffset: 5, Batches: batches}, Result{}},
		{Operation{Kind: Delete, Key: key}, Result{Code: wire.NotCoordinator, Message: "moved"}},
		{Operation{Kind: ReadSummary, Key: key, LeaderEpoch: 6}, Result{StateEpoch: 4, LeaderEpoch: 6, StartOffset: 5}},
	}
	for _, c := range cases {
		req := Request(c.op)
		sent := kmsg.RequestForKey(req.Key())
		if err := sent.ReadFrom(req.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		ops := Operations(sent)
		if len(ops) != 1 || !reflect.DeepEqual(ops[0], c.op) {
			t.Errorf("%+v arrives as %+v", c.op, ops)
			continue
		}
		resp := req.ResponseKind()
		if err := resp.ReadFrom(Response(sent, ops, []Result{c.result}).AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		if got := ResultOf(resp); !reflect.DeepEqual(got, c.result) {
			t.Errorf("kind %d: %+v comes back as %+v", c.op.Kind, c.result, got)
		}
	}
	if got := ResultOf(kmsg.NewPtrReadShareGroupStateResponse()); got.Code != wire.UnknownServerError {
		t.Errorf("an empty answer: %+v", got)
	}
}
