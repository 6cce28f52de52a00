// Package cluster is a simulated cluster: nodes made of production code, clients, faults and judges. Run is one run of a seed.
//
// # What is real and what is made
//
//	real    control/quorum with etcd's raft, over its files; control/image; control/controller
//	        replicate.Partition and its Fetcher, with the wire's codecs in between; segment's logs and, in half of the runs
//	        under commit, a loop's journal, over their files
//	        segment/segmenttest: synced bytes survive, of the others any page may or may not, or be torn
//	        control/txn and control/group on the leaders of __transaction_state and __consumer_offsets, whose records, and whose markers,
//	        are in simulated partitions
//	made    clients: idempotent producers that never give up, some with acks=1; consumers; admins, who
//	        ask for producer ids and move partitions; in half of the runs transactional producers of both kinds (transaction.version),
//	        instances of which die in the middle or live on when another one has followed, EndTxns that come again much later,
//	        a read_committed consumer, members of a group, of either protocol, that commit what they have read, some of it again much
//	        later, and members of another that make a record of each record and commit both in a transaction
//	        the goroutines, rings and connections of a node: *service files, one thread, the least that does what node does
//	        clocks that drift, disks that take their time, the network (package world)
//
// A sync takes a while. What a power cut in the meantime finds is the disk's business: what is synced gets there at the beginning or at
// the end. A node that a fault brings down ends at one of its next operations on the disk, so that a cut comes
// between the write and the sync, or in the middle of a change of names.
//
// A disk may be lost: once in a run, where no other can be missed, a node comes back under its id with an empty log directory, or with nothing
// at all. It is then none of the voters any more, joins as a learner that gets a snapshot, and an administrator removes the voter that it was
// and adds the one that it is. In other runs voters leave and come back. Until the newest image has such a node out of an
// in-sync set it need not have what it promised there.
//
// Or, in other runs, a node comes back with log directories empty, one of two or all, and goes on without (ringmill.missing.data=begin): what it had
// there it tells the controller itself, by the list of control/lacking, a few replicas a heartbeat, and what is in the other directory counts on. In most of
// these runs it is one without which an in-sync set is too small, is killed while it begins its logs anew or when it has made them, before the controller
// knows, and then the one who alone has what it is eligible to lead for is down for longer.
//
// Some faults are aimed: chance alone seldom meets the moment in which they may do harm. From a time that the seed draws they wait for a node to
// have cut its log, and crash it, or for one to be proposed for an in-sync set, which loses its logs while the proposal is on its way. Where there
// are transactions they wait for a coordinator whose next in line has records that another in sync lacks, and take it away, and then for who
// comes to coordinate with such records, and take that away too, once it has read them; or for a producer that is about to commit offsets in its
// transaction, whose client stands still for longer than its member's session. Runs with these have few other faults, no messages that
// are lost, and at least three replicas or transactions that outlive a session: what they aim at takes clients that get something done.
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
//   - I3: a read_committed consumer sees no record of a transaction that was never to be committed or that its producer knows to be aborted,
//     none that was definitely refused, and in the end what the markers in the logs say.
//   - I9: no two members of a group have a partition in one epoch; a committed offset was to be committed, is not less than one that was
//     acknowledged or told before, and all below it was given to some member.
//   - I11: in the end a transaction is there as a whole or not at all, and as a whole if its producer was told so; one visible record was
//     made of each record by the group that makes some.
//   - I13: what the controller answers is linearizable: no block of producer ids is given twice, or out of order in real time, and
//     who asks where the next one begins is not told of one that was given before.
//   - whole: a healed cluster is whole within Options.Liveness; no transaction is open, the last stable offsets are the
//     ends of the logs, and groups have committed all records.
//   - fail-stop: no error of a disk without a fault; assertion, panic: none at all.
//
// # Not simulated
//
// Under the policies interval and cache no node is killed: its controller could
// not know that what it had is still there. A clean stop is opened as an unclean one is, and clocks differ by minutes at most: a
// partition that was opened later knows one batch of a producer, and refuses a retry of an older one (see segment's widenWindows).
// Clients of a transaction.version below 2 do not send an EndTxn twice: by their protocol a late one may end the next transaction.
// No share groups, no compaction.
//
// What lies in package node between the state machines is written anew here, as small as it can be, for it owns goroutines and loops:
// shard.go stands for node/coordinators.go and node/shard.go, coordinate for node/follow.go, losses.go for node/lacking.go and noteLost, groupservice.go for node/groups.go, txnservice.go
// for node/txns.go and node/txnmarkers.go, txnverify.go for
// node/txnverify.go, node/remotecalls.go (without its batches: a request each) and the way of a batch through node/partition.go. A fault
// in one of those is not found here; a rule that they have to keep is.
//
// The numbers are those of tools/ringcheck where both judge the same.
package cluster
