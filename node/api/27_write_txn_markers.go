package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// writeTxnMarkersRow is for the transaction coordinators of other nodes, and for administrators, who abort with it what no coordinator
// will (kafka-transactions abort).
var writeTxnMarkersRow = row{key: wire.KeyWriteTxnMarkers, min: 1, max: 1, handle: on(writeTxnMarkers)}

// TxnMarker is the end of a producer's transaction in one partition, by a coordinator of an epoch.
type TxnMarker struct {
	Partition        wire.TopicPartition
	ProducerID       wire.ProducerID
	ProducerEpoch    wire.ProducerEpoch
	Commit           bool
	CoordinatorEpoch int32
}

// writeTxnMarkers writes all markers side by side: each waits for the disk, and for replicas.
func writeTxnMarkers(b Broker, r *Request, req *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse {
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	code := wire.InvalidRequest // of the markers that are not written
	allowed := r.allowsInCluster(b, alterCluster) || r.mayInCluster(b, actForCluster)
	if !allowed {
		code = unauthorizedCluster.code
	}
	var markers []TxnMarker
	for i := range req.Markers {
		m := &req.Markers[i]
		out := kmsg.NewWriteTxnMarkersResponseMarker()
		out.ProducerID = m.ProducerID
		for _, t := range m.Topics {
			topic := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
			topic.Topic = t.Topic
			for _, p := range t.Partitions {
				topic.Partitions = append(topic.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: p, ErrorCode: int16(code)})
				if allowed && m.ProducerID >= 0 && m.ProducerEpoch >= 0 {
					markers = append(markers, TxnMarker{
						wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(p)}, wire.ProducerID(m.ProducerID),
						wire.ProducerEpoch(m.ProducerEpoch), m.Committed, m.CoordinatorEpoch,
					})
				}
			}
			out.Topics = append(out.Topics, topic)
		}
		resp.Markers = append(resp.Markers, out)
	}
	if !allowed {
		return resp
	}
	setMarkerCodes(req, resp, b.WriteTxnMarkers(markers))
	return resp
}

// setMarkerCodes gives each marker that was written its code, in the order of the request.
func setMarkerCodes(req *kmsg.WriteTxnMarkersRequest, resp *kmsg.WriteTxnMarkersResponse, codes []wire.ErrorCode) {
	for i := range resp.Markers {
		if req.Markers[i].ProducerID < 0 || req.Markers[i].ProducerEpoch < 0 {
			continue
		}
		for _, t := range resp.Markers[i].Topics {
			for k := range t.Partitions {
				t.Partitions[k].ErrorCode = int16(codes[0])
				codes = codes[1:]
			}
		}
	}
}
