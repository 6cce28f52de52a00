// Package benchtest has a server of Kafka's protocol whose delays are scripted, so that tests know what bench must measure.
//
// A Server is one or more nodes, with partition p of a topic led by node p modulo their number. It keeps what is produced in memory, and
// answers a produce when its Script says, never before the answers of its connection that came earlier, as Kafka's nodes do. It notes when
// each batch was answered. Everything else it answers at once. Nodes may be stopped, or stunned, so that nothing comes of them and no connection breaks.
//
// Its nodes are reached by Server.Dial, over connections in memory, so that whole runs fit in a bubble of testing/synctest, with Clock for
// the time: nothing there takes time but what the script says, and the truth is exact. Server.Listen puts the same nodes on the
// loopback, for clients in other processes.
package benchtest
