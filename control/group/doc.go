// Package group is the group coordinator as a pure state machine: one Coordinator for each __consumer_offsets partition, to
// the semantics of Apache Kafka 4.1.1's group-coordinator module, for groups of the classic and of the consumer protocol
// (KIP-848), and for share groups (KIP-932).
//
// It is membership (JoinGroup, SyncGroup, Heartbeat, LeaveGroup; ConsumerGroupHeartbeat,
// ShareGroupHeartbeat), committed offsets (OffsetCommit,
// TxnOffsetCommit, OffsetFetch, OffsetDelete) and their administration (DescribeGroups, ConsumerGroupDescribe,
// ShareGroupDescribe, ListGroups, DeleteGroups, {Describe,Alter,Delete}ShareGroupOffsets), the expiry of both, and the records that a restart is survived with. It is not the log that these records
// stand in, nor a judge of permissions, nor what a share group has delivered to whom, which the share coordinators and
// the partitions' leaders keep. A classic group's partitions are
// assigned by its leader, a consumer group's and a share group's here (package assignor).
//
// # Calls
//
// A Coordinator has one owner. Requests, time and the outcomes of appends come in; answers, records to be written and the
// time of the next Tick go out as Effects:
//
//	Load … Load, Loaded ──> Handle ──┬─> Reply                          (nothing to be written)
//	                        Tick     └─> Append ──> Appended ──> Reply  (told when durable, or that it failed)
//
// A share group's change may ask the share coordinators for something: a StateCall, whose answer comes by StateAnswered.
//
// The owner calls Tick when Effects.NextTickMS has come. That may be at once: an initial rebalance delay of 0 is a timer
// too. It writes the Appends in the order of their ids. Split and Merge serve requests that name groups of several shards.
//
// # States of a classic group
//
//	                first member joins
//	       Empty ───────────────────────> PreparingRebalance <────────────┐
//	        │ ^                             │  ^         │                 │ a member joins anew, leaves, is not heard
//	        │ └─ no member is left ─────────┘  │         │ all joined, or  │ of, or does not sync; other metadata; the
//	delete, │                                  │         │ the rebalance   │ leader joins again; the assignment could
//	expiry  │                      as right ───┤         │ timeout is over │ not be written
//	        v                                  │         v                 │
//	       Dead ──> (gone)                     └── CompletingRebalance ────┤
//	        │                                            │                 │
//	        └─ the tombstones could not be written:      │ the leader's    │
//	           Empty again                               v assignment is   │
//	                                                   Stable  durable ────┘
//
// PreparingRebalance holds the JoinGroups until the next generation begins; CompletingRebalance holds the SyncGroups until
// the assignment is durable. A group that only has offsets committed to it is Empty and without a protocol type: simple.
//
// # Life of a classic group's member
//
// A dynamic member's first JoinGroup (from version 4 on) gets an id and MEMBER_ID_REQUIRED; the id is pending for one
// session. With it, it joins, waits, is told the generation, syncs, waits, is told its assignment, and sends heartbeats
// until it leaves, or is not heard of for session.timeout.ms, or does not join a rebalance in time, or joins and does not
// sync. A static member (KIP-345) is known by its instance id: when it joins without a member id it gets a new one, its old
// one is fenced, and a stable group goes on as it was.
//
// # Consumer groups
//
// A consumer group has three epochs. The group's rises with each change of members, of what they read, or of the topics. The
// targets' is that of the last assignment that was computed. A member's is the one that it has got to:
//
//	                       ┌────────── the target is for a newer epoch ──────────┐
//	                       v                                                     │
//	joins (epoch 0) ──> has something to give up? ──yes──> unrevoked ──it says that it gave it up──┐
//	                       │ no                              │ not within its rebalance timeout     │
//	                       v                                 v                                      v
//	        do others still own what it shall have?        fenced                     (the same question again)
//	              │ yes               │ no
//	              v                   v
//	          unreleased ────────> stable: it has its target
//	              each heartbeat asks again
//
// Only the member's own heartbeat moves it, and a partition is given to it only when nobody owns it: what is assigned or not
// yet revoked is owned. A member that leaves (-1), is silent for a session, or does not revoke in time is fenced: its
// partitions are free. A static member that leaves for a while (-2) keeps them for who joins with its instance id.
//
// The topics are given by SetTopics; each group looks at them at its next heartbeat and keeps a hash of those that it reads.
// Regular expressions are resolved after the answer to a heartbeat, all of a group together, at most every ten seconds.
//
// A member of the classic protocol can be in a consumer group: its JoinGroup is such a heartbeat, its epoch a generation
// (classicmember.go). The first member of the consumer protocol that joins a classic group of consumers makes it a consumer
// group, and when the last one goes it is a classic group again (upgrade.go, downgrade.go). The offsets stay.
//
// A change of a consumer group touches records by name; their values are made when they are written. If an append fails, its
// names are written anew, a second later or with the next change, and who is told of a later change is told after that.
//
// # Share groups
//
// A share group has the three epochs too, but nobody has to give anything up: a member goes to its target at its next
// heartbeat. What differs is that a partition is assigned once the share coordinators have a state for it:
//
//	      a heartbeat of somebody                    the call's answer
//	new ──who subscribes to it──> initializing ──────────────────────> initialized ──next heartbeat──> new epoch, assigned
//	 ^                              │      ^                               │
//	 │                              │      └── its offset is altered ──────┤ (it stays initialized)
//	 │        refused: the next heartbeat asks again                       │ the group or its offsets are deleted
//	 └──────────────────────────────┴───────────── deleting <──────────────┘
//
// A topic that is gone is taken out at once; its states the share coordinators delete by themselves. A group stays when it
// is empty, until it is deleted.
//
// # Records
//
// OffsetCommitKey 1 with OffsetCommitValue 4 (1 if the commit has a retention time), GroupMetadataKey 2 with
// GroupMetadataValue 3, byte for byte as Kafka 4.1.1 writes them; older values are read. A new group's first record, the
// record of a generation with its assignment, that of a group that became empty, a static member's new id, commits and
// tombstones are written. Answers that tell of something written wait until it is durable, and offsets are fetched only
// once they are. A restart knows of a classic member's protocols only the chosen one, as in Kafka.
//
// Of a consumer group: the group 3, a tombstone 4 where Kafka before 4.1 kept topics, a member 5, the targets' epoch 6, a
// target 7, where a member stands 8, a regular expression with its topics 16; of a share group: a member 10, the group 11,
// the targets' epoch 12, a target 13, where a member stands 14, what is initialized 15; all in version 0, as Kafka 4.1.1
// writes them.
//
// # Offsets of transactions
//
// A TxnOffsetCommit's records are an Append with a Txn: the caller writes them as a batch of that producer's transaction, once
// the transaction's coordinator says that it is open, and refuses them otherwise. They count when TxnEnded tells of a commit
// marker, and by their place in the log: a plain commit or tombstone that came after them stays. Until then an OffsetFetch
// with RequireStable gets UNSTABLE_OFFSET_COMMIT, others get what was committed before. LoadTxn and LoadTxnEnd are the replay.
//
// # Bounds
//
// Config bounds groups, members' and offsets' memory, and appends under way. One timer a group and one a member or pending
// id, in one heap; a heartbeat moves its deadline without touching the heap. A join costs the same in a group of any size,
// a rebalance is linear in the members. Expiry looks at a bounded number of offsets a Tick. A static member's rejoin writes
// the whole group, which is Kafka's format's price.
//
// # Invariants
//
// Cheap ones are checked after every call, the rest under the build tag invariants.
//
//	G1  an Empty or Dead group has no members
//	G2  no more joins or syncs are awaited than there are members, syncs only within a generation
//	G3  the leader is a member; only a group without members has none
//	G4  a generation has a protocol
//	G5  a rebalance, and the wait for syncs, has a timer that ends it
//	G6  a member has a session that runs, or waits for an answer
//	G7  the list, the maps and the counts of members agree
//	G8  the votes for protocols are those of the members
//	G9  an offset is stored, under way or part of an open transaction, and is counted
//	M1  no partition is owned by two members, or the target of two
//	M2  a consumer group has nothing of the classic protocol
//	M3  no member and no target is ahead of the group's epoch
//	M4  the state is what epochs and members make it
//	M5  the counts of members, topics, expressions and protocols agree
//	M6  a member that is unrevoked has something to revoke, or left for a while
//	M7  a member of a consumer group has a session that runs
//	M8  a member that is stable in the targets' epoch has its target
//	S1  a share group has nothing of the other protocols
//	S2  no member and no target is ahead of the group's epoch
//	S3  the state is what the members make it
//	S4  subscriptions are counted exactly
//	S5  a member that is in the targets' epoch has its target
//	S6  a member of a share group has a session that runs
//	S7  a topic that is initialized is not being deleted, and has a name
//	C1  memory and waiting requests are counted exactly; what a coordinator takes is told to its memory.Bound at the end of each call
//	C2  the timer heap is in order, and no timer is due before its place in it
//
// Nothing that leaves the coordinator follows the order of a map, and member ids come from the seed: the same calls give
// the same effects.
//
// # Departures from Kafka
//
//   - Whoever waits is answered. Where Kafka forgets a request (a member that leaves while it waits for its assignment, a
//     second JoinGroup or SyncGroup of a member that waits) it is told UNKNOWN_MEMBER_ID or REBALANCE_IN_PROGRESS.
//   - A protocol that is listed twice counts once; Kafka's broker is left with a group that never completes a rebalance.
//   - A group is Dead, and answers COORDINATOR_NOT_AVAILABLE, while its tombstones are under way; in Kafka a new group of
//     the same name may begin meanwhile.
//   - Of two protocols with equal votes the oldest member's choice wins, and the oldest member follows a leader that is
//     gone; in Kafka the order of a hash table decides both.
//   - A heartbeat, and an OffsetFetch without RequireStable, does not wait for what others have under way.
//   - A static member of a stable group whose rejoin is under way when a rebalance begins is answered by that rebalance, and
//     not with the generation that is over.
//   - A group of static members none of which rejoins is waited for again for at least a second, however short the
//     rebalance timeout.
//   - ConsumerGroupDescribe and ListGroups tell of what is under way too.
//   - A consumer group's records that an append could not write are written later; in Kafka all that follows fails too.
//   - Whether all members read the same is seen by what they read, not by how they subscribe.
//   - A static member that joins with the member id of another is FENCED_INSTANCE_ID; in Kafka the other's partitions are
//     lost sight of.
//   - A share group begins a new epoch for initialized partitions that nobody has only if somebody subscribes to them; in
//     Kafka 4.1.1 one with partitions initialized that nobody reads any longer begins one at every heartbeat.
//   - An initialization of which some partitions failed counts for the others; after a restart it is asked for at once and
//     not ten seconds later.
//   - AlterShareGroupOffsets has effect, and tells of partitions that could not be altered: Kafka 4.1.1 loses the topics
//     that exist from every request, and answers without them.
//   - The bounds above; at most 1,000 protocols a member (INVALID_REQUEST); a group that is named twice in one
//     DescribeGroups is described once, and all its offsets are told once in one OffsetFetch.
package group
