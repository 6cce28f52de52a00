package member

import (
	"fmt"
	"slices"
)

// peer is another agent as gossip has it.
type peer struct {
	name     string // serf's, after the node id
	addr     string // gossip address, host:port
	readable bool   // whether its tags are those of a ringmill node; info is empty if not
	info     Info
}

// membersMax bounds how many members gossip may have: every request to read something from gossip walks them, and without a
// key any program of this machine can make some up.
const membersMax = 1024

// refusal says why this node must not have anything to do with the offered ones, or "". A cluster id that is empty fits
// all: it is a fresh node's. Which cluster a fresh node is to join is settled by those that it has seen.
func refusal(own Info, known, offered []peer) string {
	cluster, whose := own.ClusterID, "this node"
	for _, p := range known {
		if cluster == "" && p.info.ClusterID != "" {
			cluster, whose = p.info.ClusterID, describe(p)
		}
	}
	strangers := 0
	for _, p := range offered {
		if !slices.ContainsFunc(known, func(k peer) bool { return k.name == p.name }) {
			strangers++
		}
		switch {
		case len(known)+strangers > membersMax:
			return fmt.Sprintf("%s would be one of more than %d members", p.name, membersMax)
		case !p.readable:
			return fmt.Sprintf("%s at %s is no ringmill node, or one of a release that this one does not know", p.name, p.addr)
		case p.info.ClusterID == "" || p.info.ClusterID == cluster:
		case cluster == "":
			cluster, whose = p.info.ClusterID, describe(p)
		default:
			return fmt.Sprintf("%s belongs to cluster %s, %s to cluster %s", describe(p), p.info.ClusterID, whose, cluster)
		}
	}
	return ""
}

func describe(p peer) string { return fmt.Sprintf("node %d at %s", p.info.NodeID, p.addr) }

// conflicts lists what of the offered has the name of a known peer at another address.
func conflicts(known, offered []peer) []conflict {
	var found []conflict
	for _, p := range offered {
		for _, k := range known {
			if k.name == p.name && k.addr != p.addr && k.addr != "" && p.readable {
				found = append(found, conflict{known: k, offered: p})
			}
		}
	}
	return found
}

// conflict is one node id at two addresses. A node that was started again at another address looks the same for as long
// as its old self is not known to be gone; it has the same directory then.
type conflict struct{ known, offered peer }

// mayBeOne reports whether both are one node that has moved.
func (c conflict) mayBeOne() bool { return c.known.info.DirectoryID == c.offered.info.DirectoryID }
