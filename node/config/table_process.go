package config

var threadProperties = withoutEffect(
	"loops take the place of thread pools and purgatories: see ringmill.loops and ringmill.request.memory.bytes",
	property("background.threads", Int, "10", atLeast(1), ClusterWide),
	property("delete.records.purgatory.purge.interval.requests", Int, "1", nil, ReadOnly),
	property("fetch.purgatory.purge.interval.requests", Int, "1000", nil, ReadOnly),
	property("num.io.threads", Int, "8", atLeast(1), ClusterWide),
	property("num.network.threads", Int, "3", atLeast(1), ClusterWide),
	property("producer.purgatory.purge.interval.requests", Int, "1000", nil, ReadOnly),
	property("queued.max.request.bytes", Long, "-1", nil, ReadOnly),
	property("queued.max.requests", Int, "500", atLeast(1), ReadOnly),
)

var receiveProperties = withoutEffect(
	"receive buffers are sized by the kernel, which moves large produces with less work than a fixed size (PERFORMANCE.md)",
	property("socket.receive.buffer.bytes", Int, "102400", nil, ReadOnly),
)

var metricProperties = withoutEffect(
	"there is no JVM and no JMX: metrics are served at http://<ringmill.http.listen>/metrics",
	property("kafka.metrics.polling.interval.secs", Int, "10", atLeast(1), ReadOnly),
	property("kafka.metrics.reporters", List, "", nil, ReadOnly),
	property("metric.reporters", List, "org.apache.kafka.common.metrics.JmxReporter", nil, ClusterWide),
	property("metrics.num.samples", Int, "2", atLeast(1), ReadOnly),
	property("metrics.recording.level", String, "INFO", nil, ReadOnly),
	property("metrics.sample.window.ms", Long, "30000", atLeast(1), ReadOnly),
	property("telemetry.max.bytes", Int, "1048576", atLeast(1), ReadOnly),
)

var policyProperties = withoutEffect(
	"Java classes cannot be loaded",
	property("client.quota.callback.class", Class, null, nil, ReadOnly),
	property("alter.config.policy.class.name", Class, null, nil, ReadOnly),
	property("create.topic.policy.class.name", Class, null, nil, ReadOnly),
)
