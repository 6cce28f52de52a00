package bench_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// A rehearsal makes the topics, writes to each partition's leader, and is over in a moment, whatever the trial asks for; nothing is left of it.
func TestRehearsal(t *testing.T) {
	for name, change := range map[string]func(*bench.Trial){
		"an open loop":     func(*bench.Trial) {},
		"a closed loop":    func(t *bench.Trial) { t.Rate = 0 },
		"a low rate":       func(t *bench.Trial) { t.Rate = 0.01 },
		"large batches":    func(t *bench.Trial) { t.BatchRecords = 500 },
		"bursts":           func(t *bench.Trial) { t.Arrival = "burst:1000" },
		"franz":            func(t *bench.Trial) { t.Client, t.Consumers = bench.ClientFranz, 1 },
		"several topics":   func(t *bench.Trial) { t.Topics, t.Producers, t.Consumers = 3, 2, 1 },
		"a backlog":        func(t *bench.Trial) { t.Backlog = &bench.Backlog{Bytes: 1 << 40, Drained: 1}; t.Consumers = 1 },
		"keys of a choice": func(t *bench.Trial) { t.Keys, t.KeyChoice = 1000, "zipf:0.99" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(2, benchtest.Constant(5*time.Millisecond))
				defer s.Close()
				trial := inBubble(s)
				trial.Partitions, trial.Duration, trial.WarmUp, trial.Patience = 2, time.Hour, time.Hour, 10*time.Second
				change(&trial)
				began := time.Now()
				if _, err := trial.Rehearse(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
				partitions := map[string]map[int32]bool{}
				for _, a := range s.Answers() {
					if partitions[a.Topic] == nil {
						partitions[a.Topic] = map[int32]bool{}
					}
					partitions[a.Topic][a.Partition] = true
				}
				if len(partitions) != max(trial.Topics, 1) || len(s.Topics()) > 0 {
					t.Errorf("written to %v, left behind %v", partitions, s.Topics())
				}
				for topic, written := range partitions {
					if len(written) != 2 {
						t.Errorf("%s: written to %v", topic, written)
					}
				}
			})
		})
	}
}

// What stands in the way of a run stands in the way of its rehearsal.
func TestRehearsalFails(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(*benchtest.Server, *bench.Trial)
		want error
	}{
		"no right to create":  {func(s *benchtest.Server, _ *bench.Trial) { s.Refuse(kmsg.CreateTopics, kerr.TopicAuthorizationFailed) }, kerr.TopicAuthorizationFailed},
		"no right to remove":  {func(s *benchtest.Server, _ *bench.Trial) { s.Refuse(kmsg.DeleteTopics, kerr.TopicAuthorizationFailed) }, bench.ErrLeftBehind},
		"no room for so many": {func(s *benchtest.Server, _ *bench.Trial) { s.Refuse(kmsg.CreateTopics, kerr.InvalidReplicationFactor) }, kerr.InvalidReplicationFactor},
		"no leader":           {func(s *benchtest.Server, _ *bench.Trial) { s.Stun(0) }, nil},
		"nobody there":        {func(s *benchtest.Server, _ *bench.Trial) { s.Stop(0) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(1, benchtest.Constant(5*time.Millisecond))
				defer s.Close()
				trial := inBubble(s)
				trial.Patience = 3 * time.Second
				c.harm(s, &trial)
				if _, err := trial.Rehearse(t.Context()); err == nil || c.want != nil && !errors.Is(err, c.want) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}
