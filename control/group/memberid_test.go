package group

import (
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestLongMemberIDs: a member's id begins with its client's or its instance's, and must be a string of the protocol as a whole.
// Apache Kafka 4.1.1 answers both with UNKNOWN_SERVER_ERROR.
func TestLongMemberIDs(t *testing.T) {
	for _, n := range []int{memberPrefixMax, memberPrefixMax + 1, math.MaxInt16} {
		long := strings.Repeat("c", n)
		for name, join := range map[string]func(m *machine, req *kmsg.JoinGroupRequest){
			"client":   func(m *machine, req *kmsg.JoinGroupRequest) { m.send("A", long, req) },
			"instance": func(m *machine, req *kmsg.JoinGroupRequest) { req.InstanceID = &long; m.send("A", "c", req) },
		} {
			m := newMachine(measuredConfig())
			req := kmsg.NewPtrJoinGroupRequest()
			req.Version, req.Group, req.ProtocolType, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 5, "g", "consumer", 10_000, 1
			req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range"}}
			join(m, req)
			m.advance(10_000)
			resp := m.settle()[0].resp.(*kmsg.JoinGroupResponse)
			refused := wire.ErrorCode(resp.ErrorCode) == wire.UnknownServerError && resp.MemberID == ""
			if refused != (n > memberPrefixMax) || len(resp.MemberID) > math.MaxInt16 {
				t.Errorf("%s id of %d bytes: %s, a member id of %d", name, n, wire.ErrorCode(resp.ErrorCode), len(resp.MemberID))
			}
		}
	}
}
