// Package api answers requests: one file an API key, so that a listing of this folder is the coverage report. A file
// NN_name.go holds the key's row of the table of served versions (table.go) and its handler. Nothing is advertised that
// has no row.
//
// It is not where requests come in (node), nor where state is kept: topics and configurations belong to control/image,
// groups to control/group, logs to segment. Handlers see the node through Broker and speak kmsg's types. What they decide
// themselves is what of a request is allowed, and how each version is told.
//
// # The life of a request
//
//	node: header read ─ Served: is the version answered?
//	   │no                                          │yes
//	   ▼                                            ├─ Produce, Fetch: the loops; ReadProducedBatch checks each batch
//	Unsupported: error 35 in the version's own      └─ all others, in a goroutine of their own:
//	layout, or nothing and the connection closes        Answer: kmsg decodes ─ handler ─ kmsg encodes ─ node: header, length
//	(VersionCure: what the log says about it)
//
// ApiVersions is the exception: its unknown versions are answered, in the layout of version 0, so Answer takes it itself.
// A handler runs in any goroutine and may wait; a connection has one under way at most.
//
// # Invariants
//
// P1. A handler never fails: what is wrong with a request is a code in its answer. Only bytes that are no request of the
// claimed version are an error, and cost the client its connection.
//
// P2. What a handler spends is bounded by the length of its request and of what exists, never by their product: what is
// named twice is answered once, and what has no such bound has a constant (autoCreatedMax, partitionsPerRequestMax,
// describedEntriesMax, configKeysMax, scramChangesMax, aclChangesMax, unsupportedBytesMax).
//
// P3. Codes, and the messages that people read, are those of Apache Kafka 4.1.1 as it was asked; the tests hold them.
//
// P4. A handler asks of each resource that it touches whether the client may do that with it (Request.may), or its row refuses the request
// whole (row.authorize). No other code decides who may do what.
//
// # Departures from Kafka
//
// Of topics that a Metadata makes, one whose name collides is INVALID_TOPIC_EXCEPTION, where Kafka says of any that it is not
// there yet.
//
// The node's own topics (__consumer_offsets, __transaction_state, __share_group_state) cannot be created, deleted or grown by
// clients.
//
// Fetch 0 to 3 are served; versions that are not get error 35 where their layout can carry it.
//
// Where Kafka answers UNKNOWN_SERVER_ERROR to input that is merely wrong (a null name without an id, an unknown operation,
// an empty name in DescribeTopicPartitions, too many new partitions, an empty salted password, too many SCRAM credentials), the answer is the code for that.
//
// AlterConfigs that names a resource twice is refused; Kafka never answers it. Of the features only share.version can be set to
// another level, since one is built of each of the others. DescribeQuorum tells of one voter where Kafka has its KRaft log.
//
// ListGroups is refused as long as one coordinator is not ready.
package api
