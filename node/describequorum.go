package node

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// describeQuorum answers a DescribeQuorum of the metadata on the node that leads it.
func (c *cluster) describeQuorum(req *kmsg.DescribeQuorumRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeQuorumResponse()
	resp.SetVersion(req.Version)
	var status quorum.Status
	if !c.quorum.inbox.do(func() { status = c.quorum.q.Status() }) || !status.IsLeader {
		resp.ErrorCode = int16(wire.NotController)
		return resp
	}
	resp.ErrorMessage = new(string)
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.ErrorMessage = new(string)
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = int32(status.Leader.NodeID), int32(status.Term), int64(status.Commit)+1
	slices.SortFunc(status.Members, func(a, b quorum.MemberStatus) int { return cmp.Compare(a.NodeID, b.NodeID) }) // the quorum has them in an order of its own
	for i := range status.Members {
		m := &status.Members[i]
		r := replicaState(m)
		if m.Voter {
			p.CurrentVoters = append(p.CurrentVoters, r)
			resp.Nodes = append(resp.Nodes, quorumNode(m))
		} else {
			p.Observers = append(p.Observers, r)
		}
	}
	t := kmsg.NewDescribeQuorumResponseTopic()
	t.Topic, t.Partitions = req.Topics[0].Topic, append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}

// replicaState is a member as DescribeQuorum tells of it. Offsets are indexes of the quorum's log.
func replicaState(m *quorum.MemberStatus) kmsg.DescribeQuorumResponseTopicPartitionReplicaState {
	r := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
	r.ReplicaID, r.ReplicaDirectoryID, r.LogEndOffset = int32(m.NodeID), m.DirectoryID, int64(m.Match)+1
	now := time.Now()
	at := func(ticks int) int64 {
		if ticks < 0 {
			return -1
		}
		return now.Add(-time.Duration(ticks) * quorumTick).UnixMilli()
	}
	r.LastFetchTimestamp, r.LastCaughtUpTimestamp = at(m.SinceFetch), at(m.SinceCaughtUp)
	return r
}

func quorumNode(m *quorum.MemberStatus) kmsg.DescribeQuorumResponseNode {
	n := kmsg.NewDescribeQuorumResponseNode()
	n.NodeID = int32(m.NodeID)
	for _, e := range m.Endpoints {
		l := kmsg.NewDescribeQuorumResponseNodeListener()
		l.Name, l.Host, l.Port = e.Listener, e.Host, e.Port
		n.Listeners = append(n.Listeners, l)
	}
	return n
}

// addVoter lets a member of the quorum vote (KIP-853).
func (c *cluster) addVoter(req *kmsg.AddRaftVoterRequest) kmsg.Response {
	resp := kmsg.NewPtrAddRaftVoterResponse()
	code, why := c.changeVoters(req.ClusterID, quorum.ReplicaKey{NodeID: wire.NodeID(req.VoterID), DirectoryID: req.VoterDirectoryID}, mayVote, (*quorum.Quorum).AddVoter)
	resp.ErrorCode, resp.ErrorMessage = int16(code), &why
	return resp
}

// removeVoter lets a member of the quorum vote no more (KIP-853). A node that is still registered goes on learning from the quorum; one that is
// not has left the cluster, and leaves the quorum too.
func (c *cluster) removeVoter(req *kmsg.RemoveRaftVoterRequest) kmsg.Response {
	resp := kmsg.NewPtrRemoveRaftVoterResponse()
	named := quorum.ReplicaKey{NodeID: wire.NodeID(req.VoterID), DirectoryID: req.VoterDirectoryID}
	code, why := c.changeVoters(req.ClusterID, named, mayBeRemoved, (*quorum.Quorum).RemoveVoter)
	if code == wire.None && c.node.Image().Broker(named.NodeID) == nil {
		if _, err := c.removeLearners(func(key quorum.ReplicaKey) bool { return key == named }); err != nil { // it votes no more: UnregisterBroker does the rest
			c.node.log.throttled("a node that is not registered stays in the metadata quorum", "member", named.String(), "error", err)
		}
	}
	resp.ErrorCode, resp.ErrorMessage = int16(code), &why
	return resp
}

// changeVoters judges a change of the voters and makes it.
func (c *cluster) changeVoters(cluster *string, named quorum.ReplicaKey, judge voterJudge, change voterChange) (wire.ErrorCode, string) {
	if cluster != nil && *cluster != c.clusterID() {
		return wire.InconsistentClusterID, "the request is for cluster " + *cluster + ", this is " + c.clusterID()
	}
	refused, why := wire.None, ""
	err := c.changeMembers(func(q *quorum.Quorum, number uint64) error {
		key := memberKey(c.quorum.controller.working, named)
		if refused, why = judge(q.Members(), key); refused != wire.None {
			return errRefused
		}
		return change(q, number, key)
	})
	switch {
	case err == nil:
		return wire.None, ""
	case errors.Is(err, errRefused):
		return refused, why
	case errors.Is(err, quorum.ErrNotLeader), errors.Is(err, errNoController):
		return wire.NotController, ""
	case errors.Is(err, quorum.ErrMember):
		return wire.InvalidRequest, err.Error()
	}
	return wire.RequestTimedOut, err.Error()
}

// changeMembers proposes a change of the quorum's members and waits until it has taken effect. The error is one of control/quorum's,
// or errNoController if the leadership was lost meanwhile.
func (c *cluster) changeMembers(change func(q *quorum.Quorum, number uint64) error) error {
	done := make(chan error, 1)
	s := c.quorum
	s.inbox.put(func() {
		if s.controller.logic == nil {
			done <- errNoController
			return
		}
		number := s.controller.numbered.Add(1)
		if err := change(s.q, number); err != nil {
			done <- err
			return
		}
		s.controller.changes[number] = func(code wire.ErrorCode) {
			if code != wire.None {
				done <- errNoController
				return
			}
			done <- nil
		}
	})
	select {
	case err := <-done:
		return err
	case <-s.inbox.stopped:
		return errStopping
	}
}
