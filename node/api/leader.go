package api

import "github.com/ringmill/ringmill/wire"

// leaderOf finds a partition for a client that believes in a leader epoch (KIP-320): one that is behind is FENCED, one
// that is ahead must wait until this node has caught up. NoLeaderEpoch is not checked.
func leaderOf(b Broker, topic string, index wire.PartitionIndex, believed wire.LeaderEpoch) (Partition, wire.ErrorCode) {
	p, code := b.Partition(topic, index)
	if code != wire.None {
		return nil, code
	}
	switch epoch := p.LeaderEpoch(); {
	case believed == wire.NoLeaderEpoch || believed == epoch:
		return p, wire.None
	case believed < epoch:
		return nil, wire.FencedLeaderEpoch
	}
	return nil, wire.UnknownLeaderEpoch
}

// repeated finds what a request names more than once.
func repeated[K comparable](each func(yield func(K) bool)) map[K]bool {
	seen := make(map[K]bool)
	for k := range each {
		_, again := seen[k]
		seen[k] = again
	}
	return seen
}
