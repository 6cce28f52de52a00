// Package apps runs whole applications of Apache Kafka's ecosystem against a node: Kafka Streams, Kafka Connect and
// MirrorMaker, as their jars come from Maven, each with its strictest guarantees.
//
//	streams_test.go   a word count with exactly-once: every number of every word once, over kill -9 of node and application
//	connect_test.go   a file through a source and a sink connector with exactly-once: the same file, over the same endings
//	mirror_test.go    topics, records, groups: from a node, and from Apache Kafka
//
// The node and the application are ended by kill -9 in turn. RINGMILL_TEST_KILLS is how often each; make soak sets it high.
package apps
