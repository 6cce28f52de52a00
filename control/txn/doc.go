// Package txn is the transaction coordinator as a pure state machine: one Coordinator for each __transaction_state
// partition, to the semantics of Apache Kafka 4.1.1's TransactionCoordinator with transaction.version 2.
//
// It is transactional ids and their producers' ids and epochs (InitProducerId), the partitions of open transactions
// (AddPartitionsToTxn, AddOffsetsToTxn), their outcome (EndTxn, timeouts), the markers that tell it to the partitions, and
// what administrators see of it (DescribeTransactions, ListTransactions). It is not the log that its records stand in, nor
// a writer of markers, nor the judge of offsets that a transaction commits: control/group holds those until the marker.
//
// # Calls
//
// A Coordinator has one owner. Requests, time and the outcomes of appends and markers come in; answers, records and markers
// to be written and the time of the next Tick go out as Effects:
//
//	Load … Load, Loaded ──> Handle ──┬─> Reply                               (nothing to be written)
//	                        Tick     ├─> Append  ──> Appended ──> Reply      (told when durable, or that it failed)
//	                                 └─> Markers ──> Marked (each partition)
//
// # States of a transactional id
//
//	           InitProducerId                 a partition or a group is added
//	(none) ───────────────────> Empty ───────────────────────────────────────> Ongoing <──────┐
//	                              ^  │                                          │     │        │ added
//	              InitProducerId  │  └ EndTxn 5, abort ──> PrepareAbort <───────┘     │        │
//	                              │        (of nothing)        │     EndTxn, timeout, v        │
//	                              │                            │     fence     PrepareCommit   │
//	                              │     all markers are durable v                     v        │
//	                              └──────────────────── CompleteAbort          CompleteCommit ─┤
//	                                                           └───────────────────────────────┘
//
// Every change is a record first; until it is durable, and while markers are written, clients are told
// CONCURRENT_TRANSACTIONS. An id that is not used for a week is forgotten with a tombstone (Dead).
//
// # Versions
//
// A client of transaction version 2 (KIP-890: Produce 12, EndTxn 5, TxnOffsetCommit 5) never adds partitions: its node does
// with AddPartitionsToTxn 5. Each end gives its producer the next epoch, so that whatever is late carries an old one. A
// client before it adds its partitions and keeps its epoch. Both are served at once, also under one transactional id.
//
// # Invariants
//
// They are checked after every call, for the id that it was about.
//
//	T1  only an open or just decided transaction has partitions
//	T2  an open transaction has a start
//	T3  markers are missing only while the outcome is decided
//	T4  a decided transaction has markers, or the record that it is complete, under way or to be tried again
//	T5  who waits waits for something
//
// Nothing that leaves the coordinator follows the order of a map.
//
// # Departures from Kafka
//
//   - An addition of a node (AddPartitionsToTxn 4 and later) that comes before the transaction ahead of it is complete waits
//     for that, up to Config.WaitMS; Kafka's nodes ask again and again. Those that wait for one record go into the next together.
//   - Timeouts are measured with the monotonic clock; of a transaction that a restart finds open, the wall clock says how
//     old it is.
//   - A marker that a partition refuses with INVALID_PRODUCER_EPOCH counts as written: the partition has seen a later one.
//     In Kafka the transaction stays decided, and its producer locked out, until the coordinator moves.
//   - A new transactional id whose first record fails is forgotten.
//   - There is no two-phase commit (KIP-939), as in Kafka 4.1.
package txn
