package wire

// The scalars of the protocol. Each is a type of its own so that an Offset cannot be passed where a Position is due.
type (
	// Offset is a record's place in a partition's log, counted in records from 0. -1 means "none".
	Offset int64
	// Position is a byte position in a segment file.
	Position int64
	// Timestamp is milliseconds since the Unix epoch, as records carry it. -1 means "none".
	Timestamp int64
	// LeaderEpoch numbers the reigns of a partition's leaders. -1 means "unknown".
	LeaderEpoch int32
	// PartitionIndex is a partition's number within its topic.
	PartitionIndex int32
	// NodeID names a node of the cluster.
	NodeID int32
	// ProducerID names an idempotent or transactional producer. -1 means "none".
	ProducerID int64
	// ProducerEpoch fences earlier incarnations of a producer. -1 means "none".
	ProducerEpoch int16
	// Sequence numbers an idempotent producer's records within a partition; it wraps from 2³¹-1 to 0. -1 means "none".
	Sequence int32
	// APIKey names a request kind.
	APIKey int16
	// APIVersion is the version of a request kind's schema.
	APIVersion int16
	// CorrelationID ties a response to its request on one connection.
	CorrelationID int32
	// BrokerEpoch numbers the registrations of nodes: a later one of the cluster has a higher one (KIP-500). -1 means "unknown".
	BrokerEpoch int64
	// PartitionEpoch counts the changes of a partition's replicas, in-sync replicas and leader (KIP-497). -1 means "unknown".
	PartitionEpoch int32
)

// The protocol's "none" and "unknown" values.
const (
	NoOffset        Offset        = -1
	NoTimestamp     Timestamp     = -1
	NoLeaderEpoch   LeaderEpoch   = -1
	NoProducerID    ProducerID    = -1
	NoProducerEpoch ProducerEpoch = -1
	NoSequence      Sequence      = -1

	NoNode           NodeID         = -1
	NoBrokerEpoch    BrokerEpoch    = -1
	NoPartitionEpoch PartitionEpoch = -1
)

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition PartitionIndex
}
