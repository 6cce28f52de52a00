package config

// Values of ringmill.missing.data.
const (
	MissingRefuse = "refuse"
	MissingBegin  = "begin"
)

// Values of ringmill.bootstrap.alone.
const (
	AloneRefuse = "refuse"
	AloneBegin  = "begin"
)

// ringmillProperties are the node's own: what Kafka has no name for.
var ringmillProperties = []Property{
	effective("ringmill.data.dir", String, "./data", nonEmpty(), ReadOnly,
		"Directory of the node's data: logs/ (unless log.dirs says otherwise) and state/."),
	effective("ringmill.http.listen", String, "127.0.0.1:9644", nil, ReadOnly,
		"Where /metrics, /livez, /readyz and the status page are served, as host:port. Empty: nowhere."),
	effective("ringmill.loops", Int, "0", between(0, 1024), ReadOnly,
		"How many event loops serve connections and partitions. 0: one for each core the process may use."),
	effective("ringmill.engine", String, "auto", oneOf("auto", "uring", "epoll"), ReadOnly,
		"How a loop waits and does its I/O. auto probes the kernel at start and takes io_uring where it is allowed."),
	effective("ringmill.loop.spin.us", Int, "0", between(0, 1000), ReadOnly,
		"Microseconds for which a loop with nothing to do looks again before it sleeps, where its last events came that soon. It spares them a wake-up at the price of processor time, which is lost where the processors have other work."),
	inBoth(effective("ringmill.flush.policy", String, "commit", oneOf("commit", "interval", "cache"), ClusterWide,
		"When a write with acks=all is acknowledged. commit: when it is on disk. interval: when it is in memory, and the log is synced after flush.messages or flush.ms. cache: when it is in memory, as Apache Kafka does.")),
	effective("ringmill.journal.bytes", Long, "67108864", between(1<<20, 1<<40), ReadOnly,
		"Size that each loop's journal, which is written and recycled under ringmill.flush.policy=commit, may grow to."),
	effective("ringmill.journal.run.bytes.max", Int, "524288", between(0, 8<<20), ReadOnly,
		"Bytes of the largest run of appends, to one partition in one turn of its loop, that goes into the journal, too; never more than half of ringmill.journal.bytes. Above it a sync of the segment file costs less than writing them twice."),
	effective("ringmill.flush.commit.delay.us", Int, "0", between(0, 100_000), ReadOnly,
		"Under ringmill.flush.policy=commit: microseconds from the first append that waits for a sync to that sync, so that it is for more of them. Acknowledgements come that much later. Where the last sync takes longer, or the journal is full, nothing is added."),
	effective("ringmill.scrub.interval.ms", Long, "604800000", nil, ClusterWide,
		"How often all logs are read and checked in the background, a first time after a start. 0 or less: never, but for what a fetch or another node suspects."),
	effective("ringmill.scrub.bytes.per.second.max", Long, "10485760", atLeast(1), ClusterWide,
		"Bytes that are read in a second to check logs. They do not displace what is in the page cache."),
	effective("ringmill.request.memory.bytes", Long, "268435456", atLeast(1<<20), ReadOnly,
		"Bytes of requests that may be in memory at once on the whole node. What comes beyond waits in the sockets. It must hold at least one request of socket.request.max.bytes."),
	effective("ringmill.fetch.readahead.bytes", Long, "0", between(0, 1<<30), ClusterWide,
		"How far the disk is asked to read ahead of a consumer or follower that reads on in what is not in the page cache, for each that does. 0: nothing is read before it is asked for, but for what the kernel reads ahead itself, which costs less CPU time a byte."),
	effective("ringmill.append.path", String, "auto", oneOf("auto", "inline", "ring"), ReadOnly,
		"How segment files are written: by the loop itself (inline), by the ring (ring), or by what a probe of each log directory at start recommends (auto)."),
	effective("ringmill.append.inline.bytes.max", Int, "262144", between(0, 4<<20), ReadOnly,
		"The largest write in bytes that a loop makes itself where appends are inline (ringmill.append.path); the ring makes larger ones, and the loop goes on meanwhile."),
	effective("ringmill.missing.data", String, "refuse", oneOf(MissingRefuse, MissingBegin), ReadOnly,
		"What a start does that misses the metadata of the logs that are there, or a log directory with partitions in it. refuse: the node does not start and says what is missing. begin: topics come back without their configurations, partitions empty. In a cluster, where partitions of a missing log directory are fetched from other nodes that have all of them, it is for those that nobody else has; of those with other replicas begin leaves it to an operator to elect one."),
	effective("ringmill.validation", String, "standard", oneOf("standard", "strict"), ReadOnly,
		"How produced batches are checked. standard: header, checksum, counts and sequence. strict: every record is decoded too."),
}

func inBoth(p Property) Property {
	p.Scope = BothScopes
	return p
}
