// Package faults breaks a cluster of real processes, again and again under load, and lets tools/ringcheck judge what clients saw. It does to
// processes, their network and their clocks what tools/simulate does to the same code on virtual time.
//
//	Begin ── cluster of 3 or 5, a host each ── load ──► Inject ── fault ── held until it bites ── heal ── whole ──┐
//	                                                      ▲                                                       │
//	                                                      └── next fault, drawn from the seed ◄───────────────────┤
//	                                                                                                              ▼
//	                                  ledger ◄── verdict ◄── ringcheck ◄── every log and every replica's bytes ◄── End
//
// Hosts are network namespaces ([Network]); where they are refused all nodes are on loopback, and there are no partitions. A fault is
// drawn with its targets from a seed; when nodes do what is theirs to do. It bites when the other nodes say what it has to lead to, and when
// packets were dropped; a run whose fault did not bite proves nothing, and has no verdict.
//
// # Faults
//
//	kill one, the leader, the controller    kill -9: the others go on, the node comes back
//	kill a majority, kill all               nothing is served until they are back; everything that was acknowledged is there
//	kill again                              kill -9 of a leader, and once more while it starts
//	restart one by one                      SIGTERM and start of each node: clients see no error
//	pause one, the leader, the controller   SIGSTOP until the others do without it: awake, it acknowledges nothing
//	cut the leader from followers           clients reach it: it must not acknowledge alone
//	cut the controller off                  another one decides
//	cut one off                             from nodes and clients
//	one is not heard, one does not hear     one way; the other way everything passes
//	cut a pair                              the controller sees both, and they do not see each other
//	clients see a half                      nodes see each other, and clients do not see all of them
//	halves, ring of majorities              of five: two against three; each with its two neighbours alone
//	flapping                                cut and healed within tenths of a second
//	delay and jitter, loss and duplication  of all packets, those of clients too
//	one is far away                         the same for what one node sends
//	a slow link                             a leader sends 1 Mbit/s: replicas fall out of sync
//	reassignment storm                      replicas moved and preferred leaders elected, again and again
//	kill while cut, in bad weather,         two at once
//	  in a storm
//	a clock an hour ahead, behind           a leader's, while it runs, and right again
//	kill with a clock ahead, behind         kill -9, and started again so; right again later
//	clocks jump                             all nodes', several times a second, by up to an hour either way
//
// # Clocks
//
// Half of a campaign's clusters have nodes with wall clocks of their own (harness.Clock): ringmill, built over a standard library whose time.Now has an
// offset that the test sets. The other half is the binary as it ships. A clock fault bites when nodes have read a clock that was off.
//
// # Invariants
//
// After each fault: all replicas of all topics are in sync, says every node, and records are acknowledged again. In the end: I1 to I8,
// G, I12 and I13 of tools/ringcheck; nothing was given up by a client that tries for minutes. A third of a campaign's clusters have the
// transactional clients of package eos too, some of which are killed between the faults: T1 to T10, and L1 to L4.
// Another third has idempotent producers of Apache Kafka's client and of librdkafka on the same topic.
//
//	RINGMILL_TEST_PEER        kafka: a cluster of Apache Kafka, on loopback; the checker has to be right about it too
//	RINGMILL_TEST_FAULTS      names of faults, with commas between them, instead of those of TestFaults
//	RINGMILL_TEST_WITH        transactions, or libraries: those clients in TestFaults too, and in every cluster of a campaign
//	RINGMILL_TEST_KILLS       kills that a campaign goes on for (make soak-cluster: 300)
//	RINGMILL_TEST_PARTITIONS  partitions likewise (make soak-cluster: 100)
//	RINGMILL_TEST_LEDGER      a JSON Lines file to which each judged run is appended, so that campaigns add up
//	RINGMILL_TEST_SEED        the same draw again
//	RINGMILL_TEST_KEEP        a folder that histories of a failed run are kept in
package faults
