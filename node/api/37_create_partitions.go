package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var createPartitionsRow = row{key: wire.KeyCreatePartitions, min: 0, max: 3, handle: on(createPartitions)}

func createPartitions(b Broker, r *Request, req *kmsg.CreatePartitionsRequest) *kmsg.CreatePartitionsResponse {
	resp := kmsg.NewPtrCreatePartitionsResponse()
	times := make(map[string]int, len(req.Topics))
	for i := range req.Topics {
		times[req.Topics[i].Topic]++
	}
	tooMany := partitionsAdded(b, req) > partitionsPerRequestMax
	for i := range req.Topics {
		t := &req.Topics[i]
		again := times[t.Topic] > 1
		if !takeOnce(times, t.Topic) {
			continue
		}
		why := refuse(wire.InvalidRequest, "Duplicate topic name.")
		switch {
		case again:
		case !r.may(b, alterTopic, t.Topic):
			why = refusal{code: unauthorizedTopic.code}
		default:
			why = growTopic(b, r, t, tooMany, req.ValidateOnly)
		}
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic, out.ErrorCode, out.ErrorMessage = t.Topic, int16(why.code), nullable(why.message)
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

// partitionsAdded counts the partitions that the whole request would make.
func partitionsAdded(b Broker, req *kmsg.CreatePartitionsRequest) int64 {
	var sum int64
	for i := range req.Topics {
		t := &req.Topics[i]
		sum += max(0, int64(t.Count)-int64(partitionCount(b, t.Topic)))
	}
	return sum
}

func growTopic(b Broker, r *Request, t *kmsg.CreatePartitionsRequestTopic, tooMany, validateOnly bool) refusal {
	topic := b.Image().ByName(t.Topic)
	if topic == nil {
		return refusal{code: wire.UnknownTopicOrPartition}
	}
	if why := checkGrowth(b, t, topic); why.code != wire.None {
		return why
	}
	if tooMany {
		return refuse(wire.PolicyViolation, "Excessively large number of partitions per request.")
	}
	if why := r.chargeMutations(b, t.Count-topic.Partitions, createPartitionsStrictFrom); why.code != wire.None {
		return why
	}
	var assignment [][]wire.NodeID
	for i := range t.Assignment {
		assignment = append(assignment, wire.NodeIDs(t.Assignment[i].Replicas))
	}
	if validateOnly {
		code, message := b.CheckGrowth(t.Topic, t.Count, assignment)
		return refusal{code, message}
	}
	code, message := b.GrowTopic(t.Topic, t.Count, assignment)
	return refusal{code, message}
}

func checkGrowth(b Broker, t *kmsg.CreatePartitionsRequestTopic, topic *image.Topic) refusal {
	added := t.Count - topic.Partitions
	switch {
	case added == 0:
		return refuse(wire.InvalidPartitions, "Topic already has %d partition(s).", topic.Partitions)
	case t.Count < topic.Partitions:
		return refuse(wire.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, topic.Partitions, t.Count)
	case topic.Internal:
		// Kafka lets it happen, and then looks for groups where they are not.
		return refuse(wire.InvalidRequest, "The partitions of %s decide where state is kept and cannot be added to.", t.Topic)
	case len(t.Assignment) > 0 && len(t.Assignment) != int(added):
		return refuse(wire.InvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", added, len(t.Assignment))
	}
	for i := range t.Assignment {
		if why := checkReplicas(b, t.Assignment[i].Replicas); why.code != wire.None {
			return why
		}
	}
	return refusal{}
}
