// Package world is the part of the simulator that knows nothing of Kafka: virtual time, one queue of events, streams of chance,
// processes that die and pause, and the network between them. Package cluster puts production code into it.
//
// # One thread, one order
//
// Everything is a function that the queue calls at its time; two of the same time are called in the order in which they were
// asked for. Nothing here or above it may start a goroutine, look at a clock, or let the order of a map matter, so a seed is a
// whole run: World.Hash, which mixes in every event, is the same each time. simulate's TestReplay holds that.
//
// # Chance
//
// Each concern draws from its own stream (Streams), so that one draw more in one does not shift the others: a new fault does
// not change how the disks behave.
package world
