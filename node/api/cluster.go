package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// ForController reports whether a request of a key is the controller's to answer: in a cluster the node that it comes to forwards it.
func ForController(k wire.APIKey) bool {
	switch k {
	case wire.KeyCreateTopics, wire.KeyDeleteTopics, wire.KeyCreatePartitions, wire.KeyAlterConfigs, wire.KeyIncrementalAlterConfigs,
		wire.KeyAlterClientQuotas, wire.KeyAlterUserSCRAMCredentials, wire.KeyCreateACLs, wire.KeyDeleteACLs, wire.KeyUpdateFeatures, wire.KeyElectLeaders, wire.KeyAlterPartitionReassignments,
		wire.KeyListPartitionReassignments, wire.KeyDescribeQuorum, wire.KeyUnregisterBroker, wire.KeyAddRaftVoter, wire.KeyRemoveRaftVoter:
		return true
	}
	return false
}

// BetweenNodes reports whether only nodes of a cluster send requests of a key to each other. They are answered before the node
// serves clients, and a node of its own does not know them.
func BetweenNodes(k wire.APIKey) bool {
	switch k {
	case wire.KeyAlterPartition, wire.KeyBrokerRegistration, wire.KeyBrokerHeartbeat, wire.KeyAllocateProducerIDs:
		return true
	}
	return false
}

// InCluster reports whether a key is served in a cluster alone.
func InCluster(k wire.APIKey) bool {
	return k >= 0 && int(k) < len(served) && served[k] != nil && (served[k].hidden || served[k].clustered)
}

// HereAlone reports whether a request of one of the controller's keys is for the node that it came to: one that changes what its
// process logs. A request that cannot be read is; whoever answers it finds out.
func HereAlone(r *Request) bool {
	if r.Header.Key != wire.KeyIncrementalAlterConfigs {
		return false
	}
	req, err := decode(r.Header, slices.Clone(r.Body))
	return err != nil || altersLoggers(req)
}

// altersLoggers reports whether a request changes what the process of a node logs.
func altersLoggers(req kmsg.Request) bool {
	r, ok := req.(*kmsg.IncrementalAlterConfigsRequest)
	return ok && slices.ContainsFunc(r.Resources, func(r kmsg.IncrementalAlterConfigsRequestResource) bool {
		return r.ResourceType == kmsg.ConfigResourceTypeBrokerLogger
	})
}

// clusterNode is one node as clients are told of it.
type clusterNode struct {
	id     int32
	host   string
	port   int32
	rack   string
	fenced bool
}

// clusterNodes are the nodes that a client of a listener can reach, by id: those that have a listener of that name. Fenced ones are
// left out unless they are asked for. A node of its own is the only one.
func clusterNodes(b Broker, m *image.Image, listener string, fenced bool) (nodes []clusterNode) {
	if !b.Clustered() {
		cfg := b.Config()
		host, port := b.Advertised(listener)
		return []clusterNode{{id: int32(cfg.NodeID), host: host, port: port, rack: cfg.BrokerRack}}
	}
	for n := range m.Brokers() {
		if e, ok := n.Endpoint(listener); ok && (fenced || !n.Fenced) {
			nodes = append(nodes, clusterNode{int32(n.ID), e.Host, e.Port, n.Rack, n.Fenced})
		}
	}
	return nodes
}

// leadership is who leads a partition and who has it, as clients are told.
type leadership struct {
	leader, epoch             int32
	replicas, inSync, offline []int32
	// eligible are the ELR, lastEligible who was last in it (KIP-966).
	eligible, lastEligible []int32
}

// leadershipOf is a partition's leadership; own, the one-element list of this node, is shared between all partitions of an answer. Of
// a node of its own nobody leads while the log directory is offline.
func leadershipOf(b Broker, m *image.Image, t *image.Topic, index wire.PartitionIndex, own []int32) leadership {
	if s := t.State(index); s != nil {
		return leadershipIn(m, s)
	}
	p, code := b.Partition(t.Name, index)
	if code != wire.None {
		return leadership{leader: -1, epoch: int32(wire.NoLeaderEpoch), replicas: own, inSync: own, offline: own, eligible: none, lastEligible: none}
	}
	return leadership{leader: own[0], epoch: int32(p.LeaderEpoch()), replicas: own, inSync: own, eligible: none, lastEligible: none}
}

// none is the empty list; null is another thing in some responses.
var none = []int32{}

// leadershipIn is that of a cluster: replicas of nodes that are fenced or gone are offline.
func leadershipIn(m *image.Image, s *image.PartitionState) leadership {
	l := leadership{
		leader: int32(s.Leader), epoch: int32(s.LeaderEpoch), replicas: wire.NodeNumbers(s.Replicas), inSync: wire.NodeNumbers(s.ISR),
		eligible: wire.NodeNumbers(s.ELR), lastEligible: wire.NodeNumbers(s.LastKnownELR), offline: none,
	}
	for _, id := range s.Replicas {
		if n := m.Broker(id); n == nil || n.Fenced {
			l.offline = append(l.offline, int32(id))
		}
	}
	return l
}

// coordinatorOf is the node that leads a key's partition of an internal topic, and so coordinates it.
func coordinatorOf(b Broker, topic, key, listener string) (n clusterNode, found bool) {
	m := b.Image()
	leader := b.Config().NodeID
	if b.Clustered() {
		t := m.ByName(topic)
		if t == nil {
			return n, false
		}
		s := t.State(wire.PartitionIndex(group.PartitionFor(key, t.Partitions)))
		if s == nil {
			return n, false
		}
		leader = s.Leader
	}
	for _, n := range clusterNodes(b, m, listener, false) {
		if n.id == int32(leader) {
			return n, true
		}
	}
	return n, false
}
