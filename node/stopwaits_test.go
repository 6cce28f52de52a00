package node

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestStopAnswersWhoWaits: members that wait for others, and fetches that wait for records, have minutes. A stop answers them at once:
// their clients go elsewhere, and the node does not wait for them. The time it would leave them is longer than any test may take.
func TestStopAnswersWhoWaits(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, seams: func(s *seams) { s.drainTimeout = 2 * patience },
			set: []string{"group.initial.rebalance.delay.ms=600000", "share.coordinator.state.topic.num.partitions=2"}})
		topic := tn.shareTopic("t")
		join, share := tn.dial(), tn.shareReader(topic, 1)
		tn.awaitCoordinator(join, "waiting")
		join.send(longJoin("waiting", 10))
		req := share.request()
		req.MaxWaitMillis = 2 * patienceMS
		share.send(req)
		await(t, "both to wait", func() bool {
			fetches := 0
			tn.shares.inbox.do(func() {
				for _, sp := range tn.shares.parts {
					fetches += len(sp.waiters)
				}
			})
			return tn.waitingJoins() == 1 && fetches == 1
		})
		stopped := make(chan error)
		go func() { stopped <- tn.stop() }()
		if got := join.mustReceive().(*kmsg.JoinGroupResponse); wire.ErrorCode(got.ErrorCode) != wire.NotCoordinator {
			t.Errorf("JoinGroup: %v", wire.ErrorCode(got.ErrorCode))
		}
		if got := share.mustReceive().(*kmsg.ShareFetchResponse); got.ErrorCode != 0 {
			t.Errorf("ShareFetch: %v", wire.ErrorCode(got.ErrorCode))
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
