// Package reassign decides where replicas are: it places those of new partitions (Kafka's StripedReplicaPlacer), works out what a
// reassignment adds and removes (KIP-455), how one is reverted, and how a cluster is brought into balance.
//
// It is pure: nodes and partitions come as values, and random numbers, which only placement takes, from a source that it is given.
package reassign
