package node

import (
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// control has the controller answer a request of Kafka's protocol, and waits until what it decided has been applied, or is confirmed. Where
// this node is not the controller the answer is NOT_CONTROLLER.
func (c *cluster) control(req kmsg.Request) kmsg.Response {
	mark := c.quorum.mark()
	var resp kmsg.Response
	code := c.decide(func(logic *controller.Controller, m *image.Image, now time.Duration) (records []image.Record) {
		resp, records = c.decideOn(logic, m, now, req)
		return records
	})
	if code == wire.None && !goesOn(resp) {
		code = c.confirm(mark)
	}
	if code != wire.None {
		resp = refusedResponse(req, code)
	}
	resp.SetVersion(req.GetVersion())
	return resp
}

// decide has the controller decide something, and waits until its records have been applied; see quorumService.ask.
func (c *cluster) decide(f func(*controller.Controller, *image.Image, time.Duration) []image.Record) wire.ErrorCode {
	return c.awaitCode(func(then func(wire.ErrorCode)) { c.quorum.ask(f, then) })
}

// awaitCode begins something that the quorum's goroutine ends, and waits for that: NOT_CONTROLLER if the node stops before.
func (c *cluster) awaitCode(begin func(then func(wire.ErrorCode))) wire.ErrorCode {
	done := make(chan wire.ErrorCode, 1)
	begin(func(code wire.ErrorCode) { done <- code })
	select {
	case code := <-done:
		return code
	case <-c.quorum.inbox.stopped:
	}
	select {
	case code := <-done:
		return code
	default:
		return wire.NotController
	}
}

// goesOn reports whether a response is that of a heartbeat after which the node goes on as before.
func goesOn(resp kmsg.Response) bool {
	beat, ok := resp.(*kmsg.BrokerHeartbeatResponse)
	return ok && beat.ErrorCode == 0 && !beat.ShouldShutdown
}

// decideOn finds the controller's method for a request.
func (c *cluster) decideOn(logic *controller.Controller, m *image.Image, now time.Duration, req kmsg.Request) (kmsg.Response, []image.Record) {
	switch r := req.(type) {
	case *kmsg.BrokerRegistrationRequest:
		records, resp, why := logic.RegisterBroker(m, now, readRegistration(r))
		if why.Code != wire.None {
			c.node.log.throttled("registration of a node refused", "node", r.BrokerID, "code", why.Code, "why", why.Message)
		}
		return resp, records
	case *kmsg.BrokerHeartbeatRequest:
		records, resp := logic.Heartbeat(m, now, r, lackingOf(r)...)
		tellClock(resp, time.Now())
		return resp, records
	case *kmsg.UnregisterBrokerRequest:
		return answered(logic.UnregisterBroker(m, r))
	case *kmsg.AlterPartitionRequest:
		return answered(logic.AlterPartition(m, r))
	case *kmsg.ElectLeadersRequest:
		return answered(logic.ElectLeaders(m, r))
	case *kmsg.AlterPartitionAssignmentsRequest:
		return answered(logic.AlterPartitionReassignments(m, r))
	case *kmsg.ListPartitionReassignmentsRequest:
		return logic.ListPartitionReassignments(m, r), nil
	case *kmsg.AllocateProducerIDsRequest:
		return answered(logic.AllocateProducerIDs(m, r))
	}
	return refusedResponse(req, wire.InvalidRequest), nil
}

// answered turns the results of the controller's methods round.
func answered[P kmsg.Response](records []image.Record, resp P) (kmsg.Response, []image.Record) {
	return resp, records
}

// refusedResponse is the response to a request with an error code for all of it.
func refusedResponse(req kmsg.Request, code wire.ErrorCode) kmsg.Response {
	resp := req.ResponseKind()
	reflect.ValueOf(resp).Elem().FieldByName("ErrorCode").SetInt(int64(code))
	return resp
}
