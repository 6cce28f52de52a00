package node

import (
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// clockDifferenceMax is how far a node's wall clock may be from the controller's: records get their timestamps from it, and retention goes by
// those. One that is further off does not come in (cluster.judge). A member whose clock goes wrong later is told, and serves on: it may be the
// controller's that is wrong, and no record is safer with fewer nodes.
const clockDifferenceMax = 10 * time.Minute

// tellClock adds the controller's wall clock to its answer to a heartbeat.
func tellClock(resp *kmsg.BrokerHeartbeatResponse, now time.Time) {
	resp.UnknownTags.Set(tagClock, binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli())))
}

// compareClocks holds this node's wall clock against the controller's. The answer was under way for some seconds at most, which is nothing to the
// difference that matters.
func (n *Node) compareClocks(resp *kmsg.BrokerHeartbeatResponse, now time.Time) {
	resp.UnknownTags.Each(func(tag uint32, value []byte) {
		if tag != tagClock || len(value) != 8 {
			return
		}
		ahead := time.Duration(now.UnixMilli()-int64(binary.BigEndian.Uint64(value))) * time.Millisecond
		n.metrics.clockAheadS.Store(int64(ahead / time.Second))
		if ahead.Abs() > clockDifferenceMax {
			n.log.throttled("the wall clock is not the controller's: set it", "ahead", ahead.Round(time.Second))
		}
	})
}
