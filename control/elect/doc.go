// Package elect decides who leads a partition, and what its state becomes when its replicas, its in-sync set or the nodes change:
// Kafka's PartitionChangeBuilder, with KIP-966's eligible leader replicas always on.
//
//	before ── targets (ISR, Replicas, Adding, Removing, Recovering) ──▶ Change.State ──▶ after, or "nothing changes"
//	                                                                        │
//	     reassignment completes ─▶ ELR is settled ─▶ a leader is elected ─▶ epochs rise
//
// The order of an election: the leader there is, if it is in the ISR and may lead; the ISR, in the order of the replicas; the ELR,
// if the ISR is empty; the last known leader, if both are empty; any replica, if the topic allows it. The last two are unclean: they may
// lose what was acknowledged, and their leader begins in recovery (KIP-704).
//
// It is pure: it knows neither the Image nor a clock, and is told who may lead.
//
// Invariants of what State gives:
//
//	E1  leader ∈ ISR ⊆ replicas, ELR ⊆ replicas \ ISR
//	E2  a new leader, none included, comes with a leader epoch one higher; every change with a partition epoch one higher
//	E3  a replica outside of ISR ∪ ELR comes to lead by an unclean election alone
//	E4  the ELR is empty while the ISR has the topic's least size
package elect
