// Package segment keeps one partition's log: segments, indexes, leader epochs, producers, retention and recovery, in Apache
// Kafka's own file formats, and the journal that makes many logs durable at once. FORMAT.md describes every file.
//
// It is bookkeeping. The methods of Log do no I/O, know no clock and hold no lock: they take events and give plans, values that
// say which bytes belong where, and the owner, a loop of the node, carries them out and reports back. What must touch files
// (CreateLog, OpenLog, the Run methods of plans) is cold: it goes through the FS seam, may block, runs in any goroutine, and
// reads nothing of a Log but what its plan carries. It is no replica: leaders, in-sync sets and high watermarks are
// replicate's, and so is the question what to do about damage.
//
// # The life of a batch
//
//	CheckProducer ── duplicate, fenced or out of order: answered, never appended
//	NeedsRoll ────── PlanRoll → Run (cold) → Rolled: the active segment is sealed, a new one begins
//	Append ───────── offset and epoch are set in the batch's bytes; AppendPlan says where they go
//	write ────────── fails: Undo, and the log is as before
//	PlanFetch ────── [start, end) of a .log; near the end exactly, elsewhere by the sparse index, which may have to be
//	                 loaded first (LoadIndex → IndexLoaded), and headers read (Locate)
//	PlanFlush ────── Run (cold) → Flushed: on disk; the recovery point rises
//	PlanRetention ── DropSegments, DeleteSegments (cold): gone
//	PlanTruncate ─── Run (cold) → Truncated: a follower's log is cut where it parts from its leader's (truncate.go)
//	PlanClean ────── Start, Next (cold): a .cleaned segment → PlanSwap → Run (cold) → Cleaned; after the last one CleanDone:
//	                 every key below the job's Through comes once
//
// A transaction's marker is such a batch too (wire.AppendTxnMarker). From its first record to the moment when the high watermark
// has passed the marker it holds LastStableOffset back; if it was aborted, PlanAborted tells readers to skip it.
//
// # Offsets of a log
//
//	   deleted     sealed segments               active segment
//	..............|=============|=============|==================|
//	              ^ LogStartOffset      ^ RecoveryPoint           ^ LogEndOffset
//	                                    |<- scanned by OpenLog -->|
//
// # A follower's log
//
//	CheckReplicated ───── below the log's end, or of an earlier leader epoch: not appended
//	NeedsRollReplicated ─ PlanRollReplicated → Run (cold) → Rolled
//	AppendReplicated ──── offsets, epoch and times are the leader's; gaps stay; then as above
//	PlanTruncate ──────── PlanTruncateFully, where the logs have no offset in common; AdvanceStart follows the leader's log start
//
// # Damage
//
// What is bad above the recovery point is a torn tail: OpenLog cuts it. What is bad or missing below it is Log.Damage, with the first
// offset that may be missing: found by OpenLog, by the journal's replay (of a log opened with OpenOptions.Replicated; of another one
// that is an error), or by a scrub (PlanScrub, Run, Scrubbed). Nothing of it is changed. A node without other replicas goes on with
// what there is, and tells. One with other replicas truncates the log at Damage().Offset and fetches the rest again; until it
// has caught up it is not to lead. A damaged journal ends the start with *JournalError, or is made of no account by
// JournalReader.AcceptDamage; then that goes for all logs of the node.
//
// # Who may call what
//
// A Log and its Segments belong to one goroutine. Segment.BaseOffset, Segment.LogName and all methods of plans may be called
// from any. A plan is a value that stays good whatever happens to the log afterwards, but a RollPlan must be answered by Rolled
// or RollAbandoned before the next Append, and around a TruncatePlan nothing else of the log is under way.
//
// # Invariants
//
//   - one-active: there is always a last segment, it is the active one, and only it grows.
//   - contiguous: a sealed segment's NextOffset is the next one's BaseOffset; the active one's is the log end offset.
//   - dense-in-memory: every index entry that its file lacks is in memory; every batch appended since the log was opened that
//     is not yet visible is in the ring of recent batches.
//   - snapshot-after-index: what a producer snapshot has below it, the .txnindex files have too, and durably.
//   - one-cleaner: between PlanSwap and Cleaned nothing else takes segments out of the log, and no file of theirs is opened by name.
//   - undo-exact: Append and then Undo leave the bookkeeping as it was, but for memory.
//   - recovery-prefix: below the recovery point batches and sealed indexes are on disk, and the active segment's index files,
//     cut at the recovery point, are right or missing.
//   - no-offset-twice: an offset below the recovery point is never given out again, whatever became of its record, but by a truncation.
//   - never-silent: bytes that are cut, and bytes that are damaged, are in the RecoveryReport.
//   - epochs-rise: see LeaderEpochCache.
//   - cut-stays-cut: what a truncation has cut is durably gone, and void in the journal, before anything is appended in its place.
//
// # Memory
//
// An idle log takes less than 2 KB: no index of a sealed segment is in memory until a fetch needs it, the ring of recent batches
// starts empty, and ReleaseMemory drops both. A busy one adds 16 bytes a recent batch (128, and all above the high watermark),
// the index entries of the active segment and of the one before it (8 bytes for each index.interval.bytes), and about 150 bytes a
// producer. One with other replicas (SetReplicated) adds 170 bytes for each batch of a producer above the high watermark, 256 at most.
//
// # Departures from Kafka
//
//   - Index files have the size of their entries; nothing is preallocated, and nothing mapped.
//   - Damage below the recovery point is kept and reported where Kafka would cut.
//   - Compaction keeps the last batch of each segment that it writes, if need be without records, so that no gap is at a segment's
//     end; it leaves alone a segment of which nothing goes; and it cleans no further than the recovery point.
//   - A tombstone beyond what one cleaning's map of keys covers gets its delete horizon from the next one.
//   - A batch that compaction has emptied keeps its greatest timestamp, but not in the time index.
//   - A batch whose records cannot be decoded stays as it is; Kafka stops to clean the partition.
//   - The aborted transactions of a fetch come in the order of their first offsets; Kafka's order is that of the markers.
//   - A truncation below the log start offset empties the log.
//   - Behind a gap a follower's new segment has the log end offset as its name; Kafka's has the batch's.
//   - Where a log ends below its recovery point, its next offset is the recovery point; Kafka gives the offsets out again.
//   - The jitter of segment.jitter.ms is drawn from the segment's name, so a restart does not draw it anew.
//   - A segment without any timestamp is as old as its first append since the log was opened; Kafka takes the file's time.
//   - Segments with relative offsets beyond 2³¹-1 (KAFKA-6264, before Kafka 2.0) are not split; such batches count as no batch.
package segment
