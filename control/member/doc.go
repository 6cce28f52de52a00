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
// # The bootstrap agreement
//
// With ringmill.bootstrap.expect=N, N fresh nodes that see N fresh nodes become the first voters by themselves. It is a
// commit in two phases with the lowest node id as its candidate:
//
//	candidate                                   each voter                          on disk
//	sees N fresh nodes, unchanged for a second
//	   └─ proposes the N lowest ids                                                 candidate: promised
//	        ── Promise ──▶ free, and would propose the same of what it sees         voter: promised
//	        ◀── Granted ──
//	   all have promised: committed                                                 candidate: committed
//	        ── Commit ──▶                                                           voter: committed
//	   sees others now, before all have promised: gives up                          candidate: fresh
//	        ── Release ──▶                                                          voter: fresh
//	        ◀── Ask ────── has heard nothing for a while (the other voters are asked too: they may know of the commit)
//
// Nothing is sent, answered or decided before it is on disk, so that a crash at any point is a lost message. A node that is
// fresh and sees one with a cluster joins that cluster as a learner; so do nodes beyond the N, and nodes that expect one.
//
// As in every commit in two phases, a candidate that is gone for good with its disk, after it has got a promise and before
// anybody heard of the end, holds those who promised. They say so; whoever knows that the disk is gone removes
// state/bootstrap of theirs, and they come back under other directory ids.
//
// The state is one small file, state/bootstrap, which the caller replaces whole with Effects.Save (bootstrapcodec.go has its
// bytes). It has the directory id too, from before there is a quorum directory.
//
// # Invariants
//
// B1. A directory is held by one proposal at a time, and by a committed one for ever. So of two committed proposals each
// voter is in one at most: they are the same, or have no voter in common.
//
// B2. A candidate's proposals are numbered and never made twice; of one that it gave up, nothing is ever committed.
//
// B3. A node promises to what it would propose itself of what it sees. So two clusters begin side by side only if no voter of
// the one with the higher ids saw a fresh node with a lower id when it promised.
//
// B4. Once all see the same, and messages arrive, all fresh nodes come to a decision: only the lowest is a candidate then.
//
// M1. A member of another cluster, or of no cluster of ringmill's, is never in Members: each is judged before serf takes it
// in. A fresh node, whose cluster id is empty, fits every cluster, and none beside the first that it has seen.
//
// M2. Of two nodes with one id the first is in Members, and whoever notices logs one line with both addresses.
//
// M3. Tags that are there keep their meaning in all releases; others are ignored. A release that needs more adds tags.
package member
