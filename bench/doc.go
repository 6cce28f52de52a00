// Package bench puts load on a node that speaks Kafka's protocol and measures what its clients see and what it costs.
//
// It is not a test (tests/ says whether answers are right; here a wrong answer ends the run) and has no path through the
// product of its own: whatever it measures goes through a socket to a node that it did not start. It works against any
// node of one broker; the address that it is given is taken for the leader of every partition.
//
// # The life of a run
//
//	Workload ──Produce, Fetch──▶ closed loop: each connection keeps InFlight requests out ─┐
//	    │                        frames built once, correlation ids patched (rawconn)      ├─▶ tallies ─▶ Result
//	    └──────EndToEnd────────▶ open loop: Pacer ─▶ kgo producer ─▶ node ─▶ kgo consumer ─┘       ▲
//	                             intended instant in the payload ──────────────▶ now - intended     │
//	time   ├── WarmUp ──┤──────────────── Duration ─────────────────┤                               │
//	                    └ window: Usage of the node at both ends ───┴───────────────────────────────┘
//
// A closed loop measures capacity and, with one request out, the time of one request; it cannot measure latency under
// load, since it sends less while the node stalls. EndToEnd can: its schedule does not wait for answers, and every latency
// counts from the instant at which the record was due, so that a stall is charged to each record that it delayed.
//
// Two clients, since they answer different questions: franz-go is what an application has; raw connections with batches
// built once are for rates at which a client library would measure itself. Raw produce costs the generator a write and a
// read of a socket, no copy and no checksum.
//
// # Invariants
//
//   - B1 only what happened inside the window counts, for latencies, rates and the node's resources alike.
//   - B2 an instant is CLOCK_MONOTONIC's: one clock for all processes of a host, and none between hosts.
//   - B3 a schedule is never kept by timers of the Go runtime: their grid is about 1 ms (netpoll's epoll_wait).
//   - B4 a record that was due in the window and did not arrive within drainMax of its end is counted in Result.Lost.
//   - B5 a Result says itself when the generator, not the node, may have been measured (Result.Doubt).
package bench
