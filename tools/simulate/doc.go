// Program simulate runs whole clusters in one thread, on virtual time, disks and networks, under faults that a seed draws, and judges
// what clients saw and replicas hold. The same seed is the same run.
//
//	simulate -seeds 500 -from 1      many seeds, in a process a core
//	simulate -seed 17 -trace         one, and each event of note
//	simulate -seed 17 -shrink        one that fails, with as few of its faults as still make it fail
//	simulate -mutants                whether planted faults are found (mutants/)
//
// Package cluster says what of a node is production code and what is made for the simulation, and which invariants are checked; package
// world has time, chance, processes and the network.
//
// Seeds run in worker processes, one a core: what a planted fault does to a process, a panic or worse, is then one seed's.
//
// # Exit status
//
// 0 if all held, 1 if an invariant did not hold or a planted fault was not found, 2 if the run itself could not be made.
package main
