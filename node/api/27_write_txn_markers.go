package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// writeTxnMarkersRow is for administrators, who abort with it what no coordinator will (kafka-transactions abort).
var writeTxnMarkersRow = row{key: wire.KeyWriteTxnMarkers, min: 1, max: 1, handle: on(writeTxnMarkers)}

func writeTxnMarkers(b Broker, _ *Request, req *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse {
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	for i := range req.Markers {
		m := &req.Markers[i]
		out := kmsg.NewWriteTxnMarkersResponseMarker()
		out.ProducerID = m.ProducerID
		for _, t := range m.Topics {
			out.Topics = append(out.Topics, writeTopicMarkers(b, m, t))
		}
		resp.Markers = append(resp.Markers, out)
	}
	return resp
}

func writeTopicMarkers(b Broker, m *kmsg.WriteTxnMarkersRequestMarker, t kmsg.WriteTxnMarkersRequestMarkerTopic) kmsg.WriteTxnMarkersResponseMarkerTopic {
	out := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
	out.Topic = t.Topic
	for _, p := range t.Partitions {
		tp := wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(p)}
		code := wire.InvalidRequest
		if m.ProducerID >= 0 && m.ProducerEpoch >= 0 {
			code = b.WriteTxnMarker(tp, wire.ProducerID(m.ProducerID), wire.ProducerEpoch(m.ProducerEpoch), m.Committed, m.CoordinatorEpoch)
		}
		out.Partitions = append(out.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: p, ErrorCode: int16(code)})
	}
	return out
}
