package replicate_test

import (
	"testing"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// A fetch under a broker epoch that no broker is registered under, from whomever, keeps nobody out. One of an earlier run does not count any
// more when a later one has fetched.
func TestBrokerEpochsThatAreMadeUp(t *testing.T) {
	p := replicate.NewReplica(alone(t).Log(), replicate.FlushCommit, 0)
	var eff replicate.Effects
	p.Lead(0, replicate.LeaderState{Metadata: replicate.Metadata{Version: 1, Epoch: 1, PartitionEpoch: 1}, Self: 1, Replicas: []wire.NodeID{1, 2}, ISR: []wire.NodeID{1, 2}, MinISR: 1, LagMax: 1 << 40}, &eff)
	for _, fetch := range []struct {
		epoch      wire.BrokerEpoch
		registered bool
		want       wire.ErrorCode
	}{
		{7, true, wire.None},
		{1 << 40, false, wire.None},
		{7, true, wire.None},
		{6, false, wire.NotLeaderOrFollower},
		{9, true, wire.None},
		{7, false, wire.NotLeaderOrFollower},
		{wire.NoBrokerEpoch, false, wire.None},
		{7, false, wire.NotLeaderOrFollower},
	} {
		pos := replicate.ReplicaPosition{Replica: 2, BrokerEpoch: fetch.epoch, Eligible: fetch.registered, LastEpoch: wire.NoLeaderEpoch, CurrentEpoch: wire.NoLeaderEpoch}
		if got := p.ReplicaFetch(1, pos, &eff); got.Code != fetch.want {
			t.Errorf("a fetch under epoch %d: %v, want %v", fetch.epoch, got.Code, fetch.want)
		}
	}
}
