// Package share is the share-partition half of share groups (KIP-932, queues) as pure state machines, to the semantics of
// Apache Kafka 4.1.1. Who is a member of a share group, and which partitions a member is assigned, control/group says.
//
// # The share coordinator
//
// A StateCoordinator keeps what has become of the records of share partitions: one coordinator for each partition of
// __share_group_state. It has one owner. Operations, time and the outcomes of appends come in; results, records to be written
// and what may be pruned go out as StateEffects:
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
package share
