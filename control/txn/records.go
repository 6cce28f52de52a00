package txn

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The versions of keys and values that Apache Kafka 4.1.1 writes with transaction.version 2. Value 0 lacks the tagged
// fields: the client's transaction version, and the producer ids before and after one whose epochs are used up. Kafka 4.1.1 leaves
// those two out, and may hand out a third id after a restart.
const (
	keyVersion   = 0
	valueVersion = 1
)

func recordKey(id string) []byte {
	key := kmsg.NewTxnMetadataKey()
	key.Version, key.TransactionalID = keyVersion, id
	return key.AppendTo(make([]byte, 0, 4+len(id)))
}

func tombstone(id string) wire.Record { return wire.Record{Key: recordKey(id)} }

// record is what the log keeps of a transactional id.
func (m *metadata) record(id string) wire.Record {
	v := kmsg.NewTxnMetadataValue()
	v.Version = valueVersion
	v.ProducerID, v.ProducerEpoch, v.TimeoutMillis = int64(m.producerID), int16(m.epoch), m.timeoutMS
	v.State = kmsg.TransactionState(m.state)
	v.LastUpdateTimestamp, v.StartTimestamp = int64(m.lastUpdate), int64(m.start)
	v.NextProducerID = int64(m.nextProducerID)
	if m.previousProducerID != m.producerID {
		v.PreviousProducerID = int64(m.previousProducerID)
	}
	v.ClientTransactionVersion = int16(m.version)
	if m.state != Empty { // Kafka writes null for a transaction that was not begun
		v.Topics = recordTopics(m.partitions)
	}
	return wire.Record{Key: recordKey(id), Value: v.AppendTo(nil)}
}

func recordTopics(partitions []wire.TopicPartition) []kmsg.TxnMetadataValueTopic {
	topics := []kmsg.TxnMetadataValueTopic{}
	for _, p := range partitions {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.Topic {
			topic := kmsg.NewTxnMetadataValueTopic()
			topic.Topic = p.Topic
			topics = append(topics, topic)
		}
		topic := &topics[len(topics)-1]
		topic.Partitions = append(topic.Partitions, int32(p.Partition))
	}
	return topics
}
