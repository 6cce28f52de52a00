// Package cluster runs several nodes as one cluster: how they find each other, agree on their metadata, and go on when one of them
// is gone.
//
//	StartCluster ── node 1 ─┐
//	             ── node 2 ─┼─ one metadata quorum, one controller ── kill -9 ── another controller ── restart: the node is back
//	             ── node 3 ─┘
package cluster
