package node

import (
	"math"
	"testing"
	"time"

	"github.com/ringmill/ringmill/wire"
)

func TestReplicationQuota(t *testing.T) {
	const rate = 1000
	var q replicationQuota
	for _, step := range []struct {
		at   time.Duration
		take int64
		want int64
	}{
		{time.Minute, 0, 1000}, // no more than a second's is saved up
		{time.Minute, 1500, -500},
		{time.Minute + 400*time.Millisecond, 0, -100},
		{time.Minute, 0, -100}, // another loop's clock is a little behind
		{time.Minute + 500*time.Millisecond, 0, 0},
		{time.Minute + time.Second, 100, 400},
	} {
		q.take(step.take)
		if got := q.available(step.at, rate); got != step.want {
			t.Errorf("at %s: %d bytes, want %d", step.at, got, step.want)
		}
	}
	q.take(1 << 40)
	if got := q.available(2*time.Minute, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("without a bound: %d bytes", got)
	}
	if got := q.available(time.Hour*24*365, math.MaxInt64-1); got <= 0 {
		t.Errorf("with the largest bound: %d bytes", got)
	}
}

func TestThrottledReplicas(t *testing.T) {
	for _, test := range []struct {
		replicas []string
		index    wire.PartitionIndex
		node     wire.NodeID
		want     bool
	}{
		{nil, 0, 1, false},
		{[]string{"*"}, 7, 3, true},
		{[]string{"0:1", "1:2"}, 1, 2, true},
		{[]string{"0:1", "1:2"}, 0, 2, false},
		{[]string{"10:1"}, 0, 1, false},
	} {
		if got := throttles(test.replicas, test.index, test.node); got != test.want {
			t.Errorf("%v, partition %d of node %d: %v", test.replicas, test.index, test.node, got)
		}
	}
}
