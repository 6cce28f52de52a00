// Package cluster is a simulated cluster: nodes made of production code, clients, faults and judges. Run is one run of a seed.
//
// # What is real and what is made
//
//	real    control/quorum with etcd's raft, over its files; control/image; control/controller
//	        replicate.Partition and its Fetcher, with the wire's codecs in between; segment's logs and, in half of the runs
//	        under commit, a loop's journal, over their files
//	        segment/segmenttest: synced bytes survive, of the others any page may or may not, or be torn
//	made    clients: idempotent producers that never give up, some with acks=1; consumers; admins, who
//	        ask for producer ids and move partitions
//	        the goroutines, rings and connections of a node: *service files, one thread, the least that does what node does
//	        clocks that drift, disks that take their time, the network (package world)
//
// A sync takes a while. What a power cut in the meantime finds is the disk's business: what is synced gets there at the beginning or at
// the end. A node that a fault brings down ends at one of its next operations on the disk, so that a cut comes
// between the write and the sync, or in the middle of a change of names.
//
// # Phases
//
//	safety     clients work, faults strike, all of them drawn before the run begins; what is said and shown is judged at once
//	liveness   everything is healed, nothing new is sent; the cluster must become whole in time (whole)
//	judgement  what is left, beside what was said
//
// # Invariants
//
//   - R1: the quorum has one leader a term.
//   - R2: an index of the quorum's log holds one entry, on all nodes and for good; none is left out, no proposal is there twice.
//   - R3: after an index all nodes have the same image, and every entry fits the image before it.
//   - I1: an acknowledged record is below the high watermark, at its offset, and in the end in every replica's log there.
//   - I2, I4: an idempotent producer's records come once and in order, in each log and by their acknowledgements.
//   - I5, I12: what any replica shows below its high watermark, any consumer reads and any log has in the end at an offset is the
//     same: value, leader epoch and checksum.
//   - I6: a record that is sent after another was acknowledged gets a higher offset.
//   - I7: nobody shows what is not committed or cuts its log below its high watermark; under commit a leader's high watermark is not above
//     what any member of its in-sync set has on disk.
//     A member of the newest image's in-sync set has all that is committed.
//   - C3: who leads is in sync, and nobody in sync is fenced or shutting down.
//   - I8: a partition has one leader an epoch.
//   - I10: a consumer gets every offset once, in order, and is never told that what it read is gone.
//   - G: a log has a record at every offset.
//   - I13: what the controller answers is linearizable: no block of producer ids is given twice, or out of order in real time.
//   - whole: a healed cluster is whole within Options.Liveness.
//   - fail-stop: no error of a disk without a fault; assertion, panic: none at all.
//
// # Not simulated
//
// Under the policies interval and cache no node is killed: its controller could
// not know that what it had is still there. A clean stop is opened as an unclean one is, and clocks differ by minutes at most: a
// partition that was opened otherwise knows one batch of a producer, and refuses a retry of an older one (see segment's widenWindows).
// No transactions, groups, compaction, or changes of the quorum's members.
//
// The numbers are those of tools/ringcheck where both judge the same.
package cluster
