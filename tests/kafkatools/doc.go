// Package kafkatools runs Apache Kafka's command line tools against a node and holds every line that they print to what
// they print with Apache Kafka.
//
// A file of testdata is a transcript: commands as a user types them, without the option that names the server, and below
// each what it prints.
//
//	$ kafka-topics --create --topic {a} --partitions 2     a command; {a} stands for a name that no other test uses
//	< key:value                                            a line of its standard input
//	| only PATTERN                                         of what it prints, the lines that match a regular expression count
//	| sort                                                 in this order, where the tool's is that of its hash tables
//	| replace PATTERN WITH TEXT                            what differs from run to run
//	Created topic {a}.                                     a line of its standard output
//	! Error: …                                             a line of its standard error; stack traces are left out
//	[1]                                                    its exit status, if it is not 0
//	@ join {group} {a}                                     something that no tool does: actions_test.go
//
// Spaces count as one, the server's address is {bootstrap}, and identifiers and times are {id}, {uuid} and {time}.
// The answers are Apache Kafka 4.1.1's own, written by
//
//	RINGMILL_TEST_PEER=kafka go test ./tests/kafkatools -update
//
// Those of testdata/twodirs are for a node with two log directories, those of testdata/threenodes for a cluster of three nodes, and those of
// testdata/fournodes for one of three with a fourth that joined. Nodes are
// ended and started again there, and states of partitions are waited for (`@ await TOPIC PARTITION LEADER REPLICAS ISR`). A command of theirs
// that only reads is asked again while its answer is another than it should be: nodes follow their controller each at its own pace.
//
// All tools run in one Java process: see harness.Tools.
package kafkatools
