package config

// transactionProperties rule transactional ids and their log.
var transactionProperties = []Property{
	effective("transaction.abort.timed.out.transaction.cleanup.interval.ms", Int, "10000", atLeast(1), ReadOnly,
		"How often transactions that took longer than their producers allowed are looked for and aborted."),
	effective("transaction.remove.expired.transaction.cleanup.interval.ms", Int, "3600000", atLeast(1), ReadOnly,
		"How often transactional ids that were not used for long are looked for and forgotten."),
	effective("transaction.state.log.num.partitions", Int, "50", atLeast(1), ReadOnly,
		"Partitions of __transaction_state. It cannot be changed once the topic exists."),
	effective("transaction.state.log.segment.bytes", Int, "104857600", atLeast(1), ReadOnly,
		"The size of a segment of __transaction_state."),
	effective("transaction.state.log.replication.factor", Short, "3", atLeast(1), ReadOnly,
		"Replicas of __transaction_state in a cluster. A node of its own makes it with one."),
	effective("transaction.state.log.min.isr", Int, "2", atLeast(1), ReadOnly,
		"min.insync.replicas of __transaction_state in a cluster."),
	effective("transactional.id.expiration.ms", Int, "604800000", atLeast(1), ReadOnly,
		"How long a transactional id that is not used is remembered."),
}

var fixedTransactionProperties = withoutEffect(
	"a transaction's partitions are always verified, and there is no two-phase commit",
	property("transaction.partition.verification.enable", Boolean, "true", nil, ClusterWide),
	property("transaction.state.log.load.buffer.size", Int, "5242880", atLeast(1), ReadOnly),
	property("transaction.two.phase.commit.enable", Boolean, "false", nil, ReadOnly),
)

// shareStateProperties rule the share coordinator's log.
var shareStateProperties = []Property{
	internal(effective("share.coordinator.cold.partition.snapshot.interval.ms", Int, "300000", atLeast(1), ReadOnly,
		"How long a share partition's state may stand in the log without a snapshot, so that the log can be pruned.")),
	effective("share.coordinator.snapshot.update.records.per.snapshot", Int, "500", atLeast(0), ReadOnly,
		"How many changes of a share partition's state are written before all of it is written once more."),
	effective("share.coordinator.state.topic.num.partitions", Int, "50", atLeast(1), ReadOnly,
		"Partitions of __share_group_state. It cannot be changed once the topic exists."),
	internal(effective("share.coordinator.state.topic.prune.interval.ms", Int, "300000", atLeast(1), ReadOnly,
		"How often records of __share_group_state that no state needs any more are deleted.")),
	effective("share.coordinator.state.topic.replication.factor", Short, "3", atLeast(1), ReadOnly,
		"Replicas of __share_group_state in a cluster. A node of its own makes it with one."),
	effective("share.coordinator.state.topic.min.isr", Short, "2", atLeast(1), ReadOnly,
		"min.insync.replicas of __share_group_state in a cluster."),
	effective("share.coordinator.state.topic.segment.bytes", Int, "104857600", atLeast(1), ReadOnly,
		"The size of a segment of __share_group_state."),
}

var fixedShareStateProperties = withoutEffect(
	"the share coordinator runs as one state machine: it has no threads, append linger, load buffer or timeout to set",
	property("share.coordinator.append.linger.ms", Int, "5", atLeast(0), ReadOnly),
	property("share.coordinator.load.buffer.size", Int, "5242880", atLeast(1), ReadOnly),
	property("share.coordinator.state.topic.compression.codec", Int, "0", nil, ReadOnly),
	property("share.coordinator.threads", Int, "1", atLeast(1), ReadOnly),
	property("share.coordinator.write.timeout.ms", Int, "5000", atLeast(1), ReadOnly),
)

// sharePartitionProperties rule what share groups fetch (KIP-932).
var sharePartitionProperties = []Property{
	effective("group.share.delivery.count.limit", Int, "5", between(2, 10), ReadOnly,
		"How often a record is delivered to a share group. One that was not acknowledged by then is given up."),
	effective("group.share.max.record.lock.duration.ms", Int, "60000", between(30000, 3600000), ReadOnly,
		"The most that share.record.lock.duration.ms of a group, and the node's, may be."),
	effective("group.share.max.share.sessions", Int, "2000", atLeast(1), ReadOnly,
		"The most share sessions: a member of a share group that fetches has one. One more is refused with SHARE_SESSION_LIMIT_REACHED."),
	effective("group.share.min.record.lock.duration.ms", Int, "15000", between(1000, 30000), ReadOnly,
		"The least that share.record.lock.duration.ms of a group, and the node's, may be."),
	effective("group.share.partition.max.record.locks", Int, "2000", between(100, 10000), ReadOnly,
		"How many records of a partition a share group may have in flight, from the first that is not done to the last that was delivered."),
	effective("group.share.record.lock.duration.ms", Int, "30000", between(1000, 3600000), ReadOnly,
		"How long a member of a share group has a record for itself, before it is delivered again."),
}

var fixedSharePartitionProperties = withoutEffect(
	"share groups have their states in __share_group_state, and no purgatory: a fetch that waits is in the lines of its share partitions",
	internal(property("group.share.persister.class.name", String, "org.apache.kafka.server.share.persister.DefaultStatePersister", nil, ReadOnly)),
	property("share.fetch.purgatory.purge.interval.requests", Int, "1000", nil, ReadOnly),
)

// shareGroupProperties rule the members of share groups (KIP-932).
var shareGroupProperties = []Property{
	idle("share groups have the assignor simple and no other", property("group.share.assignors", List, "simple", nil, ReadOnly)),
	internal(effective("group.share.enable", Boolean, "false", nil, ReadOnly,
		"Whether share groups are served even where the feature share.version is at 0.")),
	effective("group.share.heartbeat.interval.ms", Int, "5000", atLeast(1), ReadOnly,
		"How often members of share groups are told to send heartbeats."),
	effective("group.share.min.heartbeat.interval.ms", Int, "5000", atLeast(1), ReadOnly,
		"The least that share.heartbeat.interval.ms of a group, and the node's, may be."),
	effective("group.share.max.heartbeat.interval.ms", Int, "15000", atLeast(1), ReadOnly,
		"The most that share.heartbeat.interval.ms of a group, and the node's, may be."),
	effective("group.share.session.timeout.ms", Int, "45000", atLeast(1), ReadOnly,
		"How long a member of a share group may be silent."),
	effective("group.share.min.session.timeout.ms", Int, "45000", atLeast(1), ReadOnly,
		"The least that share.session.timeout.ms of a group, and the node's, may be."),
	effective("group.share.max.session.timeout.ms", Int, "60000", atLeast(1), ReadOnly,
		"The most that share.session.timeout.ms of a group, and the node's, may be."),
	effective("group.share.max.size", Int, "200", between(1, 1000), ReadOnly,
		"The most members of one share group."),
}

var newGroupProperties = withoutEffect(
	reasonStreamsGroups,
	property("group.streams.heartbeat.interval.ms", Int, "5000", atLeast(1), ReadOnly),
	property("group.streams.max.heartbeat.interval.ms", Int, "15000", atLeast(1), ReadOnly),
	property("group.streams.max.session.timeout.ms", Int, "60000", atLeast(1), ReadOnly),
	property("group.streams.max.size", Int, maxInt, atLeast(1), ReadOnly),
	property("group.streams.max.standby.replicas", Int, "2", atLeast(0), ReadOnly),
	property("group.streams.min.heartbeat.interval.ms", Int, "5000", atLeast(1), ReadOnly),
	property("group.streams.min.session.timeout.ms", Int, "45000", atLeast(1), ReadOnly),
	property("group.streams.num.standby.replicas", Int, "0", atLeast(0), ReadOnly),
	property("group.streams.session.timeout.ms", Int, "45000", atLeast(1), ReadOnly),
)

var coordinatorProperties = withoutEffect(
	"the group coordinator runs as one state machine: it has no threads, append linger or load buffer to set",
	property("group.coordinator.append.linger.ms", Int, "5", atLeast(0), ReadOnly),
	property("group.coordinator.threads", Int, "4", atLeast(1), ReadOnly),
	property("offsets.load.buffer.size", Int, "5242880", atLeast(1), ReadOnly),
)
