// Package controller decides for a cluster: which nodes are alive, who leads which partition and is in sync, where replicas are. It
// answers Kafka's controller requests as KRaft's QuorumController does (ClusterControlManager, BrokerHeartbeatManager,
// ReplicationControlManager of Apache Kafka 4.1), and differs where it says so.
//
//	request ──▶ Controller.X(m, now, request) ──▶ records, reply        m: the working image (applied, and what was proposed since)
//	                                                 │
//	                    m.With(records) is the next working image; the records go to the quorum as one entry, and the
//	                    reply to whoever asked when that entry is applied, or NOT_CONTROLLER if it never is
//
// A Controller is pure: no clock, no goroutine, no lock; one caller at a time. Beside the Image it keeps what no record says:
// when it last heard of each node and how far that node was (session.go), and which topics have something to do (index.go), which it
// brings up to date with a Diff from one call's image to the next's. Calls must come with Images of one history, forth or back: records that
// a call gave may be dropped, as those of a request that only validates. Where the history forks, because a proposal was thrown away after
// others were made on it, Rebase begins anew; a node that becomes the controller begins with BecomeController.
//
// The life of a node:
//
//	          RegisterBroker                heartbeat, caught up             heartbeat wants shutdown
//	(none) ──────────────────▶ FENCED ───────────────────────────▶ ACTIVE ─────────────────────────────▶ CONTROLLED SHUTDOWN
//	                             ▲  ▲                               │  │                                      │
//	                             │  └── session timeout, wantFence ─┘  └── leads nothing ──┐                  │ leads nothing, and
//	                             └─────────── ShouldShutdown ◀─────────────────────────────┴──────────────────┘ everybody knows
//
// A node that is fenced or shutting down leaves every in-sync set, but stays in the ELR of those that become too small (KIP-966), from
// where it may lead again. It loses that when it comes back without what it had: after an unclean stop, unless its log is durable
// before anybody is told (flush policy commit), or with another directory of its quorum state; with that it is not fallen back on as the last known
// leader either, as Kafka would: a node with an empty disk must not empty the partition. What was in a log directory that is gone our nodes tell
// themselves (Registration.TellsLost). A single replica of which a node says that it is damaged
// loses its places while the node stays (lacking.go).
//
// Offsets of metadata are those of records: a node's CurrentMetadataOffset is that of the last record it applied, Image.Version - 1.
// A broker epoch is the offset of the record that registered the incarnation.
//
// Invariants (random_test.go plays them):
//
//	C1  one leader a leader epoch; leader ∈ ISR ⊆ replicas (image I8)
//	C2  who was outside ISR ∪ ELR leads after an unclean election only
//	C3  no fenced, unregistered or shutting-down node is in an in-sync set or leads
//	C4  a node is unfenced only after it applied its own registration
//	C5  what one event changes is one batch, and costs as much as the topics that it touches
package controller
