package node

import (
	"sync/atomic"

	"github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// authorizers publish who may do what. Anybody reads the present one without a lock; whoever publishes an image replaces it where the
// ACLs are others.
type authorizers struct {
	rules   acl.Rules
	present atomic.Pointer[acl.Authorizer] // nil where nobody is restricted
}

// Authorizer decides who may do what; nil where nobody is restricted.
func (n *Node) Authorizer() *acl.Authorizer { return n.authorizers.present.Load() }

// restrict begins with super users alone, as long as no ACL is known, where an authorizer is configured.
func (n *Node) restrict() {
	cfg := n.Config()
	if !cfg.Authorizer {
		return
	}
	n.authorizers.rules = acl.Rules{SuperUsers: cfg.SuperUsers, AllowEveryone: cfg.AllowEveryoneWithoutACL}
	n.authorizers.present.Store(acl.Rules{SuperUsers: cfg.SuperUsers}.Authorizer(nil))
}

// checkNodesMayAsk refuses to start a node of a cluster that the others would not answer. The configuration says so already of one that it
// makes a cluster's; a node that was one stays one without.
func (n *Node) checkNodesMayAsk() error {
	if a := n.Authorizer(); a != nil && !a.Super("User:"+api.AnonymousUser) {
		return &StartError{Path: "super.users", Problem: "the nodes of a cluster ask each other without authentication, and would be refused before they know any ACL",
			Cure: "add User:" + api.AnonymousUser + ", and keep their listener from others"}
	}
	return nil
}

// publish makes m the metadata that everybody reads. Who may do what follows first, so that nobody sees a topic whose ACLs are not in
// force yet. Images are published one after the other.
func (n *Node) publish(m *image.Image) {
	before := n.image.Load()
	if n.Authorizer() != nil && (before == nil || before.Version() == 0 || !image.SameACLs(before, m)) {
		n.authorizers.present.Store(n.authorizers.rules.Authorizer(m.ACLs()))
	}
	n.image.Store(m)
}

// mayReadTopic decides for a request off the loops.
func (n *Node) mayReadTopic(client api.Client, topic string) bool {
	a := n.Authorizer()
	return a == nil || a.Allows(client.ACL(), image.ACLOperationRead, image.ACLResourceTopic, topic)
}

// describer says which topics a client may know of; nil where nobody is restricted.
func (n *Node) describer(client api.Client) func(topic string) bool {
	a := n.Authorizer()
	if a == nil {
		return nil
	}
	who := client.ACL()
	return func(topic string) bool {
		return a.Allows(who, image.ACLOperationDescribe, image.ACLResourceTopic, topic)
	}
}

// grants is what a connection's client may do with topics, as it was decided when it first asked for them. It begins anew when the ACLs
// or the client are others.
type grants struct {
	by     *acl.Authorizer
	user   string
	client acl.Client
	topics map[string]grant
}

// grant is what was decided about a topic: two bits for each operation that a loop asks for.
type grant uint8

const (
	readDecided grant = 1 << iota
	readAllowed
	writeDecided
	writeAllowed
)

// grantsMax bounds the topics that a connection's decisions are kept of, 40 bytes each: beyond it they begin anew.
const grantsMax = 1000

// mayReadTopic and mayWriteTopic decide about a topic as a request names it; t is nil if there is none of that name. Only decisions about
// topics that are there are kept, so that a client cannot fill memory with names.
func (c *Conn) mayReadTopic(name []byte, t *topic) bool {
	return c.decided(name, t, image.ACLOperationRead, readDecided, readAllowed)
}

func (c *Conn) mayWriteTopic(name []byte, t *topic) bool {
	return c.decided(name, t, image.ACLOperationWrite, writeDecided, writeAllowed)
}

func (c *Conn) decided(asked []byte, t *topic, op image.ACLOperation, decided, allowed grant) bool {
	a := c.loop.node.Authorizer()
	switch {
	case a == nil:
		return true
	case t == nil:
		return a.Allows(c.client.ACL(), op, image.ACLResourceTopic, string(asked))
	}
	g := &c.grants
	if g.by != a || g.user != c.client.User || len(g.topics) >= grantsMax {
		*g = grants{by: a, user: c.client.User, client: c.client.ACL(), topics: make(map[string]grant)}
	}
	known := g.topics[t.name]
	if known&decided == 0 {
		known |= decided
		if a.Allows(g.client, op, image.ACLResourceTopic, t.name) {
			known |= allowed
		}
		g.topics[t.name] = known
	}
	return known&allowed != 0
}

// refusesTransaction is the answer to a Produce whose transactional id the client may not use. As in Kafka the id counts only where there
// is a batch of a transaction.
func (c *Conn) refusesTransaction(in *wire.ProduceRequest) wire.ErrorCode {
	a := c.loop.node.Authorizer()
	if a == nil || len(in.TransactionalID) == 0 || !transactional(in) ||
		a.Allows(c.client.ACL(), image.ACLOperationWrite, image.ACLResourceTransactionalID, string(in.TransactionalID)) {
		return wire.None
	}
	return wire.TransactionalIDAuthorizationFailed
}

// transactional reports whether a Produce has a batch of a transaction.
func transactional(in *wire.ProduceRequest) bool {
	for i := range in.Topics {
		for _, p := range in.Topics[i].Partitions {
			if b, _, err := wire.ReadRecordBatch(p.Records); err == nil && b.IsTransactional() {
				return true
			}
		}
	}
	return false
}

// mayActForCluster decides whether the client may ask what nodes ask each other.
func (c *Conn) mayActForCluster() bool {
	a := c.loop.node.Authorizer()
	return a == nil || a.Allows(c.client.ACL(), image.ACLOperationClusterAction, image.ACLResourceCluster, image.ACLClusterName)
}
