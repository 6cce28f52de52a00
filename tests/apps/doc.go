// Package apps runs whole applications of Apache Kafka's ecosystem against a node and against a cluster: Kafka Streams, Kafka Connect,
// MirrorMaker and programs of Apache Kafka's client, as their jars come from Maven, each with its strictest guarantees.
//
//	streams_test.go   a word count with exactly-once: every number of every word once, over kill -9 of node and application
//	connect_test.go   a file through a source and a sink connector with exactly-once: the same file, over the same endings
//	mirror_test.go    topics, records, groups: from a node, from a cluster, and from Apache Kafka
//	copier_test.go    what a producer writes, copied in transactions by members of a group, and read by another's
//	servers_test.go   a node, or a cluster whose other nodes go on without the one that is ended
//
// The node and the application are ended by kill -9 in turn. RINGMILL_TEST_KILLS is how often each; make soak sets it high. All but
// the mirrors from and to Apache Kafka run against clusters of three nodes as well, Apache Kafka's with RINGMILL_TEST_PEER=kafka.
package apps
