package config

// identityProperties say who this node is.
var identityProperties = []Property{
	effective("node.id", Int, "1", atLeast(0), ReadOnly,
		"This node's id, which clients see in metadata. broker.id is the older name of the same thing."),
	effective("broker.id", Int, "-1", nil, ReadOnly,
		"The older name of node.id. If both are given they must agree; -1 leaves it to node.id."),
	effective("broker.rack", String, null, nil, ReadOnly,
		"The rack or zone of this node. Consumers that name their own rack are told about it in metadata."),
	effective("process.roles", List, "broker,controller", eachOf("broker", "controller"), ReadOnly,
		"What this process does. A ringmill node is always broker and controller in one, so the list must contain broker."),
}

// networkProperties say where clients are served and what one client may take.
var networkProperties = []Property{
	effective("listeners", String, "PLAINTEXT://127.0.0.1:9092", nil, PerBroker,
		"Where the node accepts Kafka clients: NAME://host:port, separated by commas. An empty host means every interface; port 0 takes a free port. Listeners named in controller.listener.names are not opened."),
	effective("advertised.listeners", String, null, nil, ReadOnly,
		"The addresses that metadata gives to clients, one for each listener, where they differ from what the node binds. Left out: the listeners themselves, with the machine's host name for an empty host."),
	effective("listener.security.protocol.map", String, "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", nil, PerBroker,
		"Which protocol each listener name speaks. Only PLAINTEXT can be served so far: a listener mapped to SSL, SASL_PLAINTEXT or SASL_SSL is refused at start."),
	effective("controller.listener.names", String, null, nil, ReadOnly,
		"Names of listeners that Apache Kafka's controllers use among themselves. ringmill has no such traffic and does not open them."),
	effective("authorizer.class.name", String, "", nil, ReadOnly,
		"Access control is not built yet. A value is refused, because serving without the asked-for checks would let everybody in."),
	effective("socket.listen.backlog.size", Int, "50", atLeast(1), ReadOnly,
		"How many connections the kernel keeps waiting for accept on each listener."),
	effective("socket.send.buffer.bytes", Int, "102400", nil, ReadOnly,
		"SO_SNDBUF of each connection, in bytes. -1 lets the kernel size it, for clients a long way off: it bounds one connection to this much for each round trip. On a short way the fixed size is faster."),
	effective("socket.request.max.bytes", Int, "104857600", atLeast(1), ReadOnly,
		"The longest request the node reads, in bytes. A longer length prefix closes the connection before anything is buffered."),
	effective("connections.max.idle.ms", Long, "600000", nil, ReadOnly,
		"A connection without a request for this long is closed."),
	effective("max.connections", Int, maxInt, atLeast(0), ClusterWide,
		"The most connections the node keeps open at once; further ones are closed when accepted."),
	effective("max.connections.per.ip", Int, maxInt, atLeast(0), ClusterWide,
		"The most connections from one address; further ones are closed when accepted."),
	effective("max.connections.per.ip.overrides", String, "", nil, ClusterWide,
		"Exceptions to max.connections.per.ip as address:count, separated by commas."),
	effective("fetch.max.bytes", Int, "57671680", atLeast(1024), ReadOnly,
		"The most record bytes one Fetch response carries, whatever the client asks for. The first batch is returned even if it is larger."),
	effective("max.incremental.fetch.session.cache.slots", Int, "1000", atLeast(0), ReadOnly,
		"How many incremental fetch sessions (KIP-227) are remembered. Without a slot a consumer sends full requests."),
	effective("max.request.partition.size.limit", Int, "2000", atLeast(1), ReadOnly,
		"The most partitions one DescribeTopicPartitions response lists (KIP-966)."),
}
