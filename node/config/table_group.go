package config

// producerProperties bound what is remembered of idempotent producers.
var producerProperties = []Property{
	effective("producer.id.expiration.ms", Int, "86400000", atLeast(1), ClusterWide,
		"How long the sequence numbers of a silent idempotent producer are remembered."),
	internal(effective("producer.id.expiration.check.interval.ms", Int, "600000", atLeast(1), ReadOnly,
		"How often expired producers are forgotten.")),
	effective("transaction.max.timeout.ms", Int, "900000", atLeast(1), ReadOnly,
		"The longest transaction timeout a producer may ask for in InitProducerId."),
}

// groupProperties rule consumer groups and their committed offsets.
var groupProperties = []Property{
	effective("group.initial.rebalance.delay.ms", Int, "3000", nil, ReadOnly,
		"How long the first rebalance of an empty group waits for more members."),
	effective("group.min.session.timeout.ms", Int, "6000", nil, ReadOnly,
		"The shortest session timeout a group member may ask for."),
	effective("group.max.session.timeout.ms", Int, "1800000", nil, ReadOnly,
		"The longest session timeout a group member may ask for."),
	effective("group.max.size", Int, maxInt, atLeast(1), ReadOnly,
		"The most members of one group."),
	effective("group.coordinator.rebalance.protocols", List, "classic,consumer,streams", eachOf("consumer", "classic", "share", "streams"), ReadOnly,
		"The group protocols that are served. Without `consumer`, ConsumerGroupHeartbeat (KIP-848) is refused; classic groups are always served, share and streams groups not yet."),
	effective("group.consumer.assignors", List, "uniform,range", nil, ReadOnly,
		"The assignors of consumer groups (KIP-848). The first is for members that ask for none. Kafka's class names are not known."),
	effective("group.consumer.session.timeout.ms", Int, "45000", atLeast(1), ReadOnly,
		"How long a member of a consumer group may be silent."),
	effective("group.consumer.heartbeat.interval.ms", Int, "5000", atLeast(1), ReadOnly,
		"How often members of consumer groups are told to send heartbeats."),
	effective("group.consumer.max.size", Int, maxInt, atLeast(1), ReadOnly,
		"The most members of one consumer group."),
	effective("group.consumer.migration.policy", String, "bidirectional", oneOfFold("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"), ReadOnly,
		"Whether a group with members may change from the classic to the consumer protocol (upgrade), back (downgrade), both, or neither (disabled)."),
	internal(effective("group.consumer.regex.refresh.interval.ms", Int, "600000", atLeast(10000), ReadOnly,
		"How old the topics of a consumer group's regular expressions may get before they are looked for again.")),
	effective("offset.metadata.max.bytes", Int, "4096", nil, ReadOnly,
		"The longest metadata string stored with a committed offset."),
	effective("offsets.retention.minutes", Int, "10080", atLeast(1), ReadOnly,
		"How long the offsets of a group without members, or of a topic it no longer reads, are kept."),
	effective("offsets.retention.check.interval.ms", Long, "600000", atLeast(1), ReadOnly,
		"How often expired offsets are looked for."),
	effective("offsets.topic.num.partitions", Int, "50", atLeast(1), ReadOnly,
		"Partitions of __consumer_offsets. It cannot be changed once the topic exists."),
	idle(reasonReplication, property("offsets.topic.replication.factor", Short, "3", atLeast(1), ReadOnly)),
	effective("offsets.topic.segment.bytes", Int, "104857600", atLeast(1), ReadOnly,
		"Segment size of __consumer_offsets."),
	idle(reasonReplication, property("offsets.commit.timeout.ms", Int, "5000", atLeast(1), ReadOnly)),
}
