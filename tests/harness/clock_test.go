package harness

import (
	"testing"
	"time"
)

// TestClock: a node has the time that its clock is set to, at once, and other nodes have the machine's.
func TestClock(t *testing.T) {
	clock := NewClock(t)
	n := StartRingmill(t, Options{Place: Place{Clock: clock}})
	topic := n.CreateTopic(t, "clock", 1, "message.timestamp.type=LogAppendTime")
	for i, off := range []time.Duration{time.Hour, -90 * time.Minute, 0} {
		clock.Set(off)
		n.Produce(t, topic, []string{"v"})
		at := n.Consume(t, topic, i+1)[i].Timestamp
		if apart := (time.Until(at) - off).Abs(); apart > 10*time.Minute {
			t.Errorf("with a clock %v off a record has the time %v", off, at)
		}
		if read := clock.Reads() > 0; i == 0 && !read {
			t.Error("nobody has read the clock")
		}
	}
}
