// Command compare measures a ringmill node and an Apache Kafka broker side by side and prints a table of medians and ratios.
//
//	compare [-ringmill bin/ringmill] [-kafka tests/peers/kafka-up.sh] [-dir DIR] [-pairs 6] [-only REGEXP] [-window 2s] [-partitions 10000]
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
// Figures below 1.00 in the ratio column mean that ringmill's number is the smaller one; the last column says which of the
// two is better, or ~ if the ratios of the rounds lie on both sides of 1. Runs in which
// the generator may have measured itself are listed below the table.
package main
