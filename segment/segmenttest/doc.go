// Package segmenttest is segment.FS in memory with a disk that can lose power and fail. It is what the tests of segment and of
// the rooms above it run on; it is never linked into the node.
//
// Two states are kept of everything: what processes see, and what is durable. File.Sync moves a file's bytes and size from
// the first to the second, SyncDir a directory's names. A power cut (Crash) keeps what is durable and, by the seed, any
// subset of the rest:
//
//	file:      synced bytes, plus for each 4 KiB page written since: nothing, any state it had since, or a mix by 512-byte
//	           sector of its states (a torn page); the size is the synced one or any it had since
//	directory: durable names, plus each create, remove or rename since: done or not, a later one on the same name only if
//	           the earlier one was
//
// That is more than ext4 or XFS will do to a program, so that what survives here needs no word of theirs beyond POSIX: a
// rename is atomic, a sector is, and what a sync covered stays.
//
// A killed process (Kill) loses its open files and nothing else. Faults are injected by a function that sees each operation
// before it happens (Inject) or by a capacity (SetCapacity). After a failed Sync the dirty pages are readable and clean, as
// Linux has it: the next Sync answers nil and they never reach the disk.
//
// CutEverywhere runs a list of operations once for each of them, cuts the power there, and lets a check look at what is left.
//
// Invariants: the same seed and the same operations leave the same bytes; nothing synced is ever lost; nothing appears that
// was never written.
package segmenttest
