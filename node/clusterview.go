package node

import (
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/wire"
)

// Clustered reports whether the node is one of several.
func (n *Node) Clustered() bool { return n.cluster != nil }

// isMember says that the node belongs to a cluster by now.
func (n *Node) isMember() bool { return n.cluster != nil && n.cluster.member.Load() }

// Controller is the node that decides; NoNode while there is none.
func (n *Node) Controller() wire.NodeID {
	if n.cluster == nil {
		return n.Config().NodeID
	}
	return n.cluster.quorum.view.Load().controller
}

// Control has the controller answer a request, if this node is that.
func (n *Node) Control(req kmsg.Request) kmsg.Response {
	switch r := req.(type) {
	case *kmsg.DescribeQuorumRequest:
		return n.cluster.describeQuorum(r)
	case *kmsg.AddRaftVoterRequest:
		return n.cluster.addVoter(r)
	case *kmsg.RemoveRaftVoterRequest:
		return n.cluster.removeVoter(r)
	case *kmsg.UnregisterBrokerRequest:
		return n.cluster.unregister(r)
	}
	return n.cluster.control(req)
}

// staticConfig is the node's configuration without what is set at run time.
func (n *Node) staticConfig() *config.Config {
	cfg := n.Config()
	static, err := cfg.WithDynamic(nil, nil)
	if err != nil {
		return cfg
	}
	return static
}

// controllerConfig is what the controller goes by.
func (n *Node) controllerConfig() controller.Config {
	cfg, static := n.Config(), n.staticConfig()
	c := controller.Config{
		SessionTimeout:           time.Duration(cfg.BrokerSessionTimeoutMS) * time.Millisecond,
		NumPartitions:            cfg.NumPartitions,
		DefaultReplicationFactor: cfg.DefaultReplicationFactor,
		UncleanCheck:             uncleanCheck,
		MinISR: func(m *image.Image, t *image.Topic) int {
			if v, err := strconv.Atoi(strings.TrimSpace(overrideOf(m, t, "min.insync.replicas"))); err == nil {
				return v
			}
			return static.MinInSyncReplicas()
		},
		UncleanElection: func(m *image.Image, t *image.Topic) bool {
			if v := overrideOf(m, t, "unclean.leader.election.enable"); v != "" {
				return strings.EqualFold(strings.TrimSpace(v), "true")
			}
			topic, err := static.Topic(nil)
			return err == nil && topic.UncleanLeaderElectionEnabled
		},
		Random: newRandom(),
	}
	if cfg.AutoLeaderRebalance {
		c.LeaderRebalance = time.Duration(cfg.LeaderImbalanceCheckS) * time.Second
	}
	return c
}

// overrideOf is a topic's own value of a property in m, or that of all nodes; "" if there is neither. The controller judges by the image that it
// decides on, which the node's configuration does not follow yet.
func overrideOf(m *image.Image, t *image.Topic, key string) string {
	if v, ok := t.Configs[key]; ok {
		return v
	}
	return m.BrokerConfigs("")[key]
}

// uncleanCheck is Kafka's unclean.leader.election.interval.ms, which is internal there.
const uncleanCheck = 5 * time.Minute
