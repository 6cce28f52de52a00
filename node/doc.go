// Package node is the only room that knows all the others: it runs what they plan. It owns the loops and their
// threads, sockets, segment files, journals, goroutines, the configuration in force, metrics and the HTTP listener.
// Algorithms that need a table test of their own live below: in segment, replicate and control.
//
// # One turn of a loop
//
//	Poll ─▶ events: bytes in, sockets writable, reads and syncs done ─▶ mailbox ─▶ timers
//	  ▲        │ frames are dispatched; produces are planned, fetches are planned and queued
//	  │        ▼
//	  │     flushAppends: each partition's run to its segment, all runs once to the journal, then Written
//	  │     syncer.start: one round of syncs in flight for everything written ─▶ Synced ─▶ answers, fetches woken
//	  └──── flushConns: answers out, sendfile from the page cache
//
// # Who owns what
//
// A connection, a partition and every buffer belong to one loop; nothing of theirs has a lock. Between loops, and
// from goroutines to loops, there are only messages in a bounded Mailbox. A Produce or Fetch that concerns partitions
// of several loops is split into items or shares that travel to the owners and back; the bytes stay where they were
// received. Everything else is answered by a goroutine a request (package api), a connection having one under way at
// most. The coordinators of a kind are one goroutine's (coordinatorService): those of groups (groupService), of transactions
// (txnService) and of the states of share groups (shareStateService). The share partitions are another's (shareService): a loop
// hears of share groups only when it is asked for a plan or a high watermark.
// Compaction is one goroutine's too (cleaner); whoever opens a log's files by name keeps them from being swapped meanwhile
// (partition.named, holdNames).
//
// One goroutine reads and checks what the disks have (scrubber); what turns out to be damaged, lost or on a failed disk is given up before
// the controller, and fetched again (lackingReplicas).
//
// A move of a log to another log directory is a goroutine's (logMove): it copies the files while the log is served, and holds the
// partition (partition.held) for the moment in which the two directories change names.
//
// A batch of a transaction that is not open in its partition waits there for the coordinator's word (verification); the
// others of its producer wait behind it, those of other producers do not. A marker is an append like any other; what a
// coordinator let in before it sent the marker is told by their order (txnOrder), however they overtake each other.
//
// What a client may take is counted in one place for all loops (clientQuotas), under a lock where somebody has a quota and for one
// load where nobody has. One that takes more is answered at once, told how long to wait, and its connection is muted: armed for no
// receive until a timer of the loop fires (throttle.go).
//
// A node that is one of several has a cluster beside its loops: one goroutine owns its member of the metadata quorum and, while that
// leads, the controller (quorumService, controllerService); one makes what the node does follow the newest Image and publishes it
// (follower); one keeps the node registered (brokerLifecycle). Its loops run before it belongs to a cluster, since other
// nodes reach it through them; clients are let in when it has followed the metadata (Node.serving).
//
// Nothing on a loop blocks: files are opened, rolled, read cold and synced in the background or on the ring; an append
// is inline only where the file system would hand it to a worker thread anyway and it is small (logDir.inlineAppends).
//
// # Stages
//
// Each request carries stamps (requestTimes; a produced batch has its own, itemTimes), which cost a few additions: the loop's clock is read
// at the beginning of a turn (mono), after appends and after sends (instant), not a request. They split the request's time without gaps:
//
//	received ┤ queued ┤ [handled] ┤ [mailbox] ┤ [purgatory] ┤ appended ┤ synced ┤ replicated ┤ [mailbox] ┤ sent
//	         └arrived            └ dispatch                 └ planned  └ written└ round over └ finished  └ complete   └ total
//
// Each loop has histograms of its own (stageTimes), plain integers that it copies when it is sent a message by who wants to see them
// (stageScrapes). docs/metrics.md defines the stages.
//
// # Invariants
//
//   - N1 answers leave a connection in the order of its requests (pipeline).
//   - N2 a batch's bytes are not reused before they are in the segment and, if they go into the journal, there.
//   - N3 a round of syncs reports nothing before the journal's and the segments' syncs of the round are both done.
//   - N4 after the first failed write (but for a full disk) or sync in a log directory, nothing is acknowledged from it.
//   - N5 a descriptor is closed only when no operation refers to it (Conn.ops, segmentFile.refs). When a loop ends,
//     everything that it lent is back (Loop.outstanding; held by builds with the tag invariants).
//   - N6 what one client makes the node hold is bounded: inFlightMax requests, outBytesMax of answers and one more, one
//     cold request of coldBytesMax, and its share of the loop's request memory, which is charged as bytes arrive. What all
//     of them make it hold is bounded too: requests wait in the sockets, and who does not read its answers is disconnected
//     when others need the memory (answerMemory).
//
// # Memory
//
// A loop's bounds: provided buffers 8 MiB, request memory (ringmill.request.memory.bytes over the loops, and beyond it one
// request of socket.request.max.bytes, so that large ones cannot hold each other up), free slabs slabKeep, cold-read scratch
// 2 MiB, mailbox 2 MiB, loaded indexes indexBytesMax, the journal's plan 68 KiB, and kept for reuse outKeepMax buffers of outBufferMax (16 MiB) and
// pendingFreeMax answers of 4 KiB (4 MiB). The node's: answerBytesMax of answers, growingMax of those that grow with what the
// node has in the making, decodeBytesMax of cold requests decoded at once, what is remembered of clients
// with quotas (quota.MemoryMax), what the coordinators of a kind may hold together
// (memory.Bound): groups and offsets, transactional ids and their partitions, the states of share groups; of share groups also their
// records in flight (shareHeldMax), sessions (sharePartitionsMax) and reads
// (shareReadBytesMax), and while it cleans the cleaner's map of keys, one and a half times log.cleaner.dedupe.buffer.size, a batch, its records
// (wire.DecompressedMax) and 1 MiB to write. What disks are asked to read ahead of readers (fileReaders) is the page cache's, not the node's.
package node
