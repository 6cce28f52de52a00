package controller

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// producerIDBlock is how many producer ids a node gets at a time (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE).
const producerIDBlock = 1000

// AllocateProducerIDs answers an AllocateProducerIds (67): a block of ids that nobody was given before.
func (c *Controller) AllocateProducerIDs(m *image.Image, req *kmsg.AllocateProducerIDsRequest) ([]image.Record, *kmsg.AllocateProducerIDsResponse) {
	resp := kmsg.NewPtrAllocateProducerIDsResponse()
	resp.Version = req.Version
	if _, code := checkBrokerEpoch(m, wire.NodeID(req.BrokerID), wire.BrokerEpoch(req.BrokerEpoch)); code != wire.None {
		resp.ErrorCode = int16(code)
		return nil, resp
	}
	first := m.NextProducerID()
	if first > math.MaxInt64-producerIDBlock {
		resp.ErrorCode = int16(wire.UnknownServerError) // all are in use
		return nil, resp
	}
	s := c.begin(m)
	s.add(image.ProducerIDsRecord{Next: first + producerIDBlock})
	resp.ProducerIDStart, resp.ProducerIDLen = int64(first), producerIDBlock
	return s.records, resp
}
