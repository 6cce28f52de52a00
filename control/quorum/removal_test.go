package quorum

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/ringmill/ringmill/segment/segmenttest"
)

// messageType is what a message that a test looks at is.
func messageType(t *testing.T, msg Message) pb.MessageType {
	m, err := decodeMessage(msg.To, msg)
	must(t, err)
	return m.GetType()
}

// TestRemovalOutlivesItsLeader: a voter that has removed the only other one does not ask for its vote again, whatever a power
// cut leaves of what was not synced.
func TestRemovalOutlivesItsLeader(t *testing.T) {
	for outcome := range 20 {
		c := newCluster(t, uint64(outcome), 2, Config{})
		leader := c.elect()
		other := c.members[leader.n%2]
		done := false
		c.applied = func(m *member, e Entry) { done = done || m == leader && e.Change != nil }
		must(t, leader.q.Remove(1, testKey(other.n)))
		for !done {
			c.drain(leader)
			batch := c.wire
			c.wire = nil
			for _, msg := range batch {
				c.deliver(msg)
			}
			if !done {
				c.drain(other)
			}
		}
		other.q, c.wire = nil, nil
		leader.fs = leader.fs.Crash()
		c.open(leader)
		c.elect()
	}
}

// TestInheritedRemoval: a leader that applies its own removal, which an earlier leader has proposed, proposes nothing before,
// and then lets the rest go on without it.
func TestInheritedRemoval(t *testing.T) {
	c := newCluster(t, 1, 3, Config{})
	first := c.elect()
	second := c.members[first.n%3]
	c.lose = func(m Message) bool { return m.To != second.q.RaftID() } // the acknowledgement of the removal, and all for the third
	must(t, first.q.Remove(1, testKey(second.n)))
	c.settle()
	c.lose = func(Message) bool { return true }
	for range 25 {
		c.tick()
	}
	second.q.timer.elapsed = second.q.timer.timeout // it stands first
	c.lose = func(m Message) bool { return messageType(t, m) == pb.MsgAppResp }
	for range 3 {
		second.q.Tick()
		c.settle()
	}
	if !second.last.IsLeader || second.last.LeaderReady {
		t.Fatalf("the second does not lead, not ready: %+v", second.last)
	}
	if err := second.q.Propose(2, []byte("x")); !errors.Is(err, ErrNotReady) {
		t.Errorf("a proposal before the leader is ready: %v", err)
	}
	if err := second.q.AddLearner(3, testMember(3)); !errors.Is(err, ErrNotReady) {
		t.Errorf("a change before the leader is ready: %v", err)
	}
	c.lose = nil
	for range 5 {
		c.tick()
	}
	leader := c.leader()
	if leader == nil || leader == second || len(leader.q.Members()) != 2 || second.last.IsLeader {
		t.Fatalf("none of the others leads: %+v, %+v", leader, second.last)
	}
	must(t, leader.q.Propose(4, []byte("after")))
	c.settle()
	if got := fmt.Sprint(leader.machine.lines); got != "[after]" {
		t.Errorf("applied %s", got)
	}
}

// TestUnsyncedBatchesAreWrittenAgain: after a sync that failed the page cache shows a restart what the disk does not have, and
// which a later sync will not write. What the restart takes it makes durable.
func TestUnsyncedBatchesAreWrittenAgain(t *testing.T) {
	c := newCluster(t, 1, 1, Config{})
	c.tick()
	m := c.leader()
	m.fs.Inject(segmenttest.FailNth(segmenttest.OpSync, logSuffix, 0, false, syscall.EIO))
	for i := range 5 { // more than one batch
		must(t, m.q.Propose(uint64(i), []byte(strings.Repeat("x", 2*batchBytesMax/3))))
	}
	if _, err := m.q.Ready(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("ready: %v", err)
	}
	m.fs.Kill()
	c.open(m)
	last := m.q.lastIndex()
	if last < 7 {
		t.Fatalf("the restart sees entries up to %d", last)
	}
	for range 20 {
		left := &member{n: 1, fs: m.fs.Remains()}
		must(t, c.tryOpen(left))
		if got := left.q.lastIndex(); got != last {
			t.Fatalf("after a power cut the last entry is %d, and was %d", got, last)
		}
	}
}
