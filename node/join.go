package node

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/member"
	"github.com/ringmill/ringmill/control/quorum"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// askToJoin asks the node at an address, and the leader that it names, to take this node into the cluster. retry says that another
// try may succeed; an error without is the operator's to mend.
func (c *cluster) askToJoin(addr string) (id string, retry bool, err error) {
	req := joinRequest{
		cluster: c.clusterID(), node: c.node.Config().NodeID, directory: c.directory, address: c.address(), rack: c.node.Config().BrokerRack,
		version: Version(), clockMS: time.Now().UnixMilli(), format: c.node.Config().FormatMax,
	}
	for range joinHops {
		body, err := c.peers.callRaw(addr, wire.RequestHeader{Key: wire.KeyJoin}, req.appendTo(nil), controllerTimeout)
		if err != nil {
			return "", true, err
		}
		a, err := readJoinAnswer(body)
		switch {
		case err != nil:
			return "", false, err
		case a.code == wire.None:
			return a.cluster, false, nil
		case a.code == wire.NotController && a.leader != "" && a.leader != addr:
			addr = a.leader
			continue
		case a.code == wire.NotController || a.code == wire.RequestTimedOut || a.code == wire.DuplicateBrokerRegistration && c.patientTwin():
			return "", true, fmt.Errorf("node: %s: %s", addr, a.message)
		}
		return "", false, errors.New(a.message)
	}
	return "", true, errNoController
}

// patientTwin says whether to go on where the cluster believes in a living node of this one's id: that may be the node itself, killed a
// moment ago, with another disk. It is believed in until its session is over.
func (c *cluster) patientTwin() bool {
	if c.twinSince.IsZero() {
		c.twinSince = time.Now()
	}
	session := time.Duration(c.node.Config().BrokerSessionTimeoutMS) * time.Millisecond
	return time.Since(c.twinSince) < session+session/2
}

// joinHops bounds the addresses that one question is sent on to.
const joinHops = 3

// joined answers a node that asks to become a member: the leader takes it as a learner, any other node says who leads.
func (c *cluster) joined(body []byte) (a joinAnswer) {
	j, err := readJoin(body)
	if err != nil {
		return joinAnswer{peerRefusal: peerRefusal{wire.InvalidRequest, err.Error()}}
	}
	if !c.member.Load() {
		a.code, a.message = wire.NotController, "this node belongs to no cluster yet"
		return a
	}
	v := c.quorum.view.Load()
	if !v.here {
		a.code, a.message, a.leader = wire.NotController, "there is no controller at the moment", v.address
		return a
	}
	mark := c.quorum.mark()
	if a.peerRefusal = c.judge(&j); a.code != wire.None {
		if code := c.confirm(mark); code != wire.None { // the node that asks would end
			return joinAnswer{peerRefusal: peerRefusal{code, "there is no controller at the moment"}}
		}
		slog.Warn("a node was not taken into the cluster", "node", int(j.node), "address", j.address, "why", a.message)
		return a
	}
	if err := c.admit(&j); err != nil {
		a.code, a.message = wire.RequestTimedOut, err.Error()
		return a
	}
	a.cluster = c.clusterID()
	return a
}

// judge says why a node may not come in, in words for the one who started it.
func (c *cluster) judge(j *joinRequest) peerRefusal {
	refuse := func(code wire.ErrorCode, format string, args ...any) peerRefusal {
		return peerRefusal{code, fmt.Sprintf(format, args...)}
	}
	m := c.node.Image()
	apart := time.Since(time.UnixMilli(j.clockMS)).Abs()
	b := m.Broker(j.node)
	switch {
	case j.format < api.FormatLevel(m):
		return refuse(wire.UnsupportedVersion, "the metadata is of ringmill.format %d, this release reads it up to %d; install %s", api.FormatLevel(m), j.format, Version())
	case apart > clockDifferenceMax:
		return refuse(wire.InvalidRequest, "the wall clock is %s away from the controller's; set it", apart.Round(time.Second))
	case b != nil && b.DirectoryID != j.directory && !b.Fenced:
		return refuse(wire.DuplicateBrokerRegistration, "node id %d belongs to a node that is alive, at %s; start this one with another --set node.id", j.node, endpointText(b))
	}
	return peerRefusal{}
}

func endpointText(b *image.Broker) string {
	if len(b.Endpoints) == 0 {
		return "an unknown address"
	}
	return fmt.Sprintf("%s:%d", b.Endpoints[0].Host, b.Endpoints[0].Port)
}

// admit makes a node a learner of the quorum. What the quorum knows of learners that the node was before, with a disk that is lost, goes. A
// voter stays until the node votes in its place (keepVoters), or where ringmill.quorum.voters is 0 until an operator has removed it.
func (c *cluster) admit(j *joinRequest) error {
	stale, known := c.earlierSelves(j)
	if known {
		return nil
	}
	for _, key := range stale {
		if err := c.changeMembers(func(q *quorum.Quorum, number uint64) error { return q.Remove(number, key) }); err != nil {
			return err
		}
	}
	host, port, err := splitHostPort(j.address)
	if err != nil {
		return err
	}
	learner := quorum.Member{
		ReplicaKey: quorum.ReplicaKey{NodeID: j.node, DirectoryID: j.directory},
		Endpoints:  []quorum.Endpoint{{Listener: c.node.interBroker().name, Host: host, Port: port}},
	}
	seen := slices.ContainsFunc(c.agent.Members(), func(m member.Info) bool { return m.NodeID == j.node && m.DirectoryID == j.directory })
	err = c.changeMembers(func(q *quorum.Quorum, number uint64) error {
		if !seen && unregistered(q.Members(), c.quorum.controller.working) >= unregisteredMax {
			return errUnregistered
		}
		return q.AddLearner(number, learner)
	})
	if errors.Is(err, errUnregistered) {
		c.node.log.throttled("a node was not taken into the cluster now", "node", int(j.node), "address", j.address, "why", err)
	}
	return err
}

// earlierSelves are the learners that a node was with other directories; known says that it is a member with this one already.
func (c *cluster) earlierSelves(j *joinRequest) (stale []quorum.ReplicaKey, known bool) {
	then := "the new one takes its place once it has caught up"
	if c.node.Config().QuorumVoters == 0 {
		then = "remove it and add the new one, with ringmill cluster voters"
	}
	c.quorum.inbox.do(func() {
		for _, m := range c.quorum.q.Members() {
			switch {
			case m.DirectoryID == j.directory:
				known = true
				c.quorum.learn(m.RaftID(), j.address) // it may have moved
			case m.NodeID == j.node && !m.Voter:
				stale = append(stale, m.ReplicaKey)
			case m.NodeID == j.node:
				slog.Warn("a voter of the metadata quorum has lost its directory: "+then, "node", int(j.node), "directory", m.DirectoryID.String())
			}
		}
	})
	return stale, known
}

// unregisteredMax bounds the learners that were taken in and have not registered, unless gossip tells of the next one: whoever only asks to be
// taken in, under ever new names, fills nothing with them, and keeps nobody out. Nodes that start together are fewer, or wait for each other.
const unregisteredMax = 32

var errUnregistered = fmt.Errorf("node: %d nodes have joined and not registered, and gossip does not tell of this one", unregisteredMax)

// unregistered counts the learners that are not, as they are, registered.
func unregistered(members []quorum.Member, m *image.Image) (count int) {
	for _, l := range members {
		if b := m.Broker(l.NodeID); !l.Voter && (b == nil || b.DirectoryID != l.DirectoryID) {
			count++
		}
	}
	return count
}
