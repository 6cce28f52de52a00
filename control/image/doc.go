// Package image keeps what a node knows of topics, partitions, configurations, client quotas, SCRAM credentials, ACLs and the cluster:
// an immutable Image that anybody may read without a lock, the records that change it, and the Store that makes records durable.
//
// It is not a quorum and elects nobody: where records come from (an administrator's request, a raft log) is its caller's
// business. It knows no clock and makes no random number; topic ids are given to it.
//
// The life of a change:
//
//	CreateTopics ── records ──▶ Store.Apply ── one RecordBatch, fsync ──▶ new Image ──▶ published by the caller
//	                                │ refused: nothing was written            │
//	                                ▼                                         ▼
//	                           *RecordError                    old Images stay valid for whoever holds them
//
// A cluster has no Store: its records are entries of the quorum's log (AppendRecords, ReadRecords), its Image now and then one of
// the quorum's snapshots (AppendSnapshot, ReadSnapshot), and what a new Image means to a node is a Diff. There an Image knows the
// registered nodes (Broker) and who holds and leads a partition (Topic.State), which a standalone node's does not.
//
// An Image shares all that did not change with the one before it: adding a topic to 10,000 copies two hash shards, one chunk
// of the sorted order and the spines over them, some kilobytes (shards.go, ordered.go); changing the state of one partition of
// 100,000 the same and one chunk of states (states.go).
//
// A Store belongs to one goroutine at a time. An Image, and every *Topic and map that it gives, is read-only and may be
// shared freely.
//
// Invariants:
//
//	I1 one identity     a name has one id and an id one name, for as long as the topic exists
//	I2 three views      ByName, ByID and Topics hold the same *Topic
//	I3 growth           a topic's partition count never falls
//	I4 replay           replaying a log's records gives an Image equal to the one that Apply returned
//	I5 one step         the records of one Apply are one batch: after a crash all of them are there, or none
//	I6 version          Version is the log's next offset, and never falls, compaction and restart included
//	I7 leader epochs    a topic's leader epoch never falls, and is 0 when the topic is created
//	I8 partitions       leader ∈ ISR ⊆ replicas ⊇ ELR, ELR and ISR have no node in common; no epoch falls, the partition epoch rises
//	                    with every change, the leader epoch with every other leader
//	I9 broker epochs    a registered node's broker epoch never falls, and rises with each incarnation
//
// FORMAT.md describes the file.
package image
