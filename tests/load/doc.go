// Package load is what whole-process tests put on a node or a cluster while they break it, and what clients saw of it: records that
// carry their own names, histories that tools/ringcheck judges, and a ledger in which campaigns of several runs add up.
//
//	producers ── {process, counter, CRC, padding} ──► topic ──► poller      every send, poll and mark with its times
//	    │                                                         │                  │
//	watchers: who leads in which epoch, published watermarks ─────┴──► History ──────┴──► ringcheck ──► Verdict ──► Ledger
//
// The life of a [Load]: Start makes the topic and begins; AwaitProgress tells that it is served; AwaitWhole that all replicas are in sync;
// Finish ends it, reads every partition from start to end and the bytes of every replica, and judges.
//
// All times are the machine's monotonic clock (CLOCK_MONOTONIC), which clients in other processes and languages read too: their histories
// stand beside this process's own.
package load
