package controller

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// UnregisterBroker answers an UnregisterBroker (64): the node leaves every in-sync set and ELR, and is forgotten. Its replicas stay
// assigned to it, as in Kafka, until a reassignment moves them.
func (c *Controller) UnregisterBroker(m *image.Image, req *kmsg.UnregisterBrokerRequest) ([]image.Record, *kmsg.UnregisterBrokerResponse) {
	resp := kmsg.NewPtrUnregisterBrokerResponse()
	resp.Version = req.Version
	id := wire.NodeID(req.BrokerID)
	if m.Broker(id) == nil {
		why := notRegistered(id)
		resp.ErrorCode, resp.ErrorMessage = int16(why.Code), &why.Message
		return nil, resp
	}
	s := c.begin(m)
	s.add(image.RemoveBrokerRecord{ID: id})
	s.lose(id, false)
	delete(c.sessions, id)
	return s.records, resp
}

func notRegistered(id wire.NodeID) Refusal {
	return Refusal{wire.BrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", id)}
}
