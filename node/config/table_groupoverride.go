package config

// groupOverrideProperties are the properties that a group may have of its own (KIP-848, KIP-932, KIP-1071). A synonym names
// the broker property that stands in where it has none.
var groupOverrideProperties = []Property{
	synonym("group.consumer.session.timeout.ms", effective("consumer.session.timeout.ms", Int, "45000", atLeast(1), ClusterWide,
		"How long a member of the consumer group may be silent. In force from the member's next heartbeat.")),
	synonym("group.consumer.heartbeat.interval.ms", effective("consumer.heartbeat.interval.ms", Int, "5000", atLeast(1), ClusterWide,
		"How often members of the consumer group are told to send heartbeats.")),
	synonym("group.share.session.timeout.ms", effective("share.session.timeout.ms", Int, "45000", atLeast(1), ClusterWide,
		"How long a member of the share group may be silent. In force from the member's next heartbeat.")),
	synonym("group.share.heartbeat.interval.ms", effective("share.heartbeat.interval.ms", Int, "5000", atLeast(1), ClusterWide,
		"How often members of the share group are told to send heartbeats.")),
	synonym("group.share.record.lock.duration.ms", effective("share.record.lock.duration.ms", Int, "30000", atLeast(1000), ClusterWide,
		"How long a member of the share group has a record for itself. In force from the next fetch.")),
	effective("share.auto.offset.reset", String, "latest", offsetReset(), ClusterWide,
		"Where the share group begins to read a partition."),
	effective("share.isolation.level", String, "read_uncommitted", oneOf("read_committed", "read_uncommitted"), ClusterWide,
		"Whether the share group reads records of transactions that are open or were aborted. In force from the next fetch."),
	synonym("group.streams.session.timeout.ms", idle(reasonStreamsGroups, property("streams.session.timeout.ms", Int, "45000", atLeast(1), ClusterWide))),
	synonym("group.streams.heartbeat.interval.ms", idle(reasonStreamsGroups, property("streams.heartbeat.interval.ms", Int, "5000", atLeast(1), ClusterWide))),
	synonym("group.streams.num.standby.replicas", idle(reasonStreamsGroups, property("streams.num.standby.replicas", Int, "0", atLeast(0), ClusterWide))),
}

// clientMetricsProperties are those of a subscription to clients' metrics (KIP-714).
var clientMetricsProperties = withoutEffect(
	"no client is asked for metrics (KIP-714), as by a Kafka whose metrics reporters take none",
	property("interval.ms", Int, "300000", nil, ClusterWide),
	property("match", List, "", nil, ClusterWide),
	property("metrics", List, "", nil, ClusterWide),
)

const (
	reasonStreamsGroups = "the streams group protocol (KIP-1071) is not built yet; classic, consumer and share groups are"
)
