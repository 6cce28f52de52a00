package node

import (
	"log/slog"
	"sync/atomic"
	"time"

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
	// quiet says that no refusal is logged for a moment; left counts those that were not.
	quiet atomic.Bool
	left  atomic.Int64
}

// denialsQuiet is how long nothing is logged once there were too many refusals: a load and an addition is what one costs then.
const denialsQuiet = time.Second

// Denied logs what a client was refused, as a few lines each ten seconds, and how many there were besides. Kafka's kafka.authorizer.logger has a
// line for each.
func (n *Node) Denied(client *api.Client, key wire.APIKey, op image.ACLOperation, t image.ACLResourceType, name string) {
	logDenied(n, client, key, op, t, name)
}

// denied is Denied for this connection's client.
func (c *Conn) denied(key wire.APIKey, op image.ACLOperation, t image.ACLResourceType, name []byte) {
	logDenied(c.loop.node, &c.client, key, op, t, name)
}

// logDenied makes a text of the name where it is logged alone.
func logDenied[S ~string | ~[]byte](n *Node, client *api.Client, key wire.APIKey, op image.ACLOperation, t image.ACLResourceType, name S) {
	const message = "refused by the authorizer"
	a := &n.authorizers
	if a.quiet.Load() {
		a.left.Add(1)
		return
	}
	left, ok := n.log.admit(message, time.Now())
	if !ok {
		if a.quiet.CompareAndSwap(false, true) {
			time.AfterFunc(denialsQuiet, func() { a.quiet.Store(false) })
		}
		return
	}
	n.log.write(slog.LevelInfo, message, left+int(a.left.Swap(0)), "principal", client.ACL().Principal, "host", client.Host, "operation", op.String(),
		"resource", t.String(), "name", string(name), "api", key.String(), "client", client.ID)
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

// warnOfNobody tells of an authorizer that lets nobody do anything, which nobody can mend by ACLs.
func (n *Node) warnOfNobody() {
	if cfg := n.Config(); cfg.Authorizer && len(cfg.SuperUsers) == 0 && !cfg.AllowEveryoneWithoutACL && len(n.Image().ACLs()) == 0 {
		slog.Warn("nobody may do anything: there are neither super users nor ACLs; name those who may make ACLs in super.users, as in User:admin")
	}
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

// mayReadTopic decides for a ShareFetch, off the loops.
func (n *Node) mayReadTopic(client api.Client, topic string) bool {
	a := n.Authorizer()
	allowed := a == nil || a.Allows(client.ACL(), image.ACLOperationRead, image.ACLResourceTopic, topic)
	if !allowed {
		n.Denied(&client, wire.KeyShareFetch, image.ACLOperationRead, image.ACLResourceTopic, topic)
	}
	return allowed
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
// topics that are there are kept, so that a client cannot fill memory with names. A refusal is logged when it is decided.
func (c *Conn) mayReadTopic(name []byte, t *topic) bool {
	return c.decided(wire.KeyFetch, name, t, image.ACLOperationRead, readDecided, readAllowed)
}

func (c *Conn) mayWriteTopic(name []byte, t *topic) bool {
	return c.decided(wire.KeyProduce, name, t, image.ACLOperationWrite, writeDecided, writeAllowed)
}

func (c *Conn) decided(key wire.APIKey, asked []byte, t *topic, op image.ACLOperation, decided, allowed grant) bool {
	a := c.loop.node.Authorizer()
	switch {
	case a == nil:
		return true
	case t == nil:
		may := a.Allows(c.client.ACL(), op, image.ACLResourceTopic, string(asked))
		if !may {
			c.denied(key, op, image.ACLResourceTopic, asked)
		}
		return may
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
		} else {
			logDenied(c.loop.node, &c.client, key, op, image.ACLResourceTopic, t.name)
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
	c.denied(wire.KeyProduce, image.ACLOperationWrite, image.ACLResourceTransactionalID, in.TransactionalID)
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
