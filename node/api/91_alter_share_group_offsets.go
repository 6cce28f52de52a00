package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var alterShareGroupOffsetsRow = row{key: wire.KeyAlterShareGroupOffsets, min: 0, max: 0, handle: on(alterShareGroupOffsets)}

// unsupportedText is what Kafka says of error 35 where there is room for words.
const unsupportedText = "The version of API is not supported."

func alterShareGroupOffsets(b Broker, r *Request, req *kmsg.AlterShareGroupOffsetsRequest) *kmsg.AlterShareGroupOffsetsResponse {
	if !r.may(b, readGroup, req.GroupID) {
		resp := kmsg.NewPtrAlterShareGroupOffsetsResponse()
		resp.ErrorCode, resp.ErrorMessage = int16(unauthorizedGroup.code), unauthorizedGroup.text()
		return resp
	}
	if !servesShareGroups(b) {
		resp := kmsg.NewPtrAlterShareGroupOffsetsResponse()
		resp.ErrorCode, resp.ErrorMessage = unsupportedVersion, kmsg.StringPtr(unsupportedText)
		return resp
	}
	known := *req
	var refused []kmsg.AlterShareGroupOffsetsResponseTopic
	var unreadable []kmsg.AlterShareGroupOffsetsRequestTopic
	known.Topics, unreadable = permitted(b, r, readTopic, req.Topics, func(t *kmsg.AlterShareGroupOffsetsRequestTopic) string { return t.Topic })
	for _, t := range unreadable {
		out := kmsg.NewAlterShareGroupOffsetsResponseTopic()
		out.Topic = t.Topic
		if known := b.Image().ByName(t.Topic); known != nil {
			out.TopicID = known.ID
		}
		for i := range t.Partitions {
			p := kmsg.NewAlterShareGroupOffsetsResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = t.Partitions[i].Partition, int16(unauthorizedTopic.code), unauthorizedTopic.text()
			out.Partitions = append(out.Partitions, p)
		}
		refused = append(refused, out)
	}
	resp := b.Coordinate(req.GroupID, r.Client, &known).(*kmsg.AlterShareGroupOffsetsResponse)
	if resp.ErrorCode == 0 {
		resp.Topics = append(resp.Topics, refused...)
	}
	return resp
}
