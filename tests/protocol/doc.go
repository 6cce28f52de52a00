// Package protocol holds a node against the answers that Apache Kafka 4.1.1 gives, one socket and one request at a time.
//
// No client library stands between a test and the wire: requests are laid out by kmsg, sent by hand, and every value of
// the answer that a client relies on is compared. Each expected value was proved against Apache Kafka itself:
//
//	RINGMILL_TEST_PEER=kafka go test ./tests/protocol
//
// starts one and must pass. Where ringmill answers otherwise on purpose, the row says so with both values and the reason
// ([departure]); there are few, and each makes more clients work, never fewer.
//
//	apiversions_test.go  what is advertised           groups_test.go       classic groups: join, sync, fence
//	metadata_test.go     topics and brokers           offsets_test.go      what groups commit
//	topics_test.go       create, delete, grow         grouptools_test.go   describe, list, delete groups
//	configs_test.go      describe and alter           fetch_test.go        limits, waits, positions
//	produce_test.go      what is refused, and how     sessions_test.go     incremental fetch sessions
//	records_test.go      rules that look into records listoffsets_test.go  offsets by time, leader epochs
//	codecs_test.go       stored as produced           oldsarama_test.go    a conversation that Kafka 4 ends
//	idempotent_test.go   sequences and epochs         hostile_test.go      input that no client sends
//	compaction_test.go   what is left, and reached    deleterecords_test.go  offsets that are cut off
//	quotas_test.go       quotas set and told of       throttle_test.go     clients over their quotas
//	admin_test.go        what tools ask of one node   sharegroups_test.go  share groups: members, mismatches, offsets
//	versions_test.go     each version of each key, whole answers in testdata/versions
//
// The reports of public faults that a test keeps from happening here are named beside it, as owner/repository#number.
package protocol
