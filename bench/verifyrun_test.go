package bench_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// A node that does nothing any more does not keep what is stored from being read where others lead.
func TestVerifyReadsBesideAStunnedNode(t *testing.T) {
	s := benchtest.New(3, benchtest.Constant(time.Millisecond))
	t.Cleanup(s.Close)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	v := bench.Verification{Addresses: s.Addresses()[1:], Topic: "verified", Partitions: 6, ReplicationFactor: 1, Producers: 1, RecordBytes: 100, Rate: 200,
		Duration: 1200 * time.Millisecond, Patience: 4 * time.Second}
	v.Progress = func(int64, time.Duration) { // after a second
		once.Do(func() {
			s.Stun(0)
			time.AfterFunc(5*time.Second, func() { s.Depose(0) }) // after the end of writing and what is waited for it
		})
	}
	verdict, err := v.Run(t.Context())
	if err != nil || verdict.Acknowledged == 0 || verdict.Lost != 0 {
		t.Errorf("%+v: %v", verdict, err)
	}
}

// One that is interrupted says that, and not what it could not read for it, and leaves no topic.
func TestVerifyInterrupted(t *testing.T) {
	s := benchtest.New(1, benchtest.Constant(time.Millisecond))
	t.Cleanup(s.Close)
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	v := bench.Verification{Addresses: s.Addresses(), Topic: "verified", Partitions: 2, ReplicationFactor: 1, Producers: 1, RecordBytes: 100, Rate: 200, Duration: time.Hour, Patience: 4 * time.Second}
	v.Progress = func(int64, time.Duration) { cancel() }
	if verdict, err := v.Run(ctx); verdict != nil || err == nil || err.Error() != context.Canceled.Error() || len(s.Topics()) > 0 {
		t.Errorf("%+v, %v, left behind %v", verdict, err, s.Topics())
	}
}
