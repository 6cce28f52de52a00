// Command compare measures a ringmill node and an Apache Kafka broker side by side and prints a table of medians and ratios.
//
//	compare [-ringmill bin/ringmill] [-kafka tests/peers/kafka-up.sh] [-dir DIR] [-pairs 6] [-only REGEXP] [-window 2s] [-partitions 10000] [-kills 50] [-nats BINARY] [-redis BINARY]
//
// Both servers run at the same time, each with the settings it ships with but for addresses and directories, and are
// loaded one after the other by the same client code (package bench) with the same workload. What is compared is a pair
// of neighbours in time: in each round every case is run on both, in the order A B in one round and B A in the next
// (ABBA), and the ratio is taken within the pair. The first round warms up both (Kafka's JIT compilers above all) and
// does not count. Before each run what earlier ones left dirty in the page cache is written to disk, so that nobody pays
// for a neighbour. Nothing is pinned: server and client compete for the same CPUs, as they do on a small machine.
//
// Durability is a property of each case's topic:
//
//	durable  acknowledged when it is on disk. ringmill: ringmill.flush.policy=commit, its default. Kafka has no such
//	         promise; flush.messages=1 is the nearest: it syncs the log after each batch and before the answer.
//	cache    acknowledged when it is in the page cache. ringmill: ringmill.flush.policy=cache. Kafka: its default.
//
// Where the machine itself allows no more than so much, the rates are given as shares of that too: bench/limits measures it anew in each
// round. A share above 100 % says that a sync, or a call, was for several at once.
//
// Cases of a cluster have three nodes of each, replication factor 3 and min.insync.replicas=2; both clusters run throughout. Time without a
// leader is the longest between two acknowledgements to a producer that has one record out and asks every millisecond who leads, so that no
// client's backoff is in it. Kafka's session time-out is its default, 9 s, as is ringmill's.
//
// Cases of peers (-nats, -redis) put the same work on NATS' JetStream and Redis' streams too, as far as each has it: records of 1 KiB, on disk when they
// are acknowledged, one by one by the generator's schedule and from end to end, and as many as go. A partition is a stream of JetStream with
// sync_interval: always, and a stream of Redis with appendfsync always, which has all keys in one file. ringmill and Kafka have franz-go for a client, which makes batches
// of what waits; JetStream and Redis have connections of their protocols, written for this, on which what waits goes into one write: they cost the generator less than a
// client library. JetStream pushes to a consumer that acknowledges nothing; Redis' reads on from the last record that it has.
//
// Figures below 1.00 in the ratio column mean that ringmill's number is the smaller one; the last column says which of the
// two is better, or ~ if the ratios of the rounds lie on both sides of 1. Runs in which
// the generator may have measured itself are listed below the table.
package main
