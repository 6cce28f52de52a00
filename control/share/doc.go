// Package share is the share-partition half of share groups (KIP-932, queues) as pure state machines, to the semantics of
// Apache Kafka 4.1.1: what has become of each record in a group (Partition), what a member fetches (Sessions), and the share
// coordinator that keeps it all over restarts (StateCoordinator). Who is a member of a share group, and which partitions a member
// is assigned, control/group says. The log is not here, nor a clock: records come as the batches that were read, time as a
// number.
//
// # A record in a share group
//
//	                 Acquire: delivered, locked
//	Available ───────────────────────────────────> Acquired
//	    ^  ^                                        │ │ │
//	    │  └── released, lock over, session over ───┘ │ └── accepted ──────────────> Acknowledged ─┐
//	    │      (fewer deliveries than the limit)      │                                             │ the start
//	    └ of a restart: it was acquired, or never read└── rejected, gap, too many deliveries ──> Archived ─> moves on
//
// What a member says (Acknowledge, Release) is pending until it is in the log: the record is nobody's then, and goes back to
// its member, with its lock, if it could not be written. A lock that is over counts at once and is written behind.
//
// A Partition covers the records from its start to its next with runs of records that are alike. Changes that come while a
// write is under way go with the next. The start that is written is the one that holds when the write is durable, so that what
// is acknowledged is never delivered after a restart; what is not is, with as many deliveries as the log knows of.
//
//	BeginFetch ─> (the log is read) ─> Acquire ─> EndFetch
//	Acknowledge, Release, Tick ─> Write ─> Written ─> Done
//
// # A session
//
// A Session is what a member fetches, remembered between its requests, and counts them. It is of a connection that is there: what
// is opened behind a connection's end would stay for ever, and there may be few sessions. The caller ends what a session that has
// Ended waits for, and gives back what its member had acquired; a group without sessions needs no Partition in memory.
//
//	Connected ─> Fetch of epoch 0: opened ─> Fetch, Acknowledge of epochs 1, 2 … ─┬─ Remove, or another Fetch of epoch 0 ─> Ended
//	                                                                              └─ Disconnected ────────────────────────────^
//
// # The share coordinator
//
// A StateCoordinator keeps the states of share partitions: one coordinator for each partition of __share_group_state. It has
// one owner. Operations, time and the outcomes of appends come in; results, records to be written and what may be pruned go out
// as StateEffects:
//
//	Load … Load, Loaded ──> Handle ──┬─> Reply                          (nothing to be written)
//	                        Tick     └─> Append ──> Appended ──> Reply  (told when durable, or that it failed)
//
// A key (group, topic id, partition) is begun by Initialize with a snapshot, goes on with updates, gets a snapshot again after
// StateConfig.UpdatesPerSnapshot of them, and is ended by a tombstone. The log is not compacted, as updates add up: what lies
// below every key's last snapshot is pruned. One record of a key is under way at most; operations that come meanwhile wait.
//
// A state epoch numbers the beginnings of a key, a leader epoch its partition's leaders: of both an older one is fenced, also
// after a restart.
//
// # Invariants of a Partition
//
// They are checked at the end of every call.
//
//	S1  runs follow one another from the start to the next, without a gap
//	S2  the start is not done, but for what is pending
//	S3  a record is acquired by a member, and no other record has one
//
// And by random runs against a record-by-record model (partitionoracle_test.go): no record is delivered after its acceptance
// was reported, each one is delivered, and the start never passes one that is not done, unless the log's start did.
package share
