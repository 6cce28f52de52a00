package controller

import (
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/reassign"
	"github.com/ringmill/ringmill/wire"
)

// Config is what a Controller is told by its node. It may be replaced between calls.
type Config struct {
	SessionTimeout time.Duration // broker.session.timeout.ms
	// MinISR gives a topic's min.insync.replicas, UncleanElection its unclean.leader.election.enable: the values in effect.
	MinISR          func(*image.Image, *image.Topic) int
	UncleanElection func(*image.Image, *image.Topic) bool

	NumPartitions            int32 // num.partitions, for -1
	DefaultReplicationFactor int16 // default.replication.factor, for -1

	// LeaderRebalance is leader.imbalance.check.interval.seconds; 0 if auto.leader.rebalance.enable is off. As in KRaft
	// leader.imbalance.per.broker.percentage has no effect.
	LeaderRebalance time.Duration
	// UncleanCheck is how often leaderless partitions are looked at for an unclean election beside when configurations
	// change (unclean.leader.election.interval.ms).
	UncleanCheck time.Duration

	Random reassign.Random // for the placement of new partitions
}

// movesMax bounds the elections of one step (Kafka's MAX_ELECTIONS_PER_IMBALANCE), and the partitions that drains move at a time.
const movesMax = 1000

// Controller decides for the cluster while its node leads the quorum.
type Controller struct {
	config   Config
	sessions map[wire.NodeID]*session
	index    index

	rebalanceAt time.Duration // when preferred leaders are next looked for
	uncleanAt   time.Duration
	drainAt     time.Duration
}

// New gives a Controller that has yet to be told of the cluster: BecomeController.
func New(config Config) *Controller {
	return &Controller{config: config, sessions: make(map[wire.NodeID]*session), index: newIndex()}
}

// Configure replaces the configuration.
func (c *Controller) Configure(config Config) { c.config = config }

// BecomeController begins a reign over m at now: all registered nodes are given a full session timeout.
func (c *Controller) BecomeController(m *image.Image, now time.Duration) {
	c.Rebase(m)
	clear(c.sessions)
	for b := range m.Brokers() {
		c.sessions[b.ID] = newSession(now)
	}
	c.rebalanceAt, c.uncleanAt, c.drainAt = now+c.config.LeaderRebalance, now, now
}

// Rebase goes on from m, which need not follow from the Image of the last call: a proposal was thrown away.
func (c *Controller) Rebase(m *image.Image) {
	c.index = newIndex()
	c.index.follow(m)
}

// Refusal is a code and what explains it to a person; the zero value refuses nothing.
type Refusal struct {
	Code    wire.ErrorCode
	Message string // "": none, as where Kafka has the code's own text alone
}
