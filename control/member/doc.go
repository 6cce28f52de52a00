// Package member says which nodes there are, and lets fresh ones agree on who begins a cluster.
//
// It has two parts. Info is what a node tells of itself; Agent gossips it over hashicorp/serf and knows what the others
// tell. Both are a hint: who belongs to the cluster, who may vote and who is alive is decided in control/quorum and
// control/controller. Bootstrap is the pure state machine by which fresh nodes become the first voters, at most once.
package member
