// Package lacking is a node's list of its replicas that may lack what they have promised to keep: what its controller is told of them, and
// what is written down so that a crash does not make them forgotten.
//
//	start, scrub, fetch ─▶ Set, BeginAnew ─▶ Texts: written down ─▶ Tell, Told: heartbeats ─▶ controller: out of ISR and ELR
//	                                                                                                 │
//	                           Texts: written down ◀─ Remove ◀─ metadata that does not count on it ◀─┘
//
// A List is pure: no I/O, no clock, no lock; one caller at a time.
//
// Rules for its owner, a node:
//
//   - What a start finds missing is written down before any log of it is made: afterwards such a log looks merely empty.
//   - The node wants to be let into service with the heartbeat that leaves nothing untold, or after it.
//   - A replica is removed when the node has followed metadata that does not count on it, under a leader epoch after the one in which it may have
//     promised what it lacks (replicate.Partition.Lacking).
package lacking
