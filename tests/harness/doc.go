// Package harness starts the servers and installs the clients that the whole-process tests need.
//
// It is not a test framework and not a mock: a [Node] is a process that listens on loopback, either the
// ringmill binary of this checkout or Apache Kafka from its Maven jars, and every client is the one that
// its registry ships.
//
//	Start ── Node ── Kill ─┐            a test owns its Node; what it started ends with the test, by pid
//	   ▲                   │
//	   └──── Restart ◄─────┘            same directory, same address, as an operator would
//
// Which server Start gives is the run's choice, so that one table of expected values is proved against
// Apache Kafka first and held against ringmill afterwards:
//
//	RINGMILL_TEST_PEER   unset or "ringmill": build and start ringmill
//	                     "kafka": start Apache Kafka
//	                     HOST:PORT: a Kafka-protocol node that runs already, never stopped, never restarted
//	RINGMILL_TEST_ENGINE ringmill.engine of every ringmill that is started ("uring", "epoll")
//	RINGMILL_TEST_BINARY a ringmill binary to use instead of building one
//	CI=true              turns "the client could not be installed" from a skip into a failure
//	CONF_CACHE           where jars, virtual environments and node modules are kept between runs
//
// A node is on loopback and has the machine's clock, unless its [Place] says otherwise: a network namespace, a disk, a [Clock] of its own.
//
// Invariants:
//   - a process is ended by the pid that the harness started, and dies with the test binary;
//   - ports are taken below the kernel's ephemeral range, so that no outgoing connection can
//     take a stopped node's address before it is started again;
//   - installs run under a file lock: packages of tests run in parallel, package managers must not.
package harness
