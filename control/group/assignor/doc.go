// Package assignor computes which member of a consumer group shall own which partition (KIP-848): the coordinator's own
// assignors, range and uniform, to the semantics of Apache Kafka 4.1.1's group-coordinator module, and the arithmetic of
// sets of partitions that it and its caller need.
//
// It is pure: a Group comes in, the members' assignments go out. It keeps nothing, knows no epochs, and does not say when a
// member may have what it shall have: the caller reconciles.
//
//	Group{members, what each subscribes to, what each was to own} ──> Range | Uniform ──> Assignment of each member
//
// # Invariants
//
//	A1  each partition of a topic that somebody subscribes to goes to exactly one member, which subscribes to it
//	A2  uniform: if all subscribe to the same topics, the members' counts of partitions differ by at most one
//	A3  uniform: a partition moves only if balance or subscriptions make it
//	A4  range: of each topic a member gets partitions that follow each other, and the counts differ by at most one
//	A5  the same Group gives the same assignments
//
// # Departures from Kafka
//
// Where Kafka follows the order of its hash tables (which of several equal members gets one more partition), members go by
// id and topics by id. A partition that two members were to own stays with the first.
package assignor
