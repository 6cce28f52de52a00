// Package config is the node's one table of properties, and what is made of it: the configuration of a node and of each
// topic, the answers to DescribeConfigs, and the reference page docs/configuration.md.
//
// It is not a registry that other rooms add to, and it acts on nothing: it opens no socket and, but for the file that it
// is told to read, no file. What a property does is the business of the room that reads the field.
//
// # The table
//
// Names, types, defaults and bounds are those of Apache Kafka 4.1.1, all of them, so that its server.properties works as
// it is; the prefix ringmill. marks what Kafka has no name for. A row either has effect, and then a Doc says which, or is
// accepted without effect, and then a Reason says why. The tests hold each row against what Kafka's own ConfigDef says.
//
//	table_network.go      who this node is, where it listens, what one client may take
//	table_log.go          topics as they are created, and the partitions' files
//	table_group.go        producers' state, groups of all protocols and their coordinators
//	table_groupoverride.go, clientmetrics.go
//	                      what a group and a subscription to clients' metrics may set
//	table_quota.go        what quotas are measured over
//	table_ringmill.go     ringmill's own
//	table_topic.go        what a topic may override; each names the broker property that stands in (its synonym)
//	table_cluster.go      how nodes find each other, and how partitions are copied between them
//	table_security.go, table_storage.go, table_coordinator.go, table_process.go
//	                      what is accepted without effect, by reason
//	retired.go            names of older Kafkas and of plug-ins, which are not in the table
//
// # The life of a value
//
//	file < environment < --listen, --data, --join < --set        (Source; the later wins)
//	   └─ place: is the name known? else *Error with the nearest one
//	        └─ check: type and bounds of the winners, else *Error with key, value, place and what is allowed
//	             └─ build: what depends on several (listeners, log directories, bounds between properties)
//	                  └─ Config: immutable, typed fields
//	                       ├─ WithDynamic: values set at run time for this node or all nodes, laid over (KIP-226)
//	                       └─ Topic: the topic's own values > the broker's, converted from hours or minutes > the default
//
// Load runs once at start. A Config and a TopicConfig may be read from any thread.
//
// # Invariants
//
// C1. A text that reached a field passed its row's type and Check (fill panics with BUG otherwise).
//
// C2. A setting that asks for protection which is not built (SSL, SASL, an authorizer of one's own) is refused, never ignored.
//
// C3. A property without effect that somebody set is in Load's notices, by name, place and reason.
//
// C4. Secrets (type PASSWORD) are in no message and no description.
//
// # Departures from Kafka
//
// Unknown names are errors and not warnings: a typing mistake in log.retention.ms costs data. node.id, process.roles and
// listeners have defaults, so that a node starts without a file, and on the loopback address, since nothing protects it
// elsewhere yet. log.dir's default is not used: data is under ringmill.data.dir. Files are read as UTF-8, where Java
// reads ISO-8859-1: the difference shows only in bytes above 127. compression.type is accepted with any of Kafka's values,
// since clients create topics with them, and batches are stored as they were produced; the table says so.
package config
