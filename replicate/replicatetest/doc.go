// Package replicatetest makes replicas of a partition out of replicate.Partition, segment.Log and files in memory, for the tests of
// replicate and of the rooms above it. It is never linked into the node.
//
// A Node does what a node's loop does with plans and effects, but only when it is told to: what is planned is written by Write, what is
// written is synced by Sync, a truncation that was asked for is run by Truncate, and a power cut (Crash) keeps what was synced and, by
// the seed, some of the rest. Messages are values: an Answer may be delivered late, twice or never.
package replicatetest
