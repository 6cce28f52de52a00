package bench_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/tests/harness"
)

// load is a workload small enough for any machine; the figures of such a run mean nothing.
func load(topic string, pid int) bench.Workload {
	return bench.Workload{
		Topic: topic, Partitions: 3, RecordBytes: 100, BatchRecords: 10, Acks: -1, Producers: 2, Fetchers: 2, InFlight: 5,
		Rate: 500, WarmUp: 50 * time.Millisecond, Duration: 400 * time.Millisecond, NodePID: pid,
	}
}

func create(t *testing.T, n *harness.Node, partitions int) string {
	t.Helper()
	topic := fmt.Sprintf("bench-%d", time.Now().UnixNano())
	if err := bench.CreateTopic(t.Context(), n.Address, topic, partitions, nil); err != nil {
		t.Fatal(err)
	}
	return topic
}

func TestProduceThenFetch(t *testing.T) {
	n := harness.Shared(t)
	if n.Peer == harness.External {
		t.Skip("reads the resources of a node's process; RINGMILL_TEST_PEER names one of unknown pid")
	}
	w := load(create(t, n, 3), n.Pid())
	produced, err := w.Produce(t.Context(), n.Address)
	if err != nil {
		t.Fatal(err)
	}
	if produced.Requests == 0 || produced.Records != produced.Requests*10 || produced.Bytes != produced.Records*100 {
		t.Errorf("produced %d records of %d bytes in %d requests", produced.Records, produced.Bytes, produced.Requests)
	}
	if produced.Latency.Count() != produced.Requests || produced.Node.PeakBytes == 0 {
		t.Errorf("%d latencies of %d requests, peak memory %d", produced.Latency.Count(), produced.Requests, produced.Node.PeakBytes)
	}
	fetched, err := w.Fetch(t.Context(), n.Address)
	if err != nil {
		t.Fatal(err)
	}
	if fetched.Records == 0 || fetched.Bytes <= fetched.Records*100 {
		t.Errorf("fetched %d records in %d bytes of batches", fetched.Records, fetched.Bytes)
	}
	if err := bench.DeleteTopic(t.Context(), n.Address, w.Topic); err != nil {
		t.Error(err)
	}
}

func TestEndToEndSeesEveryRecordThatWasDue(t *testing.T) {
	n := harness.Shared(t)
	w := load(create(t, n, 3), 0)
	got, err := w.EndToEnd(t.Context(), n.Address)
	if err != nil {
		t.Fatal(err)
	}
	if due := int64(w.Rate * w.Duration.Seconds()); got.Lost != 0 || got.Records < due-2 || got.Records > due+2 {
		t.Errorf("%d records arrived of about %d, %d lost", got.Records, due, got.Lost)
	}
	if got.Acknowledged.Count() != got.Records || got.Latency.Count() != got.Records || got.Lag.Count() != got.Records {
		t.Errorf("%d acknowledged, %d latencies, %d lags of %d records", got.Acknowledged.Count(), got.Latency.Count(), got.Lag.Count(), got.Records)
	}
}

func TestRefusedProduceEndsTheRun(t *testing.T) {
	n := harness.Shared(t)
	topic := create(t, n, 1) // the workload believes in three partitions
	w := load(topic, 0)
	if _, err := w.Produce(t.Context(), n.Address); err == nil {
		t.Error("a produce to a partition that does not exist gave figures")
	}
}

func TestUnusableWorkloads(t *testing.T) {
	for _, change := range []func(*bench.Workload){
		func(w *bench.Workload) { w.Topic = "" },
		func(w *bench.Workload) { w.Partitions = 0 },
		func(w *bench.Workload) { w.Acks = 0 },
		func(w *bench.Workload) { w.Producers = 0 },
		func(w *bench.Workload) { w.RecordBytes = 7 },
		func(w *bench.Workload) { w.BatchRecords = 0 },
		func(w *bench.Workload) { w.InFlight = 0 },
		func(w *bench.Workload) { w.Duration = 0 },
	} {
		w := load("t", 0)
		change(&w)
		if _, err := w.Produce(context.Background(), "127.0.0.1:1"); !errors.Is(err, bench.ErrWorkload) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestMain(m *testing.M) { harness.Main(m) }
