package node

import (
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// What a node that asks to join is refused for, and in which words.
func TestWhoMayJoin(t *testing.T) {
	here := wire.UUID{1}
	broker := func(id wire.NodeID, fenced bool) image.BrokerRecord {
		return image.BrokerRecord{Broker: image.Broker{
			ID: id, Epoch: 1, DirectoryID: here, Incarnation: wire.UUID{9}, Fenced: fenced, Endpoints: []image.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 9092, Protocol: "PLAINTEXT"}},
		}}
	}
	m, err := new(image.Image).With(image.ClusterRecord{ClusterID: "c"}, broker(1, false), broker(2, true))
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{}
	n.image.Store(m)
	c := &cluster{node: n}
	now := time.Now().UnixMilli()
	for _, test := range []struct {
		name string
		join joinRequest
		code wire.ErrorCode
		word string
	}{
		{"a new node", joinRequest{node: 3, directory: wire.UUID{3}, clockMS: now, format: 1}, wire.None, ""},
		{"a node again", joinRequest{node: 1, directory: here, clockMS: now, format: 1}, wire.None, ""},
		{"an id that lives", joinRequest{node: 1, directory: wire.UUID{7}, clockMS: now, format: 1}, wire.DuplicateBrokerRegistration, "at h:9092; start this one with another --set node.id"},
		{"an id that is fenced", joinRequest{node: 2, directory: wire.UUID{7}, clockMS: now, format: 1}, wire.None, ""},
		{"a clock behind", joinRequest{node: 3, clockMS: now - time.Hour.Milliseconds(), format: 1}, wire.InvalidRequest, "the wall clock is 1h0m"},
		{"a clock ahead", joinRequest{node: 3, clockMS: now + time.Hour.Milliseconds(), format: 1}, wire.InvalidRequest, "the wall clock is"},
		{"a clock a little off", joinRequest{node: 3, clockMS: now - time.Minute.Milliseconds(), format: 1}, wire.None, ""},
		{"an old release", joinRequest{node: 3, clockMS: now, format: 0}, wire.UnsupportedVersion, "install"},
	} {
		if got := c.judge(&test.join); got.code != test.code || !strings.Contains(got.message, test.word) {
			t.Errorf("%s: %s %q", test.name, got.code, got.message)
		}
	}
}

// Learners that are registered under another directory count as those that are not at all; voters never.
func TestUnregisteredLearners(t *testing.T) {
	broker := image.BrokerRecord{Broker: image.Broker{
		ID: 1, Epoch: 1, DirectoryID: wire.UUID{1}, Incarnation: wire.UUID{9}, Endpoints: []image.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 9092, Protocol: "PLAINTEXT"}},
	}}
	m := withRecords(t, new(image.Image), image.ClusterRecord{ClusterID: "c"}, broker)
	member := func(id wire.NodeID, directory byte, voter bool) quorum.Member {
		return quorum.Member{ReplicaKey: quorum.ReplicaKey{NodeID: id, DirectoryID: wire.UUID{directory}}, Voter: voter}
	}
	if n := unregistered([]quorum.Member{member(1, 1, false), member(2, 2, true), member(1, 3, true)}, m); n != 0 {
		t.Errorf("%d of a registered learner and two voters", n)
	}
	if n := unregistered([]quorum.Member{member(1, 1, false), member(1, 3, false), member(4, 4, false)}, m); n != 2 {
		t.Errorf("%d, want the one with another directory and the one that is not there", n)
	}
}

// A controller that stops hands over to the voter that has most of the log, among those that answer.
func TestWhoLeadsNext(t *testing.T) {
	member := func(id byte, match uint64, voter, active bool) quorum.MemberStatus {
		return quorum.MemberStatus{Member: quorum.Member{ReplicaKey: quorum.ReplicaKey{NodeID: wire.NodeID(id), DirectoryID: wire.UUID{id}}, Voter: voter}, Match: match, Active: active}
	}
	s := quorum.Status{IsLeader: true, Self: quorum.ReplicaKey{NodeID: 1, DirectoryID: wire.UUID{1}}, Members: []quorum.MemberStatus{
		member(1, 100, true, true), member(2, 50, true, true), member(3, 60, true, true), member(4, 90, true, false), member(5, 99, false, true),
	}}
	if next := nextLeader(&s); next.NodeID != 3 {
		t.Errorf("node %d", next.NodeID)
	}
	s.Members = s.Members[:1]
	if next := nextLeader(&s); !next.DirectoryID.IsZero() {
		t.Errorf("alone: node %d", next.NodeID)
	}
	s.IsLeader = false
	if next := nextLeader(&s); !next.DirectoryID.IsZero() {
		t.Errorf("no leader: node %d", next.NodeID)
	}
}

// Whoever waits for a version of the metadata goes on when it is in force, and not before.
func TestFollowerWaits(t *testing.T) {
	n := &Node{quit: make(chan struct{})}
	m, err := new(image.Image).With(image.ClusterRecord{ClusterID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	n.image.Store(new(image.Image))
	f := newFollower(n)
	if f.await(1, time.Millisecond) {
		t.Error("version 1 is not there")
	}
	done := make(chan bool)
	go func() { done <- f.await(1, patience) }()
	await(t, "somebody to wait", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.waiting) == 1
	})
	n.image.Store(m)
	f.published(1)
	if !<-done || !f.await(1, 0) {
		t.Error("version 1 is there")
	}
	go func() { done <- f.await(2, patience) }()
	close(n.quit)
	if <-done {
		t.Error("version 2 after the end")
	}
}
