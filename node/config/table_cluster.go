package config

var quorumProperties = withoutEffect(
	"there is no KRaft quorum to talk to: a node keeps its own metadata",
	internal(property("controller.performance.always.log.threshold.ms", Long, "2000", atLeast(0), ReadOnly)),
	internal(property("controller.performance.sample.period.ms", Long, "60000", atLeast(100), ReadOnly)),
	property("controller.quorum.append.linger.ms", Int, "25", atLeast(0), ReadOnly),
	property("controller.quorum.bootstrap.servers", List, "", nil, ReadOnly),
	property("controller.quorum.election.backoff.max.ms", Int, "1000", atLeast(0), ReadOnly),
	property("controller.quorum.request.timeout.ms", Int, "2000", atLeast(0), ReadOnly),
	property("controller.quorum.retry.backoff.ms", Int, "20", atLeast(0), ReadOnly),
	property("controller.quorum.voters", List, "", nil, ReadOnly),
	property("controller.socket.timeout.ms", Int, "30000", nil, ReadOnly),
	property("early.start.listeners", String, null, nil, ReadOnly),
	property("initial.broker.registration.timeout.ms", Int, "60000", nil, ReadOnly),
	internal(property("internal.metadata.delete.delay.millis", Long, "60000", nil, ReadOnly)),
	internal(property("internal.metadata.log.segment.bytes", Int, null, nil, ReadOnly)),
	internal(property("internal.metadata.max.batch.size.in.bytes", Int, "8388608", nil, ReadOnly)),
	internal(property("internal.metadata.max.fetch.size.in.bytes", Int, "8388608", nil, ReadOnly)),
	property("metadata.log.dir", String, null, nil, ReadOnly),
	property("metadata.log.max.record.bytes.between.snapshots", Long, "20971520", atLeast(1), ReadOnly),
	property("metadata.log.max.snapshot.interval.ms", Long, "3600000", atLeast(0), ReadOnly),
	property("metadata.log.segment.bytes", Int, "1073741824", atLeast(8388608), ReadOnly),
	property("metadata.log.segment.ms", Long, "604800000", nil, ReadOnly),
	property("metadata.max.idle.interval.ms", Int, "500", atLeast(0), ReadOnly),
	property("metadata.max.retention.bytes", Long, "104857600", nil, ReadOnly),
	property("metadata.max.retention.ms", Long, "604800000", nil, ReadOnly),
	internal(property("server.max.startup.time.ms", Long, maxLong, atLeast(0), ReadOnly)),
	internal(property("unstable.api.versions.enable", Boolean, "false", nil, ReadOnly)),
	internal(property("unstable.feature.versions.enable", Boolean, "false", nil, ReadOnly)),
)

// clusterProperties say how nodes find each other, and how long one may be silent.
var clusterProperties = []Property{
	effective("seeds", List, "", nil, ReadOnly,
		"Gossip addresses, as host:port, of nodes to find the others by; without a port 7946. Each is asked until it has answered once, and again when no other node is seen. A node that has seeds is one of a cluster."),
	effective("ringmill.bootstrap.expect", Int, "1", between(1, 1024), ReadOnly,
		"How many fresh nodes form the metadata quorum by themselves, once they see each other. The same on all of them; nodes that come later join what there is. 1 without seeds: a node of its own."),
	effective("ringmill.bootstrap.alone", String, "refuse", oneOf(AloneRefuse, AloneBegin), ReadOnly,
		"What a node of a cluster does that has run alone so far. refuse: it does not start, for the cluster's metadata would take the place of its own. begin: a cluster begins with this node and all that it has, and others join it; without effect from then on."),
	effective("ringmill.quorum.voters", Int, "3", between(0, 9), ReadOnly,
		"How many nodes vote on the metadata. While there are fewer, a node that joined is made a voter; one that came back with another data directory takes the place of the voter that it was. Drained nodes are not. 0: who votes is an operator's to say."),
	effective("ringmill.gossip.listen", String, "", nil, ReadOnly,
		"Where nodes tell each other that they are there, as host:port, over TCP and UDP. Empty: port 7946 at the host of the first listener. Elsewhere than on a loopback address a key is needed."),
	effective("ringmill.gossip.advertise", String, "", nil, ReadOnly,
		"The gossip address that other nodes use, as host:port, where it differs from ringmill.gossip.listen. Empty: that one, or the host of the first advertised listener where that is every interface."),
	effective("ringmill.gossip.key", Password, null, gossipKey{}, ReadOnly,
		"The key that gossip is encrypted with, and by which nodes prove to each other that they are nodes: 32 bytes in base64, as `openssl rand -base64 32` writes them. The same on all nodes. Kept in state/serf/keyring, which counts from then on."),
	effective("inter.broker.listener.name", String, null, nil, ReadOnly,
		"The listener that other nodes connect to. Left out: the first of listeners."),
	effective("broker.session.timeout.ms", Int, "9000", nil, ReadOnly,
		"How long a node may send no heartbeat to the controller before it is fenced and its partitions get other leaders."),
	effective("broker.heartbeat.interval.ms", Int, "2000", nil, ReadOnly,
		"How often a node sends a heartbeat to the controller."),
	effective("controlled.shutdown.enable", Boolean, "true", nil, ReadOnly,
		"Whether a node that stops has the controller lead its partitions elsewhere first."),
	effective("controller.quorum.fetch.timeout.ms", Int, "2000", atLeast(0), ReadOnly,
		"How long a voter hears nothing from the controller before it stands for election."),
	internal(effective("ringmill.internal.format.max", Short, "1", between(1, 100), ReadOnly,
		"The newest level of ringmill.format that this node says it knows: a test's way to have nodes of two releases.")),
	awaited(effective("controller.quorum.election.timeout.ms", Int, "1000", atLeast(0), ReadOnly,
		"How long a voter waits for the votes of an election before it stands again.")),
}

// replicationProperties rule how partitions are copied between nodes, and who leads them.
var replicationProperties = []Property{
	effective("min.insync.replicas", Int, "1", atLeast(1), ClusterWide,
		"How many replicas must have a record before a produce with acks=all is answered; with fewer in sync it is refused. A node of its own has one, and that is enough."),
	effective("replica.lag.time.max.ms", Long, "30000", nil, ReadOnly,
		"How long a follower may go without having all of the leader's records before it is taken out of the ISR."),
	effective("replica.fetch.wait.max.ms", Int, "500", nil, ReadOnly,
		"How long a leader lets a follower's fetch wait for records."),
	effective("replica.fetch.min.bytes", Int, "1", nil, ReadOnly,
		"Bytes for which a follower's fetch waits, at most replica.fetch.wait.max.ms."),
	effective("replica.fetch.max.bytes", Int, "1048576", atLeast(0), ReadOnly,
		"Bytes of one partition that a follower's fetch asks for. A larger first batch comes all the same."),
	effective("replica.fetch.response.max.bytes", Int, "10485760", atLeast(0), ReadOnly,
		"Bytes of all partitions that a follower's fetch asks for. A larger first batch comes all the same."),
	effective("replica.fetch.backoff.ms", Int, "1000", atLeast(0), ReadOnly,
		"How long a partition whose fetch failed is left out."),
	effective("unclean.leader.election.enable", Boolean, "false", nil, ClusterWide,
		"Whether a replica that is not in the ISR may lead where no other is left. Records can be lost then."),
	effective("auto.leader.rebalance.enable", Boolean, "true", nil, ReadOnly,
		"Whether leadership goes back to the preferred replicas by itself."),
	effective("leader.imbalance.check.interval.seconds", Long, "300", atLeast(1), ReadOnly,
		"How often the controller looks for partitions that their preferred replica does not lead."),
	effective("replica.selector.class", String, null, nil, ReadOnly,
		"Which replica consumers are told to read from (KIP-392). org.apache.kafka.common.replica.RackAwareReplicaSelector: one in their own rack. Left out, or LeaderSelector: the leader. Other classes cannot be loaded."),
}

var fixedReplicationProperties = withoutEffect(
	"each loop has one fetcher for each node that it follows, and knows its high watermarks again from the leader",
	property("num.replica.fetchers", Int, "1", nil, ClusterWide),
	property("replica.high.watermark.checkpoint.interval.ms", Long, "5000", nil, ReadOnly),
	property("replica.socket.receive.buffer.bytes", Int, "65536", nil, ReadOnly),
)

var unreplicatedProperties = withoutEffect(reasonReplication,
	property("add.partitions.to.txn.retry.backoff.max.ms", Int, "100", atLeast(0), ReadOnly),
	property("add.partitions.to.txn.retry.backoff.ms", Int, "20", atLeast(1), ReadOnly),
	property("replica.socket.timeout.ms", Int, "30000", nil, ReadOnly),
	property("replication.quota.window.num", Int, "11", atLeast(1), ReadOnly),
	property("replication.quota.window.size.seconds", Int, "1", atLeast(1), ReadOnly),
	property("request.timeout.ms", Int, "30000", nil, ReadOnly),
	property("socket.connection.setup.timeout.max.ms", Long, "30000", nil, ReadOnly),
	property("socket.connection.setup.timeout.ms", Long, "10000", nil, ReadOnly),
	internal(property("unclean.leader.election.interval.ms", Long, "300000", atLeast(1), ReadOnly)),
)

// awaited takes the effect from a row that only several nodes need, until the node reads it: the lint says when the word
// is to go.
func awaited(p Property) Property {
	p.Doc, p.Reason = "", reasonReplication
	return p
}
