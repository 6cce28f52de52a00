// Package limits measures what a machine allows with the system calls that a node is made of, so that a node's figure can be given as a share of the
// limit: appending and syncing on its disk, asking and answering over the loopback, and from the page cache to a socket.
//
// Each item runs for the time it is given, alone, on the threads that it needs. What it writes is bounded and removed. Figures are of this process,
// whose CPU time is told too; what the kernel does in threads of its own is in nobody's.
package limits
