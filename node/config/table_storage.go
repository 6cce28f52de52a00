package config

var remoteStorageProperties = withoutEffect(reasonRemote,
	property("log.local.retention.bytes", Long, "-2", atLeast(-2), ClusterWide),
	property("log.local.retention.ms", Long, "-2", atLeast(-2), ClusterWide),
	property("remote.fetch.max.wait.ms", Int, "500", atLeast(1), ClusterWide),
	property("remote.list.offsets.request.timeout.ms", Long, "30000", atLeast(1), ClusterWide),
	property("remote.log.index.file.cache.total.size.bytes", Long, "1073741824", atLeast(1), ClusterWide),
	property("remote.log.manager.copier.thread.pool.size", Int, "10", atLeast(1), ClusterWide),
	property("remote.log.manager.copy.max.bytes.per.second", Long, maxLong, atLeast(1), ClusterWide),
	property("remote.log.manager.copy.quota.window.num", Int, "11", atLeast(1), ReadOnly),
	property("remote.log.manager.copy.quota.window.size.seconds", Int, "1", atLeast(1), ReadOnly),
	property("remote.log.manager.expiration.thread.pool.size", Int, "10", atLeast(1), ClusterWide),
	property("remote.log.manager.fetch.max.bytes.per.second", Long, maxLong, atLeast(1), ClusterWide),
	property("remote.log.manager.fetch.quota.window.num", Int, "11", atLeast(1), ReadOnly),
	property("remote.log.manager.fetch.quota.window.size.seconds", Int, "1", atLeast(1), ReadOnly),
	property("remote.log.manager.task.interval.ms", Long, "30000", atLeast(1), ReadOnly),
	internal(property("remote.log.manager.task.retry.backoff.max.ms", Long, "30000", atLeast(1), ReadOnly)),
	internal(property("remote.log.manager.task.retry.backoff.ms", Long, "500", atLeast(1), ReadOnly)),
	internal(property("remote.log.manager.task.retry.jitter", Double, "0.2", between(0, 0.5), ReadOnly)),
	property("remote.log.manager.thread.pool.size", Int, "2", atLeast(1), ReadOnly),
	property("remote.log.metadata.custom.metadata.max.bytes", Int, "128", atLeast(0), ReadOnly),
	property("remote.log.metadata.manager.class.name", String, "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", nonEmpty(), ReadOnly),
	property("remote.log.metadata.manager.class.path", String, null, nil, ReadOnly),
	property("remote.log.metadata.manager.impl.prefix", String, "rlmm.config.", nonEmpty(), ReadOnly),
	property("remote.log.metadata.manager.listener.name", String, null, nonEmpty(), ReadOnly),
	property("remote.log.reader.max.pending.tasks", Int, "100", atLeast(1), ReadOnly),
	property("remote.log.reader.threads", Int, "10", atLeast(1), ClusterWide),
	property("remote.log.storage.manager.class.name", String, null, nonEmpty(), ReadOnly),
	property("remote.log.storage.manager.class.path", String, null, nil, ReadOnly),
	property("remote.log.storage.manager.impl.prefix", String, "rsm.config.", nonEmpty(), ReadOnly),
	property("remote.log.storage.system.enable", Boolean, "false", nil, ReadOnly),
)

var cleanerProperties = []Property{
	effective("log.cleaner.backoff.ms", Long, "15000", atLeast(0), ClusterWide,
		"How long the cleaner waits before it looks again when no compacted log is dirty enough."),
	effective("log.cleaner.dedupe.buffer.size", Long, "134217728", nil, ClusterWide,
		"Most memory for the keys of one cleaning, 24 bytes for each; what does not fit is cleaned next time."),
	effective("log.cleaner.delete.retention.ms", Long, "86400000", atLeast(0), ClusterWide,
		"How long a tombstone stays in a compacted log after the first cleaning that found nothing but it left of its key."),
	effective("log.cleaner.enable", Boolean, "true", nil, ReadOnly,
		"Whether logs with cleanup.policy=compact are compacted; consumer offsets grow without end if not."),
	effective("log.cleaner.io.buffer.load.factor", Double, "0.9", nil, ClusterWide,
		"How full log.cleaner.dedupe.buffer.size may get, as a fraction."),
	effective("log.cleaner.io.max.bytes.per.second", Double, "1.7976931348623157E308", nil, ClusterWide,
		"Bytes that the cleaner reads and writes in a second, together."),
	effective("log.cleaner.max.compaction.lag.ms", Long, maxLong, atLeast(1), ClusterWide,
		"How long a record may stay in a compacted log before it is cleaned, however little of the log is dirty."),
	effective("log.cleaner.min.cleanable.ratio", Double, "0.5", between(0, 1), ClusterWide,
		"The part of a compacted log that must be dirty before it is cleaned."),
	effective("log.cleaner.min.compaction.lag.ms", Long, "0", atLeast(0), ClusterWide,
		"How long a record stays in a compacted log as it is, counted from its timestamp."),
}

var fixedCleanerProperties = withoutEffect(reasonCleaner,
	property("log.cleaner.io.buffer.size", Int, "524288", atLeast(0), ClusterWide),
	property("log.cleaner.threads", Int, "1", atLeast(0), ClusterWide),
)

var compressionProperties = withoutEffect(reasonCompression,
	property("compression.gzip.level", Int, "-1", betweenOr(1, 9, -1), ClusterWide),
	property("compression.lz4.level", Int, "9", between(1, 17), ClusterWide),
	property("compression.type", String, "producer", oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"), ClusterWide),
	property("compression.zstd.level", Int, "3", between(-131072, 22), ClusterWide),
	property("offsets.topic.compression.codec", Int, "0", nil, ReadOnly),
)

var moveProperties = []Property{
	effective("num.replica.alter.log.dirs.threads", Int, null, nil, ReadOnly,
		"How many partitions move between log directories at once. Left out: one for each log directory."),
}

var fileProperties = withoutEffect(reasonFiles,
	property("alter.log.dirs.replication.quota.window.num", Int, "11", atLeast(1), ReadOnly),
	property("alter.log.dirs.replication.quota.window.size.seconds", Int, "1", atLeast(1), ReadOnly),
	property("log.dir.failure.timeout.ms", Long, "30000", atLeast(1), ReadOnly),
	property("log.preallocate", Boolean, "false", nil, ClusterWide),
)
