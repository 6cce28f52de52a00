package node

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/wire"
)

// answer fills in a ShareFetch's answer: what was acquired, what the member was not told before, and what became of its
// acknowledgements.
func (f *shareFetch) answer(resp *kmsg.ShareFetchResponse, acknowledged []partAcknowledged) {
	places, codes := make(topicPlaces), make(map[share.TopicIDPartition]wire.ErrorCode, len(acknowledged))
	for _, k := range acknowledged {
		codes[k.TopicIDPartition] = k.code
	}
	for _, a := range f.parts {
		code, acknowledged := codes[a.TopicIDPartition]
		if !f.session.Tell(a.TopicIDPartition, len(a.acquired) > 0, a.code != wire.None) && !acknowledged {
			continue
		}
		p := a.response()
		p.AcknowledgeErrorCode = int16(code)
		addFetched(resp, places, a.Topic, p)
	}
	for _, k := range acknowledged {
		if f.answers[k.TopicIDPartition] != nil {
			continue
		}
		p := kmsg.NewShareFetchResponseTopicPartition()
		p.Partition, p.Records, p.AcknowledgeErrorCode = int32(k.Partition), []byte{}, int16(k.code)
		addFetched(resp, places, k.Topic, p)
	}
}

func (a *shareAnswer) response() kmsg.ShareFetchResponseTopicPartition {
	p := kmsg.NewShareFetchResponseTopicPartition()
	p.Partition, p.ErrorCode = int32(a.Partition), int16(a.code)
	if p.Records = a.records; p.Records == nil {
		p.Records = []byte{} // empty rather than null, as Kafka
	}
	for _, rng := range a.acquired {
		acquired := kmsg.NewShareFetchResponseTopicPartitionAcquiredRecord()
		acquired.FirstOffset, acquired.LastOffset, acquired.DeliveryCount = int64(rng.First), int64(rng.Last), rng.Deliveries
		p.AcquiredRecords = append(p.AcquiredRecords, acquired)
	}
	return p
}

// topicPlaces are the places of an answer's topics, by their ids.
type topicPlaces map[wire.TopicID]int

// of gives a topic's place; that of one that is new is behind all others.
func (t topicPlaces) of(id wire.TopicID) int {
	at, there := t[id]
	if !there {
		at = len(t)
		t[id] = at
	}
	return at
}

func addFetched(resp *kmsg.ShareFetchResponse, places topicPlaces, topic wire.TopicID, p kmsg.ShareFetchResponseTopicPartition) {
	i := places.of(topic)
	if i == len(resp.Topics) {
		resp.Topics = append(resp.Topics, kmsg.ShareFetchResponseTopic{TopicID: topic})
	}
	resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, p)
}
