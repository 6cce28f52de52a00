package node

import (
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// preferredReplica is the replica that a consumer is sent to since it is in the consumer's rack and this one, the leader, is not;
// wire.NoNode if it is to read here. As ReplicaManager.findPreferredReadReplica and RackAwareReplicaSelector have it (KIP-392): of the
// replicas in sync that have the offset, the one with the most records, the one that was caught up last, the one with the highest id.
func (l *Loop) preferredReplica(by *fetcherOf, p *fetchPart) wire.NodeID {
	if !by.anyReplica || by.rack == "" || p.part.replica.Role() != replicate.Leading || !l.node.Config().RackAwareReads() {
		return wire.NoNode
	}
	l.replicaViews = p.part.replica.AppendReplicas(l.replicaViews[:0], l.mono)
	m, best := l.node.Image(), (*replicate.ReplicaView)(nil)
	for i := range l.replicaViews {
		r := &l.replicaViews[i]
		if !inRack(m, r.ID, by.rack) {
			continue
		}
		if i == 0 { // the leader
			return wire.NoNode
		}
		if has := r.InSync && r.LogEnd >= p.ask.FetchOffset && r.LogStart <= p.ask.FetchOffset; has && (best == nil || better(r, best)) {
			best = r
		}
	}
	if best == nil {
		return wire.NoNode
	}
	return best.ID
}

func inRack(m *image.Image, id wire.NodeID, rack string) bool {
	b := m.Broker(id)
	return b != nil && !b.Fenced && b.Rack == rack
}

// better is ReplicaView.comparator().
func better(r, than *replicate.ReplicaView) bool {
	switch {
	case r.LogEnd != than.LogEnd:
		return r.LogEnd > than.LogEnd
	case r.Behind != than.Behind:
		return r.Behind < than.Behind
	}
	return r.ID > than.ID
}
