package node

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// answer fills in a ShareFetch's answer: what was acquired, what the member was not told before, and what became of its
// acknowledgements.
func (f *shareFetch) answer(resp *kmsg.ShareFetchResponse, acknowledged []partAcknowledged) {
	for _, a := range f.parts {
		i := slices.IndexFunc(acknowledged, func(k partAcknowledged) bool { return k.TopicIDPartition == a.TopicIDPartition })
		if !f.session.Tell(a.TopicIDPartition, len(a.acquired) > 0, a.code != wire.None) && i < 0 {
			continue
		}
		p := a.response()
		if i >= 0 {
			acknowledged[i].tell(&p)
			acknowledged = slices.Delete(acknowledged, i, i+1)
		}
		addFetched(resp, a.Topic, p)
	}
	for _, k := range acknowledged {
		p := kmsg.NewShareFetchResponseTopicPartition()
		p.Partition, p.Records = int32(k.Partition), []byte{}
		k.tell(&p)
		addFetched(resp, k.Topic, p)
	}
}

func (k *partAcknowledged) tell(p *kmsg.ShareFetchResponseTopicPartition) {
	p.AcknowledgeErrorCode = int16(k.code)
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

func addFetched(resp *kmsg.ShareFetchResponse, topic wire.TopicID, p kmsg.ShareFetchResponseTopicPartition) {
	i := slices.IndexFunc(resp.Topics, func(t kmsg.ShareFetchResponseTopic) bool { return t.TopicID == topic })
	if i < 0 {
		i = len(resp.Topics)
		resp.Topics = append(resp.Topics, kmsg.ShareFetchResponseTopic{TopicID: topic})
	}
	resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, p)
}
