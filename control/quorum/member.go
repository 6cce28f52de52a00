package quorum

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/wire"
)

// ReplicaKey names a member as KIP-853 does: a node, and the directory in which it keeps its part of the quorum.
type ReplicaKey struct {
	NodeID      wire.NodeID
	DirectoryID wire.UUID
}

// RaftID is the member's name in messages.
func (k ReplicaKey) RaftID() uint64 { return RaftID(k.DirectoryID) }

// String gives node@directory.
func (k ReplicaKey) String() string { return fmt.Sprintf("%d@%s", k.NodeID, k.DirectoryID) }

// An Endpoint is where a member listens (KIP-853).
type Endpoint struct {
	Listener, Host string
	Port           uint16
}

// Member is a voter, or a learner (Kafka's observer): it gets all entries and does not vote. Members are read-only; changes
// make new ones.
type Member struct {
	ReplicaKey
	Endpoints []Endpoint // may be empty
	Voter     bool
}

// Bounds of what a member may be, so that a list of members has a bound too.
const (
	membersMax      = 1000
	endpointsMax    = 16
	endpointNameMax = 1024
)

func (m Member) check() error {
	if m.NodeID < 0 || !ValidDirectoryID(m.DirectoryID) || len(m.Endpoints) > endpointsMax {
		return fmt.Errorf("%w: member %s", ErrIdentity, m.ReplicaKey)
	}
	for _, e := range m.Endpoints {
		if len(e.Host) > endpointNameMax || len(e.Listener) > endpointNameMax {
			return fmt.Errorf("%w: an endpoint of member %s", ErrIdentity, m.ReplicaKey)
		}
	}
	return nil
}

func (m Member) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(m.NodeID))
	dst = append(dst, m.DirectoryID[:]...)
	dst = append(dst, boolByte(m.Voter), uint8(len(m.Endpoints)))
	for _, e := range m.Endpoints {
		dst = appendString(appendString(dst, e.Listener), e.Host)
		dst = binary.BigEndian.AppendUint16(dst, e.Port)
	}
	return dst
}

func boolByte(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

func (c *cursor) member() (m Member) {
	m.NodeID, m.DirectoryID = wire.NodeID(c.uint32()), c.uuid()
	voter, n := c.uint8(), c.uint8()
	m.Voter = voter == 1
	c.failed = c.failed || voter > 1 || n > endpointsMax
	for i := uint8(0); i < n && !c.failed; i++ {
		m.Endpoints = append(m.Endpoints, Endpoint{Listener: c.string(), Host: c.string(), Port: c.uint16()})
	}
	c.failed = c.failed || m.check() != nil
	return m
}

// members are all of a quorum, in the order of their raft ids. They are never changed in place.
type members []Member

func (ms members) find(id uint64) (int, bool) {
	return slices.BinarySearchFunc(ms, id, func(m Member, id uint64) int { return cmp.Compare(m.RaftID(), id) })
}

func (ms members) voters() (n int) {
	for _, m := range ms {
		n += int(boolByte(m.Voter))
	}
	return n
}

// sortedMembers checks a list of members and brings it into order.
func sortedMembers(list []Member) (members, error) {
	ms := members(slices.Clone(list))
	slices.SortFunc(ms, func(a, b Member) int { return cmp.Compare(a.RaftID(), b.RaftID()) })
	for i, m := range ms {
		if err := m.check(); err != nil {
			return nil, err
		}
		if i > 0 && ms[i-1].RaftID() == m.RaftID() {
			return nil, fmt.Errorf("%w: %s and %s have one raft id", ErrMember, ms[i-1].ReplicaKey, m.ReplicaKey)
		}
	}
	if len(ms) > membersMax {
		return nil, fmt.Errorf("%w: %d members", ErrMember, len(ms))
	}
	return ms, nil
}

// confState is the raft library's view of the members.
func (ms members) confState() *pb.ConfState {
	cs := &pb.ConfState{AutoLeave: new(false)}
	for _, m := range ms {
		if m.Voter {
			cs.Voters = append(cs.Voters, m.RaftID())
		} else {
			cs.Learners = append(cs.Learners, m.RaftID())
		}
	}
	return cs
}

// matches reports whether cs says of the members what ms does.
func (ms members) matches(cs *pb.ConfState) bool {
	if cs == nil || len(cs.VotersOutgoing) > 0 || len(cs.LearnersNext) > 0 || cs.GetAutoLeave() {
		return false
	}
	own := ms.confState()
	return slices.Equal(own.Voters, slices.Sorted(slices.Values(cs.Voters))) && slices.Equal(own.Learners, slices.Sorted(slices.Values(cs.Learners)))
}

func (ms members) appendTo(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(ms)))
	for _, m := range ms {
		dst = m.appendTo(dst)
	}
	return dst
}

func (c *cursor) members() members {
	n := int(c.uint16())
	c.failed = c.failed || n > membersMax
	var ms members
	for i := 0; i < n && !c.failed; i++ {
		m := c.member()
		c.failed = c.failed || i > 0 && ms[i-1].RaftID() >= m.RaftID()
		ms = append(ms, m)
	}
	return ms
}
