// Package assignor computes which member of a consumer group shall own which partition (KIP-848): the coordinator's own
// assignors, range and uniform, to the semantics of Apache Kafka 4.1.1's group-coordinator module, and the arithmetic of
// sets of partitions that it and its caller need.
//
// It is pure: a Group comes in, the members' assignments go out. It keeps nothing, knows no epochs, and does not say when a
// member may have what it shall have: the caller reconciles.
//
//	Group{members, what each subscribes to, what each was to own} ──> Range | Uniform | Simple ──> Assignment of each member
//
// # Invariants
//
//	A1  each partition of a topic that somebody subscribes to goes to exactly one member, which subscribes to it
//	A2  uniform: if all subscribe to the same topics, the members' counts of partitions differ by at most one
//	A3  uniform: a partition moves only if balance or subscriptions make it
//	A4  range: of each topic a member gets partitions that follow each other, and the counts differ by at most one
//	A5  the same Group gives the same assignments
//	A6  simple: each assignable partition of a topic that somebody subscribes to goes to at least one member, which
//	    subscribes to it, and to nobody else goes any; A1 is not its: several members may share a partition
//
// # Departures from Kafka
//
// Where Kafka follows the order of its hash tables (which of several equal members gets one more partition), members go by
// id and topics by id. A partition that two members were to own stays with the first. Simple, whose members make their own
// ids, goes over ids and names in the order of those tables, so that a group of either gets the same; what it keeps of the
// last assignment it goes over by topic id and partition. Where Kafka's has no member left for a partition, and fails, it
// goes to those with the fewest. A partition whose only holder no longer subscribes is free at once, not a rebalance later.
package assignor
