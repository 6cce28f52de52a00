// Package crash ends nodes the hard way under load and lets tools/ringcheck judge what clients saw.
//
//	producers (idempotent franz-go) ──┐                        ┌── history: sends with their outcome
//	                                  ├── node ── kill -9 ──┐  │
//	poller, reading behind them ──────┘      ▲              │  ├── history: polls
//	                                         └── restart ◄──┘  │
//	at the end: every partition from start to end ─────────────┴── history: the final log ── ringcheck
//
// Records carry {process, counter} and a CRC of the rest, so a changed byte is seen too. Segments are small, and half of
// the kills wait for one to roll.
//
// A second load writes versions and tombstones of some keys to a compacted topic with a busy cleaner; there the map that is left
// is judged (compact_test.go).
//
//	RINGMILL_TEST_KILLS  kill -9 in a run (default 6; make soak: 200)
//	RINGMILL_TEST_CUTS   power cuts in a run, over both file systems (default 4; make soak: 30)
//	RINGMILL_TEST_KEEP   a folder that histories of a failed run are kept in
package crash
