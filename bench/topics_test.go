package bench_test

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/benchtest"
)

// Several topics share the rate, and each subscription sees every record.
func TestTopicsAndSubscriptions(t *testing.T) {
	for _, client := range []bench.ClientKind{bench.ClientRaw, bench.ClientFranz} {
		t.Run(string(client), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := benchtest.New(2, benchtest.Constant(3*time.Millisecond))
				defer s.Close()
				trial := inBubble(s)
				trial.Client, trial.Topics, trial.Partitions, trial.Producers, trial.Consumers, trial.Subscriptions = client, 3, 2, 2, 2, 2
				trial.Rate, trial.Duration, trial.TopicProperties = 600, 5*time.Second, map[string]string{"retention.ms": "1000"}
				got, err := trial.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got.Produced.Records != 3000 || got.Consumed.Records != 6000 || got.Lost != 0 {
					t.Errorf("produced %d, consumed %d, lost %d", got.Produced.Records, got.Consumed.Records, got.Lost)
				}
				byTopic := map[string]int{}
				for _, a := range s.Answers() {
					byTopic[a.Topic] += a.Records
				}
				if want := map[string]int{"bench-0000": 1000, "bench-0001": 1000, "bench-0002": 1000}; !maps.Equal(byTopic, want) {
					t.Errorf("records by topic: %v", byTopic)
				}
				if properties := s.Properties(); properties["retention.ms"] != "1000" || len(s.Topics()) > 0 {
					t.Errorf("properties %v, left behind %v", properties, s.Topics())
				}
				if c := trial.Config(); c.Topics != 3 || c.Subscriptions != 2 || c.TopicProperties["retention.ms"] != "1000" {
					t.Errorf("config %+v", c)
				}
			})
		})
	}
}

// A topic of several that is somebody else's stays, and those that were made before it go.
func TestForeignTopicOfSeveralStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := benchtest.New(1, benchtest.Constant(time.Millisecond))
		defer s.Close()
		trial := inBubble(s)
		if err := trial.CreateTopic(t.Context(), "bench-0001", 1); err != nil {
			t.Fatal(err)
		}
		trial.Topics = 3
		if _, err := trial.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "bench-0001") {
			t.Errorf("error %v", err)
		}
		if topics := s.Topics(); len(topics) != 1 || topics[0] != "bench-0001" {
			t.Errorf("topics %v", topics)
		}
	})
}

// batch.size bounds franz's batches, and a consumer property bounds its fetches.
func TestClientProperties(t *testing.T) {
	for size, most := range map[string]int{"1000": 1000, "100000": 100_000} {
		synctest.Test(t, func(t *testing.T) {
			s := benchtest.New(1, benchtest.Constant(3*time.Millisecond))
			defer s.Close()
			trial := inBubble(s)
			trial.Client, trial.Consumers, trial.Linger, trial.Duration = bench.ClientFranz, 1, 50*time.Millisecond, 2*time.Second
			trial.ProducerProperties = map[string]string{"batch.size": size, "enable.idempotence": "false", "max.in.flight.requests.per.connection": "3"}
			trial.ConsumerProperties = map[string]string{"max.partition.fetch.bytes": "2000", "isolation.level": "read_committed"}
			got, err := trial.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got.Produced.Records != 2000 || got.Consumed.Records != 2000 {
				t.Errorf("produced %d, consumed %d", got.Produced.Records, got.Consumed.Records)
			}
			largest := 0
			for _, a := range s.Answers() {
				largest = max(largest, a.Bytes)
			}
			if largest > most || largest < most/20 {
				t.Errorf("batch.size=%s: the largest batch has %d bytes", size, largest)
			}
		})
	}
}

func TestUnusableClientProperties(t *testing.T) {
	trial := bench.Trial{Addresses: []string{"x"}, Topic: "t", Partitions: 1, ReplicationFactor: 1, Client: bench.ClientFranz, Producers: 1, RecordBytes: 100, Rate: 1,
		MaxInFlight: 1, Acks: -1, Duration: time.Second}
	if err := trial.Check(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		producer, consumer map[string]string
		acks               int16
	}{
		"unknown":             {map[string]string{"batch.bytes": "1"}, nil, -1},
		"a consumer's":        {map[string]string{"fetch.min.bytes": "1"}, nil, -1},
		"no number":           {map[string]string{"batch.size": "many"}, nil, -1},
		"of idempotence":      {map[string]string{"max.in.flight.requests.per.connection": "1"}, nil, -1},
		"idempotence of acks": {map[string]string{"enable.idempotence": "true"}, nil, 1},
		"no truth":            {map[string]string{"enable.idempotence": "yes"}, nil, -1},
		"no level":            {nil, map[string]string{"isolation.level": "serializable"}, -1},
		"a producer's":        {nil, map[string]string{"batch.size": "1"}, -1},
	} {
		trial.ProducerProperties, trial.ConsumerProperties, trial.Acks = c.producer, c.consumer, c.acks
		if err := trial.Check(); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
