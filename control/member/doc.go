// Package member says which nodes there are, and lets fresh ones agree on who begins a cluster.
//
// It is a hint and nothing but: who belongs to the cluster, who may vote, who is alive and who leads is decided in
// control/quorum and control/controller, over connections between brokers. What gossip says is good for three things: which
// address to ask first, which nodes are fresh, and that somebody is gone a few seconds before its session runs out.
//
//	serf ── members, tags ──▶ Agent ── Members, Changed ──▶ node ── events ──▶ Bootstrap ── effects ──▶ node
//
// # The agent
//
// Info is what a node tells of itself, in serf's tags. Agent is the wrapper of serf: the one place in control with
// goroutines, sockets and files (agent*.go). It keeps two files in state/serf: keyring, serf's list of keys, the first of
// which encrypts; and snapshot, serf's log of who was there, from which a restarted node finds the others without seeds.
//
// Gossip is encrypted with a key of 32 bytes, unless it stays on a loopback address, where only loopback addresses are let
// in. Serf's name conflict resolution, coordinates and user events are off.
//
// # Invariants
//
// M1. A member of another cluster, or of no cluster of ringmill's, is never in Members: each is judged before serf takes it
// in. A fresh node, whose cluster id is empty, fits every cluster, and none beside the first that it has seen.
//
// M2. Of two nodes with one id the first is in Members, and whoever notices logs one line with both addresses.
//
// M3. Tags that are there keep their meaning in all releases; others are ignored. A release that needs more adds tags.
package member
