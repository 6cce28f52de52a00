package node

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/wire"
)

// handOver makes another voter the leader of the quorum, if this node is that: a stop that an operator asked for need not cost an
// election. Whoever takes it has all that this one has.
func (c *cluster) handOver() {
	var to quorum.ReplicaKey
	if c.fewVoters() {
		return
	}
	c.quorum.inbox.do(func() {
		s := c.quorum.q.Status()
		to = nextLeader(&s)
		if !to.DirectoryID.IsZero() {
			if err := c.quorum.q.TransferLeadership(to); err != nil {
				c.node.log.throttled("the metadata quorum's leadership stays until an election", "error", err)
				to = quorum.ReplicaKey{}
			}
		}
	})
	if to.DirectoryID.IsZero() {
		return
	}
	for deadline := time.Now().Add(handOverPatience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if v := c.quorum.view.Load(); !v.here && v.controller != wire.NoNode {
			slog.Info("another node is the controller", "node", int(v.controller), "term", v.term)
			return
		}
	}
}

// handOverPatience is how long a node that stops waits for its successor: a round trip and two syncs, on a busy machine.
const handOverPatience = 2 * time.Second

// nextLeader is the voter that is best able to lead: one that answers, with the most of the log. The zero key if this node does not
// lead, or there is none.
func nextLeader(s *quorum.Status) (best quorum.ReplicaKey) {
	var match uint64
	for i := range s.Members {
		m := &s.Members[i]
		if s.IsLeader && m.Voter && m.Active && m.ReplicaKey != s.Self && (best.DirectoryID.IsZero() || m.Match > match) {
			best, match = m.ReplicaKey, m.Match
		}
	}
	return best
}

// followEndpoints has the quorum know where its members listen now: they may have been started again elsewhere, and registered so. One
// change of the members can be under way, so the next tick goes on.
func (c *controllerService) followEndpoints() {
	for _, m := range c.quorum.q.Members() {
		b := c.working.Broker(m.NodeID)
		if b == nil || b.DirectoryID != m.DirectoryID {
			continue
		}
		now := quorumEndpoints(b)
		if slices.Equal(now, m.Endpoints) {
			continue
		}
		if err := c.quorum.q.Update(c.numbered.Add(1), m.ReplicaKey, now); err != nil && !errors.Is(err, quorum.ErrChangePending) {
			c.quorum.node.log.throttled("a member's new address is not noted yet", "member", m.ReplicaKey.String(), "error", err)
		}
		return
	}
}

// quorumEndpoints are a registered node's listeners as the quorum keeps them; the one for other nodes stands first in both.
func quorumEndpoints(b *image.Broker) (all []quorum.Endpoint) {
	for _, e := range b.Endpoints {
		all = append(all, quorum.Endpoint{Listener: e.Listener, Host: e.Host, Port: uint16(e.Port)})
	}
	return all
}

// unregister takes a node out of the cluster that will not come back: its registration, and what it was in the quorum unless it votes,
// which is another decision (RemoveRaftVoter). A node that came into the quorum and was never registered, or whose unregistration ended half
// way with the controller, is taken out of the quorum alone.
func (c *cluster) unregister(req *kmsg.UnregisterBrokerRequest) kmsg.Response {
	resp := c.control(req).(*kmsg.UnregisterBrokerResponse)
	id, code := wire.NodeID(req.BrokerID), wire.ErrorCode(resp.ErrorCode)
	if code != wire.None && code != wire.BrokerIDNotRegistered {
		return resp
	}
	removed, err := c.removeLearners(func(key quorum.ReplicaKey) bool { return key.NodeID == id })
	switch {
	case err != nil:
		why := "the node is not registered any more, and still in the metadata quorum: " + err.Error()
		resp.ErrorCode, resp.ErrorMessage = int16(wire.RequestTimedOut), &why
	case removed:
		resp.ErrorCode, resp.ErrorMessage = int16(wire.None), nil
	}
	return resp
}

// removeLearners takes those that are meant out of the quorum, of the members that do not vote. removed says that there was one.
func (c *cluster) removeLearners(meant func(quorum.ReplicaKey) bool) (removed bool, err error) {
	var learners []quorum.ReplicaKey
	c.quorum.inbox.do(func() {
		for _, m := range c.quorum.q.Members() {
			if !m.Voter && meant(m.ReplicaKey) {
				learners = append(learners, m.ReplicaKey)
			}
		}
	})
	for _, key := range learners {
		if err := c.changeMembers(func(q *quorum.Quorum, number uint64) error { return q.Remove(number, key) }); err != nil {
			return removed, err
		}
		removed = true
	}
	return removed, nil
}
