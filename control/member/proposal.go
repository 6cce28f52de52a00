package member

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// Voter is a fresh node that may become one of the first voters.
type Voter struct {
	NodeID      wire.NodeID
	DirectoryID wire.UUID
	Addr        string // host:port of its inter-broker listener
}

// same reports whether both are one node with one disk, wherever it listens.
func (v Voter) same(other Voter) bool {
	return v.NodeID == other.NodeID && v.DirectoryID == other.DirectoryID
}

// Proposal is one attempt of a candidate to begin a cluster. It never changes once it is made.
type Proposal struct {
	Attempt   uint64  // the candidate's count; no two proposals of one candidate have the same
	ClusterID string  // of the cluster that begins
	Voters    []Voter // by node id; the first is the candidate
	Initial   []byte  // what the cluster's metadata begins with, for the quorum; opaque here
}

// Bounds of a proposal, for those that come from elsewhere.
const (
	votersMax    = 1024    // ringmill.bootstrap.expect's
	addrMax      = 300     // a domain name has 255 bytes
	clusterIDMax = 64      // 22 as they are made
	initialMax   = 1 << 20 // the metadata of a fresh cluster has a few hundred
)

// ID names a proposal among all that ever were: directories are unique, and their attempts are.
type ID struct {
	Candidate wire.UUID // the candidate's directory
	Attempt   uint64
}

// ID names the proposal.
func (p *Proposal) ID() ID { return ID{Candidate: p.candidate().DirectoryID, Attempt: p.Attempt} }

// candidate is who made the proposal, and who alone can commit or release it.
func (p *Proposal) candidate() Voter { return p.Voters[0] }

// has reports whether the voter is one of the proposal's.
func (p *Proposal) has(v Voter) bool { return slices.ContainsFunc(p.Voters, v.same) }

// index finds a voter by its directory, -1 if there is none.
func (p *Proposal) index(directory wire.UUID) int {
	return slices.IndexFunc(p.Voters, func(v Voter) bool { return v.DirectoryID == directory })
}

// equal reports whether both are the same to the last byte.
func (p *Proposal) equal(other *Proposal) bool {
	return p.Attempt == other.Attempt && p.ClusterID == other.ClusterID && slices.Equal(p.Voters, other.Voters) &&
		string(p.Initial) == string(other.Initial)
}

// problem says what is wrong with a proposal from elsewhere, or "".
func (p *Proposal) problem() string {
	switch {
	case len(p.Voters) < 2 || len(p.Voters) > votersMax:
		return fmt.Sprintf("%d voters", len(p.Voters))
	case p.Attempt == 0:
		return "no attempt"
	case p.ClusterID == "" || len(p.ClusterID) > clusterIDMax || strings.ContainsAny(p.ClusterID, "\r\n"):
		return "no cluster id"
	case len(p.Initial) > initialMax:
		return fmt.Sprintf("%d bytes of metadata", len(p.Initial))
	}
	directories := make(map[wire.UUID]bool, len(p.Voters))
	for i, v := range p.Voters {
		switch {
		case v.NodeID < 0 || i > 0 && v.NodeID <= p.Voters[i-1].NodeID:
			return "voters not in the order of their ids"
		case v.DirectoryID.IsZero() || directories[v.DirectoryID]:
			return "a directory twice, or none"
		case v.Addr == "" || len(v.Addr) > addrMax:
			return "a voter without address"
		}
		directories[v.DirectoryID] = true
	}
	return ""
}

// names lists voters for people: "nodes 1, 2 and 3".
func names(voters []Voter) string {
	ids := make([]string, len(voters))
	for i, v := range voters {
		ids[i] = fmt.Sprint(v.NodeID)
	}
	switch n := len(ids); n {
	case 0:
		return "no node"
	case 1:
		return "node " + ids[0]
	default:
		return "nodes " + strings.Join(ids[:n-1], ", ") + " and " + ids[n-1]
	}
}
