package api

import (
	"log/slog"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// Client is who sent a request. ID and Software are the client's own words and untrusted.
type Client struct {
	// User is the name of the authenticated principal, AnonymousUser where nobody authenticates.
	User                      string
	ID, Host                  string
	Port                      uint16
	Software, SoftwareVersion string // of ApiVersions 3 and later; "" before
	Connection                uint64 // numbers the node's connections
	ListenerName              string
	// Node says that another node of the cluster asks, for itself.
	Node bool
}

// AnonymousUser is who sends requests over a listener without authentication (KafkaPrincipal.ANONYMOUS).
const AnonymousUser = "ANONYMOUS"

// Request is one request with its undecoded body.
type Request struct {
	Header wire.RequestHeader
	Body   []byte
	// Client may be completed by a handler (ApiVersions); the connection keeps what it then holds.
	Client Client

	// Charge, where it is set, is called once before the answer is encoded: it counts the time that the request took and gives
	// the milliseconds that the client must wait for it.
	Charge func() int32
	// ThrottleMS is what the client is told to wait (KIP-219): the longest wait of those that it is charged with.
	ThrottleMS int32
}

// Broker is the node as handlers see it. All methods may be called from any goroutine and may wait.
type Broker interface {
	// Config is the configuration in force; Image the metadata; both are immutable.
	Config() *config.Config
	Image() *image.Image
	// Authorizer decides who may do what; nil where nobody is restricted.
	Authorizer() *acl.Authorizer
	// Denied is told what a client is refused because of that.
	Denied(client *Client, key wire.APIKey, op image.ACLOperation, t image.ACLResourceType, name string)
	// Advertised is the address that clients of a listener are told.
	Advertised(listener string) (host string, port int32)

	// Clustered reports whether the node is one of several: then who there is, and who leads what, is in Image alone.
	Clustered() bool
	// Controller is the node that decides; NoNode while there is none. A node of its own is that itself.
	Controller() wire.NodeID
	// Control has the controller answer a request, on the node that is that; NOT_CONTROLLER elsewhere. Clustered nodes alone.
	Control(req kmsg.Request) kmsg.Response

	// NewTopicID is one that no topic has.
	NewTopicID() wire.TopicID
	// CreateTopic makes a topic durable and serves it before it returns. TopicAlreadyExists if the name is taken.
	// message explains a code where it can. In a cluster this and all other changes are made by the controller: elsewhere they are
	// NotController.
	CreateTopic(t NewTopic) (id wire.TopicID, code wire.ErrorCode, message string)
	// CheckTopic says what CreateTopic would answer, and makes nothing.
	CheckTopic(t NewTopic) (code wire.ErrorCode, message string)
	// DeleteTopic forgets the topic that has this name and, unless it is zero, this id, durably. UnknownTopicOrPartition
	// if there is none, as when the name was given to another topic meanwhile.
	DeleteTopic(name string, id wire.TopicID) wire.ErrorCode
	// GrowTopic raises a topic's partition count. assignment has the replicas of each new partition; nil: the node's choice.
	GrowTopic(name string, count int32, assignment [][]wire.NodeID) (code wire.ErrorCode, message string)
	// CheckGrowth says what GrowTopic would answer, and changes nothing.
	CheckGrowth(name string, count int32, assignment [][]wire.NodeID) (code wire.ErrorCode, message string)
	// AlterConfigs sets (or, with nil, removes) overrides of a topic, a group, client metrics or this node. The values were validated.
	AlterConfigs(r image.Resource, changes map[string]*string) (code wire.ErrorCode, message string)

	// LogLevel is the least level that the node logs; SetLogLevel changes it until the process ends.
	LogLevel() slog.Level
	SetLogLevel(slog.Level)

	// SetFeatures finalizes features at these levels, durably. The levels were validated.
	SetFeatures(levels map[string]int16) (code wire.ErrorCode, message string)

	// AlterClientQuotas makes records durable and has them in force before it returns. They were validated.
	AlterClientQuotas(records []image.ClientQuotaRecord) (code wire.ErrorCode, message string)
	// ChangeMetadata has decide judge a change by the newest metadata, and makes its records durable before it returns. Where
	// a code is the answer to all of it, decide may not have been asked.
	ChangeMetadata(decide func(*image.Image) []image.Record) (code wire.ErrorCode, message string)
	// ChargeMutations counts partitions made or removed by a client against its controller_mutation_rate (KIP-599), and gives the
	// milliseconds that it must wait. Strictly, ok is false if it owes already: then nothing was counted, nor may be done.
	ChargeMutations(c Client, partitions int32, strict bool) (waitMS int32, ok bool)

	// DeleteRecords deletes the records below an offset of each partition, -1 being the high watermark, durably, and
	// answers for each of them.
	DeleteRecords(upTo map[wire.TopicPartition]wire.Offset) map[wire.TopicPartition]DeletedRecords

	// Partition is the state of one partition that this node leads.
	Partition(topic string, index wire.PartitionIndex) (Partition, wire.ErrorCode)
	// Replica is the state of one partition that this node has a replica of, whoever leads it.
	Replica(topic string, index wire.PartitionIndex) (Partition, wire.ErrorCode)

	// LogDirs are the log directories, in the order of log.dirs.
	LogDirs() []LogDir
	// MoveLog has a partition's log go on in another log directory, named as in LogDirs; it begins and does not wait. LogDirNotFound;
	// KafkaStorageError if a directory is offline; InvalidTopicException for a name that is too long to be moved;
	// UnknownTopicOrPartition if it is not there: it is made in that directory then, once it is.
	MoveLog(p wire.TopicPartition, dir string) wire.ErrorCode

	// NewProducerID hands out a producer id that was never used.
	NewProducerID() (wire.ProducerID, wire.ErrorCode)

	// Coordinate has the coordinator of group answer req, and waits for it. Requests that name several groups are split
	// by the handler.
	Coordinate(group string, client Client, req kmsg.Request) kmsg.Response
	// CoordinateAll has every coordinator answer req (ListGroups).
	CoordinateAll(client Client, req kmsg.Request) []kmsg.Response
	// Transact has the transaction coordinator of a transactional id answer req, and waits for it; Refuse of control/txn
	// while there is none. TransactAll has every one answer req (ListTransactions).
	Transact(id string, req kmsg.Request) kmsg.Response
	TransactAll(req kmsg.Request) []kmsg.Response
	// TransactionsTopicReady makes __transaction_state if it is not there yet; false while that is not possible.
	TransactionsTopicReady() bool
	// WriteTxnMarkers ends producers' transactions, each in one partition, and waits until that is durable; their codes are in order.
	WriteTxnMarkers(markers []TxnMarker) []wire.ErrorCode
	// ShareState has the share coordinator answer a request of keys 83 to 87, and waits for it.
	ShareState(req kmsg.Request) kmsg.Response
	// ShareStateTopicReady makes __share_group_state if it is not there yet; false while that is not possible.
	ShareStateTopicReady() bool
	// ShareFetch, charged to the client's consumer_byte_rate, and ShareAcknowledge answer a member of a share group, and wait: for
	// records, and until what it acknowledges is durable.
	ShareFetch(client Client, req *kmsg.ShareFetchRequest) *kmsg.ShareFetchResponse
	ShareAcknowledge(client Client, req *kmsg.ShareAcknowledgeRequest) *kmsg.ShareAcknowledgeResponse
	// OffsetsTopicReady makes __consumer_offsets if it is not there yet; false while that is not possible.
	OffsetsTopicReady() bool
}

// NewTopic is a topic to be made. The name and the configuration were validated.
type NewTopic struct {
	Name       string
	Partitions int32
	// ReplicationFactor is how many replicas each partition gets; -1 for default.replication.factor, and beside an Assignment.
	ReplicationFactor int16
	// Assignment has the replicas of each partition, the preferred leader first; nil: the node's choice.
	Assignment [][]wire.NodeID
	Configs    map[string]string
	// Asked says that a client only asked for it (auto.create.topics.enable): a node that is not the controller has that make it.
	Asked bool
}

// DeletedRecords is what became of a partition in DeleteRecords. LowWatermark is where the log starts now, NoOffset beside an
// error: UnknownTopicOrPartition, InvalidTopicException for a topic of the node's own, PolicyViolation where cleanup.policy has
// no delete, OffsetOutOfRange, KafkaStorageError.
type DeletedRecords struct {
	Code         wire.ErrorCode
	LowWatermark wire.Offset
}

// LogDir is one of log.dirs. TotalBytes and UsableBytes are its file system's, -1 if they cannot be read or it is offline.
type LogDir struct {
	Path                    string
	TotalBytes, UsableBytes int64
	Offline                 bool // it failed, and what lies there is not served
}

// FutureReplica is a copy of a log that is to take its place: the path of the log directory that it is in, its bytes so far, and by how
// many offsets it is behind.
type FutureReplica struct {
	LogDir          string
	Size, OffsetLag int64
}

// Partition is one partition's log as handlers see it.
type Partition interface {
	LeaderEpoch() wire.LeaderEpoch
	// LogDir is the path of the log directory that the log lies in, Size the bytes of its segments' records.
	LogDir() string
	Size() int64
	// Future is the copy of the log in another log directory; moving is false if there is none.
	Future() (f FutureReplica, moving bool)
	// Offsets are the log start offset, the high watermark and the last stable offset.
	Offsets() (logStart, highWatermark, lastStable wire.Offset)
	// WatermarkIsOld says that the high watermark may be lower than what an earlier leader has shown (KIP-207).
	WatermarkIsOld() bool
	// Producers are the producers that the log knows, by id.
	Producers() []segment.ActiveProducer
	// EpochAt is the leader epoch that wrote the record at off; EndOffsetForEpoch answers OffsetForLeaderEpoch.
	EpochAt(off wire.Offset) wire.LeaderEpoch
	EndOffsetForEpoch(e wire.LeaderEpoch) (wire.LeaderEpoch, wire.Offset)
	// OffsetForTime is the first record, in offset order and below the high watermark, whose timestamp is at or after ts;
	// found is false if there is none. MaxTimestamp is the record with the greatest timestamp (ListOffsets -3).
	OffsetForTime(ts wire.Timestamp) (off wire.Offset, at wire.Timestamp, epoch wire.LeaderEpoch, found bool, err error)
	MaxTimestamp() (off wire.Offset, at wire.Timestamp, epoch wire.LeaderEpoch, found bool, err error)
}
