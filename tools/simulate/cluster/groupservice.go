package cluster

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/wire"
)

// groupService runs a node's group coordinators (node/groups.go).
type groupService struct {
	node   *Node
	shards *shards[*group.Coordinator, group.Effects]
	topics int // that the coordinators know of
}

type groupShard = shard[*group.Coordinator, group.Effects]

func newGroupService(n *Node) *groupService {
	g := &groupService{node: n}
	g.shards = newShards(n, shardKind[*group.Coordinator, group.Effects]{
		empty: g.empty,
		replay: func(c *group.Coordinator, b wire.RecordBatch, rec wire.Record) error {
			if m, ok := wire.ReadTxnMarker(b); ok {
				c.LoadTxnEnd(b.ProducerID(), m.Commit)
				return nil
			}
			if b.IsTransactional() {
				return c.LoadTxn(b.ProducerID(), rec)
			}
			return c.Load(rec)
		},
		begin: func(c *group.Coordinator) group.Effects {
			c.SetTopics(n.image, true)
			return c.Loaded(n.nowMS())
		},
		apply: g.apply,
	})
	return g
}

// The times of groups: short, as all of a run's.
const (
	groupSessionMS   = 500
	groupHeartbeatMS = 100
	groupRebalanceMS = 400
)

func (g *groupService) empty(*replica) *group.Coordinator {
	cfg := group.DefaultConfig()
	cfg.ConsumerSessionTimeoutMS, cfg.ConsumerHeartbeatIntervalMS = groupSessionMS, groupHeartbeatMS
	cfg.MinSessionTimeoutMS, cfg.InitialRebalanceDelayMS = groupSessionMS, 50
	c := group.New(cfg, g.node.cluster.world.Coordinators.Uint64())
	c.SetTopics(g.node.image, true)
	return c
}

// handle has the coordinator of a place answer a request.
func (g *groupService) handle(place int, req kmsg.Request, answer func(kmsg.Response)) {
	s := g.shards.byIdx[place]
	if s == nil {
		answer(group.Refuse(req, wire.NotCoordinator))
		return
	}
	h := s.take(answer, func() { answer(group.Refuse(req, wire.NotCoordinator)) })
	g.apply(s, s.coordinator.Handle(g.node.nowMS(), g.node.wallClock(), group.Handle(h), group.Client{ID: "simulated", Host: "/"}, req))
}

// apply does what a coordinator asks for. There are no share groups, so that it asks no share coordinator.
func (g *groupService) apply(s *groupShard, fx group.Effects) {
	s.due(fx.NextTickMS)
	for _, r := range fx.Replies {
		s.answer(uint64(r.Handle), r.Response)
	}
	for _, a := range fx.Appends {
		b := internalBatch{records: a.Records}
		if t := a.Txn; t != nil {
			b.batch = wire.BatchHeader{
				Transactional: true, Idempotent: true, ProducerID: t.ProducerID, ProducerEpoch: t.ProducerEpoch, BaseSequence: wire.NoSequence,
			}
			b.claim = claim{id: t.TransactionalID, implicit: t.Implicit}
		}
		s.append(b, func(c *group.Coordinator, code wire.ErrorCode) group.Effects {
			return c.Appended(g.node.nowMS(), a.ID, code)
		})
	}
}

// txnEnded tells the coordinator of a place that a marker is durable there, then calls then.
func (g *groupService) txnEnded(place int, m txnMarker, then func()) {
	n := g.node
	n.later(func() {
		s := g.shards.byIdx[place]
		if s == nil { // the next coordinator reads the marker with its log
			then()
			return
		}
		s.whenLoaded(func() {
			g.apply(s, s.coordinator.TxnEnded(n.nowMS(), n.wallClock(), m.producerID, m.commit))
			then()
		}, then)
	})
}

// topicsChanged gives the coordinators the topics as they are now, if there are others.
func (g *groupService) topicsChanged() {
	m := g.node.image
	if count := m.TopicCount(); count != g.topics {
		g.topics = count
		g.node.later(func() {
			for _, s := range g.shards.byIdx {
				if s != nil {
					s.coordinator.SetTopics(m, true)
				}
			}
		})
	}
}
