package api

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// TestLongStrings: Apache Kafka 4.1.1 closes the connection of a client that sends a string of 32,768 bytes. Kept, it would make a
// record that cannot be read at the next start.
func TestLongStrings(t *testing.T) {
	of := func(n int) string { return strings.Repeat("g", n) }
	for _, n := range []int{math.MaxInt16, math.MaxInt16 + 1} {
		commit := commitRequest(of(n), commitTopic("v", 0, 7))
		topic := commitRequest("g", commitTopic(of(n), 0, 7))
		init := kmsg.NewPtrInitProducerIDRequest()
		init.TransactionalID = kmsg.StringPtr(of(n))
		heartbeat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		heartbeat.SubscribedTopicNames = []string{"v", of(n)}
		for _, req := range []kmsg.Request{commit, topic, init, heartbeat} {
			r, _ := Served(wire.APIKey(req.Key()))
			req.SetVersion(int16(r.Max))
			_, err := decode(wire.RequestHeader{Key: wire.APIKey(req.Key()), Version: r.Max}, req.AppendTo(nil))
			if long := n > math.MaxInt16; errors.Is(err, ErrLongString) != long {
				t.Errorf("%s with a string of %d bytes: %v", r.Name, n, err)
			}
		}
	}
}

// TestLongBytesAreNoStrings: what is not a string may be as long as the request.
func TestLongBytesAreNoStrings(t *testing.T) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = 5
	req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: "m", MemberAssignment: make([]byte, 1<<20)}}
	if _, err := decode(wire.RequestHeader{Key: wire.KeySyncGroup, Version: 5}, req.AppendTo(nil)); err != nil {
		t.Error(err)
	}
}
