// Package eos tries exactly-once with clients in processes of their own, and lets tools/ringcheck judge what they saw.
//
//	producers: franz-go with the second and the first transaction protocol, ──┐
//	  and the first one as librdkafka speaks it, request by request           │
//	two of them with one transactional id (zombies of each other)             ├── node ── kill -9, power cuts
//	loops: read from "in", write to "out", commit offsets, one transaction    │     ▲           │
//	readers with isolation read_committed, always on                        ──┘     └── restart ┘
//	    │
//	    └── each writes a history; kill -9 of a client leaves what it was about to do
//
// A transaction commits, aborts, or is left open until its coordinator aborts it; some of those then ask for the commit, too late.
// Producers, loops and a reader are killed too, producers by themselves
// while they wait for an end. The clients are this package's test binary, started again with a role
// (client.go). RINGMILL_TEST_SEED repeats what each decides, not when.
//
// A [World] is the clients; package faults runs them on clusters, without those that ask one node for everything.
//
//	RINGMILL_TEST_KILLS  kill -9 of the node in a run (default 4; make soak: 200)
//	RINGMILL_TEST_CUTS   power cuts in a run (default 2; make soak: 30)
//	RINGMILL_TEST_KEEP   a folder that histories of a failed run are kept in
package eos
