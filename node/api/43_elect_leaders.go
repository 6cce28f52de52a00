package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var electLeadersRow = row{key: wire.KeyElectLeaders, min: 0, max: 2, handle: on(electLeaders), authorize: inCluster(alterCluster, refusedElections)}

// The kinds of elections (KIP-460); version 0 knows the preferred one only.
const (
	electPreferred int8 = 0
	electUnclean   int8 = 1
)

// electLeaders: a node of its own leads all that it has, so no election is needed. No list of topics means all; those that need
// none are then named without partitions, as in Kafka.
func electLeaders(b Broker, _ *Request, req *kmsg.ElectLeadersRequest) *kmsg.ElectLeadersResponse {
	if b.Clustered() {
		return b.Control(req).(*kmsg.ElectLeadersResponse)
	}
	resp := kmsg.NewPtrElectLeadersResponse()
	known := req.Version < 1 || req.ElectionType == electPreferred || req.ElectionType == electUnclean
	if !known {
		resp.ErrorCode = int16(wire.InvalidRequest)
	}
	if req.Topics == nil && known {
		for t := range b.Image().Topics() {
			out := kmsg.NewElectLeadersResponseTopic()
			out.Topic = t.Name
			resp.Topics = append(resp.Topics, out)
		}
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = t.Topic
		for _, index := range t.Partitions {
			why := refuse(wire.InvalidRequest, "Unknown election type %d", req.ElectionType)
			if known {
				why = electLeader(b, t.Topic, index)
			}
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = index, int16(why.code), &why.message
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func electLeader(b Broker, topic string, index int32) refusal {
	t := b.Image().ByName(topic)
	switch {
	case t == nil:
		return refuse(wire.UnknownTopicOrPartition, "No such topic as %s", topic)
	case index < 0 || index >= t.Partitions:
		return refuse(wire.UnknownTopicOrPartition, "No such partition as %s-%d", topic, index)
	}
	return refuse(wire.ElectionNotNeeded, "Leader election not needed for topic partition.")
}

func refusedElections(req *kmsg.ElectLeadersRequest, why refusal) kmsg.Response {
	resp := kmsg.NewPtrElectLeadersResponse()
	resp.ErrorCode = int16(why.code)
	for i := range req.Topics {
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = req.Topics[i].Topic
		for _, index := range req.Topics[i].Partitions {
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = index, int16(why.code), why.text()
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
