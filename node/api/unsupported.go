package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// Unsupported is the answer to a request of a version that is not served: error 35 in that version's own layout, so that
// the client can say more than "end of file" (Apache Kafka closes the connection). ok is false where the layout is not
// known, has no room for an error, or the bytes are no such request; the connection is to be closed then.
func Unsupported(h wire.RequestHeader, body []byte) (respBody []byte, ok bool) {
	if h.Key == wire.KeyProduce {
		return unsupportedProduce(h.Version, body)
	}
	req := kmsg.RequestForKey(int16(h.Key))
	if req == nil || len(body) > unsupportedBytesMax || h.Version < 0 || int16(h.Version) > req.MaxVersion() {
		return nil, false
	}
	req, err := decode(h, body)
	if err != nil {
		return nil, false
	}
	resp := unsupportedAnswer(req)
	if resp == nil {
		return nil, false
	}
	resp.SetVersion(int16(h.Version))
	return resp.AppendTo(nil), true
}

// The answers are made on a loop, so what is read for them is bounded: kmsg's form of 64 KiB takes up to 2 MiB, and a
// Produce of 1 MiB, as large as old clients send by default, is only looked over.
const (
	unsupportedBytesMax        = 64 << 10
	unsupportedProduceBytesMax = 1<<20 + 64<<10
)

func unsupportedProduce(v wire.APIVersion, body []byte) ([]byte, bool) {
	if len(body) > unsupportedProduceBytesMax {
		return nil, false
	}
	var req wire.ProduceRequest
	if r, _ := wire.LookupAPI(wire.KeyProduce); !r.Contains(v) || req.Read(body, v) != nil {
		return nil, false
	}
	if req.Acks == 0 {
		return nil, false // nobody reads an answer
	}
	var resp wire.ProduceResponse
	resp.Refuse(&req, wire.UnsupportedVersion)
	return resp.AppendTo(nil, v), true
}

const unsupportedVersion = int16(wire.UnsupportedVersion)

// unsupportedAnswer fills in the error for the keys that have versions outside of what is served; nil for others.
func unsupportedAnswer(req kmsg.Request) kmsg.Response {
	switch r := req.(type) {
	case *kmsg.ListOffsetsRequest:
		return unsupportedListOffsets(r)
	case *kmsg.OffsetCommitRequest:
		return unsupportedOffsetCommit(r)
	case *kmsg.OffsetFetchRequest:
		return unsupportedOffsetFetch(r)
	case *kmsg.CreateTopicsRequest:
		return unsupportedCreateTopics(r)
	case *kmsg.DeleteTopicsRequest:
		return unsupportedDeleteTopics(r)
	case *kmsg.OffsetForLeaderEpochRequest:
		return unsupportedOffsetForLeaderEpoch(r)
	case *kmsg.DescribeConfigsRequest:
		return unsupportedDescribeConfigs(r)
	}
	return nil
}

func unsupportedListOffsets(r *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := kmsg.NewPtrListOffsetsResponse()
	for i := range r.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = r.Topics[i].Topic
		for j := range r.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, noOffset(wire.UnsupportedVersion).response(r.Topics[i].Partitions[j].Partition, r.Version))
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func unsupportedOffsetCommit(r *kmsg.OffsetCommitRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetCommitResponse()
	for i := range r.Topics {
		t := kmsg.NewOffsetCommitResponseTopic()
		t.Topic, t.TopicID = r.Topics[i].Topic, r.Topics[i].TopicID
		for j := range r.Topics[i].Partitions {
			t.Partitions = append(t.Partitions, refusedCommit(r.Topics[i].Partitions[j].Partition, wire.UnsupportedVersion))
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func unsupportedOffsetFetch(r *kmsg.OffsetFetchRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetFetchResponse()
	resp.ErrorCode = unsupportedVersion
	for i := range r.Topics {
		t := kmsg.NewOffsetFetchResponseTopic()
		t.Topic = r.Topics[i].Topic
		for _, index := range r.Topics[i].Partitions {
			p := kmsg.NewOffsetFetchResponseTopicPartition()
			p.Partition, p.Offset, p.ErrorCode = index, int64(wire.NoOffset), unsupportedVersion
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	for i := range r.Groups {
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group, g.ErrorCode = r.Groups[i].Group, unsupportedVersion
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}

func unsupportedCreateTopics(r *kmsg.CreateTopicsRequest) kmsg.Response {
	resp := kmsg.NewPtrCreateTopicsResponse()
	for i := range r.Topics {
		resp.Topics = append(resp.Topics, refusedTopic(r.Topics[i].Topic, refusal{code: wire.UnsupportedVersion}))
	}
	return resp
}

func unsupportedDeleteTopics(r *kmsg.DeleteTopicsRequest) kmsg.Response {
	resp := kmsg.NewPtrDeleteTopicsResponse()
	for i := range r.TopicNames {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.ErrorCode = &r.TopicNames[i], unsupportedVersion
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func unsupportedOffsetForLeaderEpoch(r *kmsg.OffsetForLeaderEpochRequest) kmsg.Response {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for i := range r.Topics {
		t := kmsg.NewOffsetForLeaderEpochResponseTopic()
		t.Topic = r.Topics[i].Topic
		for j := range r.Topics[i].Partitions {
			p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			p.Partition, p.EndOffset, p.ErrorCode = r.Topics[i].Partitions[j].Partition, int64(wire.NoOffset), unsupportedVersion
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func unsupportedDescribeConfigs(r *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for i := range r.Resources {
		t := kmsg.NewDescribeConfigsResponseResource()
		t.ResourceType, t.ResourceName, t.ErrorCode = r.Resources[i].ResourceType, r.Resources[i].ResourceName, unsupportedVersion
		resp.Resources = append(resp.Resources, t)
	}
	return resp
}
