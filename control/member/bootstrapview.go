package member

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// view is what gossip says, seen from one node.
type view struct {
	expect     int
	fresh      []Voter // that have no cluster and expect as many as this node, itself first of all; by node id
	begun      []Info  // that have a cluster; by node id
	mismatched []Info  // fresh, and expect another number
	since      time.Duration
}

// update takes a new picture. A node that expects one is a node that only joins: it is nobody's voter.
func (v *view) update(now time.Duration, self Voter, expect int, seen []Info) {
	old := v.fresh
	v.expect, v.begun, v.mismatched = expect, nil, nil
	v.fresh = []Voter{self}
	for _, m := range distinct(self, seen) {
		switch voter := (Voter{NodeID: m.NodeID, DirectoryID: m.DirectoryID, Addr: m.Addr}); {
		case m.Bootstrapped || m.ClusterID != "":
			v.begun = append(v.begun, m)
		case m.Expect == 1 || expect == 1:
		case m.Expect != expect:
			v.mismatched = append(v.mismatched, m)
		default:
			v.fresh = append(v.fresh, voter)
		}
	}
	slices.SortFunc(v.fresh, byNodeID)
	if !slices.Equal(old, v.fresh) {
		v.since = now
	}
}

// distinct leaves out of what is seen this node, what cannot be a node, and what has another's id or directory; the rest by
// node id. Gossip is a hint: nothing in it may make a proposal that is none.
func distinct(self Voter, seen []Info) []Info {
	sorted := slices.Clone(seen)
	slices.SortFunc(sorted, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.NodeID, b.NodeID), bytes.Compare(a.DirectoryID[:], b.DirectoryID[:]))
	})
	nodes := map[wire.NodeID]bool{self.NodeID: true}
	directories := map[wire.UUID]bool{self.DirectoryID: true, {}: true}
	var kept []Info
	for _, m := range sorted {
		if m.NodeID < 0 || nodes[m.NodeID] || directories[m.DirectoryID] || m.Addr == "" || len(m.Addr) > addrMax {
			continue
		}
		nodes[m.NodeID], directories[m.DirectoryID] = true, true
		kept = append(kept, m)
	}
	return kept
}

func byNodeID(a, b Voter) int { return cmp.Compare(a.NodeID, b.NodeID) }

// settledAt reports whether the fresh nodes have been the same for long enough.
func (v *view) settledAt(now time.Duration) bool { return now-v.since >= settleTime }

// cluster is the cluster that this node sees, "" if there is none.
func (v *view) cluster() string {
	for _, m := range v.begun {
		if m.ClusterID != "" && m.Bootstrapped {
			return m.ClusterID
		}
	}
	return ""
}

// quorum is who would begin a cluster: as many as are expected, of the lowest ids. Nil if there are too few, or only one is
// expected.
func (v *view) quorum() []Voter {
	if v.expect < 2 || len(v.fresh) < v.expect {
		return nil
	}
	return slices.Clone(v.fresh[:v.expect])
}

// with is who would begin a cluster if these nodes were seen too.
func (v *view) with(voters []Voter) []Voter {
	all := slices.Clone(v.fresh)
	for _, voter := range voters {
		if !slices.ContainsFunc(all, voter.same) {
			all = append(all, voter)
		}
	}
	slices.SortStableFunc(all, byNodeID)
	return all[:min(len(all), len(voters))]
}

// located gives a voter the address that gossip has for it now.
func (v *view) located(voter Voter) Voter {
	for _, f := range v.fresh {
		if f.same(voter) {
			return f
		}
	}
	for _, m := range v.begun {
		if m.DirectoryID == voter.DirectoryID && m.Addr != "" {
			voter.Addr = m.Addr
		}
	}
	return voter
}

func sameVoters(a, b []Voter) bool { return slices.EqualFunc(a, b, Voter.same) }

// missing is how many fresh nodes are wanted yet.
func (v *view) missing() int { return v.expect - len(v.fresh) }
