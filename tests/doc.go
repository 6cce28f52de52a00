// Package tests runs real clients and log agents against a whole node, unmodified and over sockets.
//
// Nothing here is mocked: kcat, rsyslog, syslog-ng, librdkafka, kafka-python, kafkajs, @platformatic/kafka, franz-go and
// Apache Kafka's own producer, consumer and tools are what their registries ship, installed on first use by package
// harness. The same tests pass against Apache Kafka (RINGMILL_TEST_PEER=kafka), which is how they were proved.
//
//	benchpage_test.go  pages of ringmill bench in headless Chromium: wide and narrow, light and dark
//	kcat_test.go       codecs as stored, keys, headers, groups, offsets by time
//	agents_test.go     log lines through rsyslog and syslog-ng into two groups, over a kill -9
//	scripts_test.go    Python and JavaScript clients: the checks of compat/clients
//	java_test.go       Apache Kafka's verifiable clients, and its formatters of __consumer_offsets
//	collectd_test.go   metrics that collectd writes as JSON
//	franz_test.go      idempotent produce, cooperative groups, and a group over a kill -9
//	groups_test.go     KIP-848 groups of Apache Kafka's and franz-go's consumers: members come, go, are static, and
//	                   migrate from the classic protocol and back
//	share_test.go      share groups of Apache Kafka's console and verifiable share consumers, over kill -9
//	crowd_test.go      a benchmark: a classic group of 7,000 members
//	kafkadir_test.go   a directory that Apache Kafka wrote, opened in place; and both dump tools on every file
//
// Below it: protocol holds single requests against Kafka's answers, kafkatools every line that Apache Kafka's command line
// tools print; apps runs Kafka Streams, Kafka Connect and MirrorMaker; cluster runs several nodes as one; crash, eos and powercut
// end a node the hard way, faults and diskfaults a cluster, under load (package load), and let tools/ringcheck judge; compat scores public
// test suites on both servers side by side.
package tests
