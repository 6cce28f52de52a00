package group

import (
	"fmt"
	"iter"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// StateCallID names one StateCall.
type StateCallID uint64

// StateCall is a request to the share coordinators: InitializeShareGroupState, DeleteShareGroupState or
// ReadShareGroupStateSummary. Its answer, or RefuseState where there is none, comes back by StateAnswered. A call begins when
// those of the same group with smaller ids have ended: a state that is deleted and made again must not be deleted last.
type StateCall struct {
	ID      StateCallID
	Group   string
	Request kmsg.Request
}

// shareCall is a StateCall with what is to be done then. It goes out once the records of the change that it is part of are
// durable; if they failed, it gets a refusal without having gone out.
type shareCall interface {
	request() (group string, req kmsg.Request)
	answered(c *Coordinator, resp kmsg.Response)
}

// refuseCall ends a call that does not go out, or has no answer.
func (c *Coordinator) refuseCall(call shareCall, code wire.ErrorCode) {
	_, req := call.request()
	call.answered(c, RefuseState(req, code))
}

// ask has a call sent.
func (c *Coordinator) ask(call shareCall) {
	c.lastStateCall++
	c.stateCalls[c.lastStateCall] = call
	id, req := call.request()
	c.fx.StateCalls = append(c.fx.StateCalls, StateCall{ID: c.lastStateCall, Group: id, Request: req})
}

// StateAnswered takes the answer to a StateCall.
func (c *Coordinator) StateAnswered(nowMS int64, id StateCallID, resp kmsg.Response) Effects {
	c.begin(nowMS, c.wallAt(nowMS))
	call, ok := c.stateCalls[id]
	if !ok {
		panic(fmt.Sprintf("BUG: state call %d is not under way", id))
	}
	delete(c.stateCalls, id)
	call.answered(c, resp)
	return c.end()
}

// RefuseState is the answer to a StateCall's request that turns down each of its partitions with code.
func RefuseState(req kmsg.Request, code wire.ErrorCode) kmsg.Response {
	return share.Refuse(req, code, "")
}

// StateRetriable reports whether a share coordinator turned a partition down that it may take a moment later.
func StateRetriable(resp kmsg.Response) bool {
	for code := range stateCodes(resp) {
		switch wire.ErrorCode(code) {
		case wire.CoordinatorNotAvailable, wire.CoordinatorLoadInProgress:
			return true
		}
	}
	return false
}

// stateCodes goes over the codes of an answer's partitions.
func stateCodes(resp kmsg.Response) iter.Seq[int16] {
	return func(yield func(int16) bool) {
		switch r := resp.(type) {
		case *kmsg.InitializeShareGroupStateResponse:
			for _, t := range r.Topics {
				for _, p := range t.Partitions {
					if !yield(p.ErrorCode) {
						return
					}
				}
			}
		case *kmsg.DeleteShareGroupStateResponse:
			for _, t := range r.Topics {
				for _, p := range t.Partitions {
					if !yield(p.ErrorCode) {
						return
					}
				}
			}
		case *kmsg.ReadShareGroupStateSummaryResponse:
			for _, t := range r.Topics {
				for _, p := range t.Partitions {
					if !yield(p.ErrorCode) {
						return
					}
				}
			}
		}
	}
}
