package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestWallClockJumps: a member's session is timed by the monotonic clock alone: an hour of the wall clock, either way, neither ends
// it nor keeps it from its end (nats-server#6999 is the report of the kind).
func TestWallClockJumps(t *testing.T) {
	const hourMS = 3_600_000
	for _, jump := range []wire.Timestamp{hourMS, -hourMS} {
		cfg := measuredConfig()
		cfg.InitialRebalanceDelayMS = 0
		c := New(cfg, 1)
		c.Loaded(0)
		join := kmsg.NewPtrJoinGroupRequest()
		join.Version, join.Group, join.ProtocolType = 3, "g", "consumer"
		join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = 10_000, 10_000
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
		fx := c.Handle(1000, wallEpoch, 1, Client{}, join)
		for fx.Replies == nil {
			fx = c.Tick(fx.NextTickMS, wallEpoch)
		}
		joined := fx.Replies[0].Response.(*kmsg.JoinGroupResponse)
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Version, beat.Group, beat.MemberID, beat.Generation = 3, "g", joined.MemberID, joined.Generation
		told := func(nowMS int64) wire.ErrorCode {
			c.Tick(nowMS, wallEpoch+jump)
			replies := c.Handle(nowMS, wallEpoch+jump, 2, Client{}, beat).Replies
			return wire.ErrorCode(replies[0].Response.(*kmsg.HeartbeatResponse).ErrorCode)
		}
		if code := told(5000); code == wire.UnknownMemberID {
			t.Errorf("a jump of %d ms ended the session", jump)
		}
		if code := told(60_000); code != wire.UnknownMemberID {
			t.Errorf("a jump of %d ms, then the session's end: %s, want UNKNOWN_MEMBER_ID", jump, code)
		}
	}
}
