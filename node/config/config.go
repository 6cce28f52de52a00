package config

import (
	"runtime"

	"github.com/ringmill/ringmill/wire"
)

// Config is a checked configuration. It is immutable: what alters a running node (WithDynamic) makes a new one.
// Each field tagged with a property is that property's value; units are in the fields' names.
type Config struct {
	// Identity.
	NodeID     wire.NodeID `property:"node.id"`
	BrokerRack string      `property:"broker.rack"` // "" if unset

	// Network. Controller listeners are in neither list. A port of 0 is still 0 here: the node puts in what it was given.
	Listeners                 []Listener
	AdvertisedListeners       []Listener // one for each of Listeners, in their order
	ListenBacklog             int        `property:"socket.listen.backlog.size"`
	SendBufferBytes           int        `property:"socket.send.buffer.bytes"` // not positive: the kernel's choice
	RequestBytesMax           int        `property:"socket.request.max.bytes"`
	RequestMemoryBytes        int64      `property:"ringmill.request.memory.bytes"`
	ConnectionsMax            int        `property:"max.connections"`
	ConnectionsPerIPMax       int        `property:"max.connections.per.ip"`
	ConnectionsPerIPOverrides map[string]int
	ConnectionIdleMS          int64          `property:"connections.max.idle.ms"`      // negative: never closed
	ConnectionRateMax         int            `property:"max.connection.creation.rate"` // connections a second
	ListenerConnectionRates   map[string]int // by the listener's name
	FetchBytesMax             int            `property:"fetch.max.bytes"`
	FetchReadaheadBytes       int64          `property:"ringmill.fetch.readahead.bytes"` // 0: off
	FetchSessionSlots         int            `property:"max.incremental.fetch.session.cache.slots"`
	DescribePartitionsMax     int            `property:"max.request.partition.size.limit"`
	HTTPListen                string         `property:"ringmill.http.listen"` // "" for none

	// Access control. Without it everybody may do everything.
	Authorizer              bool
	SuperUsers              []string // principals, as in User:admin
	AllowEveryoneWithoutACL bool     `property:"allow.everyone.if.no.acl.found"`

	// Quotas.
	QuotaWindows                 int `property:"quota.window.num"`
	QuotaWindowSeconds           int `property:"quota.window.size.seconds"`
	ControllerQuotaWindows       int `property:"controller.quota.window.num"`
	ControllerQuotaWindowSeconds int `property:"controller.quota.window.size.seconds"`

	// The cluster: how it is found, and how long a node may be silent. See Cluster, Gossip and InterBroker.
	Seeds                   []string `property:"seeds"` // host:port or host
	BootstrapExpect         int      `property:"ringmill.bootstrap.expect"`
	BootstrapAlone          string   `property:"ringmill.bootstrap.alone"`
	GossipListen            string   `property:"ringmill.gossip.listen"`    // host:port; never empty here
	GossipAdvertise         string   `property:"ringmill.gossip.advertise"` // host:port, or "" for GossipListen
	GossipKey               string   `property:"ringmill.gossip.key"`       // base64, or ""
	InterBrokerListener     string   `property:"inter.broker.listener.name"`
	BrokerSessionTimeoutMS  int64    `property:"broker.session.timeout.ms"`
	BrokerHeartbeatMS       int64    `property:"broker.heartbeat.interval.ms"`
	ControlledShutdown      bool     `property:"controlled.shutdown.enable"`
	QuorumVoters            int      `property:"ringmill.quorum.voters"`
	FormatMax               int16    `property:"ringmill.internal.format.max"`
	QuorumFetchTimeoutMS    int64    `property:"controller.quorum.fetch.timeout.ms"`
	QuorumElectionTimeoutMS int64    `property:"controller.quorum.election.timeout.ms"`

	// Replication. What a topic can override is in TopicConfig.
	ReplicaLagMS               int64  `property:"replica.lag.time.max.ms"`
	ReplicaFetchWaitMS         int64  `property:"replica.fetch.wait.max.ms"`
	ReplicaFetchBytesMin       int    `property:"replica.fetch.min.bytes"`
	ReplicaFetchBytesMax       int    `property:"replica.fetch.max.bytes"`          // of a partition
	ReplicaFetchAnswerBytesMax int    `property:"replica.fetch.response.max.bytes"` // of all
	ReplicaFetchBackoffMS      int64  `property:"replica.fetch.backoff.ms"`
	AutoLeaderRebalance        bool   `property:"auto.leader.rebalance.enable"`
	LeaderImbalanceCheckS      int64  `property:"leader.imbalance.check.interval.seconds"`
	ReplicaSelector            string `property:"replica.selector.class"` // see RackAwareReads

	// Loops.
	Loops      int    `property:"ringmill.loops"` // at least 1: the 0 of "as many as cores" is resolved
	Engine     string `property:"ringmill.engine"`
	LoopSpinUS int64  `property:"ringmill.loop.spin.us"`
	AppendPath string `property:"ringmill.append.path"`
	// AppendInlineBytesMax bounds a write by the loop itself.
	AppendInlineBytesMax int    `property:"ringmill.append.inline.bytes.max"`
	Validation           string `property:"ringmill.validation"`
	MissingData          string `property:"ringmill.missing.data"`

	// Files.
	DataDir                         string   `property:"ringmill.data.dir"`
	LogDirs                         []string // at least one
	JournalBytes                    int64    `property:"ringmill.journal.bytes"` // of each loop
	JournalRunBytesMax              int      `property:"ringmill.journal.run.bytes.max"`
	FlushCommitDelayUS              int64    `property:"ringmill.flush.commit.delay.us"`
	ScrubIntervalMS                 int64    `property:"ringmill.scrub.interval.ms"`
	ScrubBytesPerSecondMax          int64    `property:"ringmill.scrub.bytes.per.second.max"`
	RetentionCheckIntervalMS        int64    `property:"log.retention.check.interval.ms"`
	InitialTaskDelayMS              int64    `property:"log.initial.task.delay.ms"`
	OffsetCheckpointIntervalMS      int64    `property:"log.flush.offset.checkpoint.interval.ms"`
	StartOffsetCheckpointIntervalMS int64    `property:"log.flush.start.offset.checkpoint.interval.ms"`
	RecoveryThreads                 int      `property:"num.recovery.threads.per.data.dir"` // for each log directory

	MoveThreads int `property:"num.replica.alter.log.dirs.threads"` // 0: see MovesAtOnce

	// The cleaner.
	CleanerEnable            bool    `property:"log.cleaner.enable"`
	CleanerBackoffMS         int64   `property:"log.cleaner.backoff.ms"`
	CleanerDedupeBytes       int64   `property:"log.cleaner.dedupe.buffer.size"`
	CleanerLoadFactor        float64 `property:"log.cleaner.io.buffer.load.factor"`
	CleanerBytesPerSecondMax float64 `property:"log.cleaner.io.max.bytes.per.second"`

	// Topics. What a topic can override is in TopicConfig.
	AutoCreateTopics         bool  `property:"auto.create.topics.enable"`
	DeleteTopics             bool  `property:"delete.topic.enable"`
	NumPartitions            int32 `property:"num.partitions"`
	DefaultReplicationFactor int16 `property:"default.replication.factor"`

	// Producers.
	ProducerIDExpirationMS      int64 `property:"producer.id.expiration.ms"`
	ProducerIDExpirationCheckMS int64 `property:"producer.id.expiration.check.interval.ms"`
	TransactionTimeoutMaxMS     int64 `property:"transaction.max.timeout.ms"`

	// Transactions.
	TransactionAbortIntervalMS      int64 `property:"transaction.abort.timed.out.transaction.cleanup.interval.ms"`
	TransactionExpirationIntervalMS int64 `property:"transaction.remove.expired.transaction.cleanup.interval.ms"`
	TransactionTopicPartitions      int32 `property:"transaction.state.log.num.partitions"`
	TransactionTopicSegmentBytes    int64 `property:"transaction.state.log.segment.bytes"`
	TransactionTopicReplication     int16 `property:"transaction.state.log.replication.factor"`
	TransactionTopicMinISR          int   `property:"transaction.state.log.min.isr"`
	TransactionalIDExpirationMS     int64 `property:"transactional.id.expiration.ms"`

	// Groups.
	GroupInitialRebalanceDelayMS int64    `property:"group.initial.rebalance.delay.ms"`
	GroupSessionTimeoutMinMS     int64    `property:"group.min.session.timeout.ms"`
	GroupSessionTimeoutMaxMS     int64    `property:"group.max.session.timeout.ms"`
	GroupSizeMax                 int      `property:"group.max.size"`
	GroupConsumerAssignors       []string `property:"group.consumer.assignors"`
	GroupConsumerSessionMS       int64    `property:"group.consumer.session.timeout.ms"`
	GroupConsumerHeartbeatMS     int64    `property:"group.consumer.heartbeat.interval.ms"`
	GroupConsumerSizeMax         int      `property:"group.consumer.max.size"`
	GroupConsumerMigration       string   `property:"group.consumer.migration.policy"`
	GroupConsumerRegexRefreshMS  int64    `property:"group.consumer.regex.refresh.interval.ms"`
	GroupShareEnable             bool     `property:"group.share.enable"`
	GroupShareSessionMS          int64    `property:"group.share.session.timeout.ms"`
	GroupShareHeartbeatMS        int64    `property:"group.share.heartbeat.interval.ms"`
	GroupShareSizeMax            int      `property:"group.share.max.size"`
	GroupRebalanceProtocols      []string `property:"group.coordinator.rebalance.protocols"`
	OffsetMetadataBytesMax       int      `property:"offset.metadata.max.bytes"`
	OffsetsRetentionMinutes      int64    `property:"offsets.retention.minutes"`
	OffsetsRetentionCheckMS      int64    `property:"offsets.retention.check.interval.ms"`
	OffsetsTopicPartitions       int32    `property:"offsets.topic.num.partitions"`
	OffsetsTopicSegmentBytes     int64    `property:"offsets.topic.segment.bytes"`
	OffsetsTopicReplication      int16    `property:"offsets.topic.replication.factor"`
	OffsetsCommitTimeoutMS       int64    `property:"offsets.commit.timeout.ms"`

	// Share groups.
	ShareStateTopicPartitions   int32 `property:"share.coordinator.state.topic.num.partitions"`
	ShareStateTopicSegmentBytes int64 `property:"share.coordinator.state.topic.segment.bytes"`
	ShareStateTopicReplication  int16 `property:"share.coordinator.state.topic.replication.factor"`
	ShareStateTopicMinISR       int   `property:"share.coordinator.state.topic.min.isr"`
	ShareStateUpdates           int   `property:"share.coordinator.snapshot.update.records.per.snapshot"`
	ShareStateColdMS            int64 `property:"share.coordinator.cold.partition.snapshot.interval.ms"`
	ShareStatePruneMS           int64 `property:"share.coordinator.state.topic.prune.interval.ms"`
	ShareDeliveriesMax          int   `property:"group.share.delivery.count.limit"`
	ShareRecordLocksMax         int   `property:"group.share.partition.max.record.locks"`
	ShareSessionsMax            int   `property:"group.share.max.share.sessions"`

	static           map[string]setting // what file, environment and flags set, by property
	node, cluster    map[string]string  // dynamic values for this node, and for all nodes
	derived          map[string]string  // defaults that depend on other properties
	skippedListeners []string           // names of controller listeners
}

// build fills the fields from the layers. Every single value was checked before.
func (c *Config) build() error {
	fill(c, c.text)
	if c.Loops == 0 {
		c.Loops = runtime.GOMAXPROCS(0)
	}
	for _, step := range []func() error{
		c.checkIdentity, c.checkSecurity, c.buildLogDirs, c.buildListeners, c.buildListenerRates, c.buildCluster, c.buildOverrides, c.checkBounds, c.checkGroups,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// FlushPolicy is the node's ringmill.flush.policy; a topic may have its own.
func (c *Config) FlushPolicy() FlushPolicy {
	text, _ := c.text("ringmill.flush.policy")
	return FlushPolicy(text)
}

// MinInSyncReplicas is the node's min.insync.replicas; a topic may have its own.
func (c *Config) MinInSyncReplicas() int {
	text, _ := c.text("min.insync.replicas")
	v, _ := parseValue(Int, text)
	return int(v.(int64))
}

// WithDynamic returns the configuration with the dynamic values of this node and of the whole cluster laid over the
// static ones (KIP-226); both replace what was dynamic before. The error is a *TopicError.
func (c *Config) WithDynamic(node, cluster map[string]string) (*Config, error) {
	if err := ValidateDynamic(cluster, false); err != nil {
		return nil, err
	}
	if err := ValidateDynamic(node, true); err != nil {
		return nil, err
	}
	next := &Config{static: c.static, node: node, cluster: cluster}
	if err := next.build(); err != nil {
		return nil, asTopicError(err)
	}
	return next, nil
}
