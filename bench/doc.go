// Package bench puts load on a node that speaks Kafka's protocol and measures what its clients see and what it costs.
//
// It is not a test (tests/ says whether answers are right; here a wrong answer ends the run) and has no path through the
// product of its own: whatever it measures goes through a socket to a node that it did not start. It works against any
// node that speaks the protocol.
//
// # The life of a run
//
// A Trial is what latency is measured with: an open loop on topics that it makes and removes, over all leaders of a cluster. How its records come and
// which keys they have is drawn from a seed or recorded (Arrival, zipf), so that a run can be repeated.
//
//	Trial ─▶ topic ─▶ lane: Pacer ─ due ─▶ frame, stamped in place ─▶ leader ─▶ acknowledged ─▶ recorder ─┐
//	           │      one for each producer and leader; answers are read by another goroutine            ├▶ seconds ─▶ Outcome
//	           │      rawReader (a consumer) ◀─ fetch ─ leader ─▶ now - stamp ─▶ recorder ───────────────┘     └▶ .hlog
//	           └────▶ removed, whatever happened
//	time ├── WarmUp ──┤──────────── Duration: what is due in it counts, whenever it is answered ────────┤
//
// Its schedule does not wait for answers, and every latency counts from the instant at which the record was due, so that a stall is
// charged to each record that it delayed. What is due while MaxInFlight requests are out, or while nobody leads, waits in
// line, and its latency counts on. What was refused or lost with its connection is sent again. No wait for an answer is without end: a silence has
// a raw connection's other nodes asked who leads, and ends a run that has no patience left.
//
// A Workload is the closed loops that tools/compare has for capacity, against one node, and EndToEnd, franz-go's open loop there, which runs over a Stream
// of any protocol; the address that it is given is taken for the leader of every partition. A closed loop measures capacity and, with one request out, the
// time of one request; it cannot measure latency under load, since it sends less while the node stalls (trial_test.go shows by how
// much it is wrong).
//
// With a Backlog consumers stop when the window begins, and the window has no end before they have caught up: Duration comes after that.
//
// Two clients, since they answer different questions: franz-go is what an application has; raw connections with batches
// built once are for rates at which a client library would measure itself. A raw batch costs the generator a few stores, a checksum,
// a write and its share of a read. Where records differ (Values, Keys), it has some thousand of them ready, and keys are stored in place.
//
// What there is beside a run is read at both ends of the window: where ringmill nodes say that their requests' time went, and what processes
// of this host used (Beside). None of it is needed: what cannot be read is named, and the run goes on.
//
// Package page makes a Report a page for a browser. Package omb reads and writes OpenMessaging Benchmark's files. Package limits measures
// what the machine allows, package quick holds a node against that, and package tune looks for its properties.
//
// Clock and Dialer are the seams for bench/benchtest: whole runs in a bubble of testing/synctest against a server whose delays are
// scripted, where the only tolerance is the histogram's own.
//
// # Invariants
//
//   - B1 only what belongs to the window counts, for latencies, rates and resources alike: in a Trial what is due in it, in a Workload
//     what is answered in it.
//   - B2 an instant is CLOCK_MONOTONIC's: one clock for all processes of a host, and none between hosts.
//   - B3 a schedule is never kept by timers of the Go runtime: their grid is about 1 ms (netpoll's epoll_wait).
//   - B4 what was acknowledged in the window and did not arrive within drainMax of its end is counted as lost.
//   - B5 a result says itself when the generator, not the node, may have been measured (Outcome.Invalid, Result.Doubt).
//   - B6 a Trial never touches a topic that it did not make, and removes all of its own even when it is cancelled.
package bench
