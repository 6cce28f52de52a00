// Package replicate is one partition's replica as a pure state machine: it decides what is appended, when a
// record counts as safe, who is answered and which waiting fetches are woken.
//
// It does no I/O, knows no clock and holds no lock: events go in as method calls of the one owner, plans and Effects
// come out. What a segment file or a socket is, only node knows.
//
// # The life of a record batch
//
//	Produce ──▶ planned ──Written──▶ in the page cache ──Synced──▶ on disk
//	   │                                  │                          │
//	   └ refused or duplicate             ├ acks 0, 1: answered      ├ policy commit:
//	                                      └ policies cache,          │   high watermark, acks all answered,
//	                                        interval: as commit at ─▶┘   waiting fetches woken
//
// # Invariants
//
//   - I7a: logStart ≤ highWatermark ≤ written ≤ logEnd, and synced ≤ written.
//   - I7b: the high watermark never falls, but by an unclean election; under the commit policy a leader does not move it past
//     synced. (Where a laxer policy had moved it before, it stays.)
//   - P1: produces that wait for the same thing are completed in the order in which they came, each exactly once.
//   - P2: a fetch that waits is woken by the next advance of the high watermark (a replica's: of what is written), or at once if that
//     has already happened since its position was read, and by a change of the role.
//
// A replica of a cluster leads or follows as Lead and Follow tell it. PROTOCOL.md has the states, what a leader counts before it lets
// the high watermark go on, where two logs part, and the invariants of that. A Fetcher asks one leader for what a loop's followers
// lack. A replica without others (NewPartition) leads for good, and pays for none of this.
package replicate
