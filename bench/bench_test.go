package bench_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/tests/harness"
)

// load is a workload small enough for any machine; the figures of such a run mean nothing.
func load(topic string, pids ...int) bench.Workload {
	return bench.Workload{
		Topic: topic, Partitions: 3, RecordBytes: 100, BatchRecords: 10, Acks: -1, Producers: 2, Fetchers: 2, InFlight: 5,
		Rate: 500, WarmUp: 50 * time.Millisecond, Duration: 400 * time.Millisecond, NodePIDs: pids,
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
	w := load(create(t, n, 3))
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
	w := load(topic)
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
		w := load("t")
		change(&w)
		if _, err := w.Produce(context.Background(), "127.0.0.1:1"); !errors.Is(err, bench.ErrWorkload) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestOutageEndsWithAnotherLeader(t *testing.T) {
	c := harness.StartCluster(t, 3, nil)
	if err := bench.CreateAssignedTopic(harness.Context(t), c.Nodes[0].Address, "outage", [][]int32{{2, 3, 1}}, nil); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "node 2 serves", func(ctx context.Context) error {
		if !bench.Serves(ctx, c.Nodes[1].Address, "outage", []int32{0}) {
			return errors.New("not yet")
		}
		return nil
	})
	if bench.Serves(harness.Context(t), c.Nodes[0].Address, "outage", []int32{0}) {
		t.Error("a follower serves")
	}
	var killed int32
	gap, err := bench.Outage(harness.Context(t), c.Addresses(), "outage", func(leader int32) error {
		killed = leader
		c.Nodes[leader-1].Kill(t)
		return nil
	})
	if err != nil || killed != 2 || gap <= 0 {
		t.Errorf("killed node %d, %v without a leader, %v; want node 2 and some time", killed, gap, err)
	}
}

// TestOutageWithoutEnd: with nobody left, it says so when its time is over.
func TestOutageWithoutEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := bench.Outage(ctx, []string{"127.0.0.1:1"}, "none", nil); !errors.Is(err, bench.ErrNoLeader) {
		t.Errorf("got %v, want ErrNoLeader", err)
	}
}

// trial is one small enough for any machine; what it measures there means nothing.
func trial(addresses ...string) bench.Trial {
	return bench.Trial{
		Addresses: addresses, Topic: fmt.Sprintf("trial-%d", time.Now().UnixNano()), Partitions: 3, ReplicationFactor: -1, Producers: 2, Consumers: 2,
		RecordBytes: 100, BatchRecords: 5, Rate: 500, MaxInFlight: 5, Acks: -1, WarmUp: 100 * time.Millisecond, Duration: time.Second, Patience: time.Minute,
	}
}

// gone checks that a trial's topic was removed.
func gone(t *testing.T, address, topic string) {
	t.Helper()
	harness.Eventually(t, "the topic is gone", func(ctx context.Context) error {
		conn, err := bench.DialRaw(ctx, address)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := bench.Metadata(conn, topic); !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("asked for it: %w", err)
		}
		return nil
	})
}

func TestTrialOfANode(t *testing.T) {
	n := harness.Shared(t)
	for _, client := range []bench.ClientKind{bench.ClientRaw, bench.ClientFranz} {
		w := trial(n.Address)
		w.Client = client
		got, err := w.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Produced.Records < 490 || got.Produced.Records > 515 || got.Consumed.Records != got.Produced.Records || got.Lost != 0 || got.Produced.Latency.Count() != got.DueRequests {
			t.Errorf("%s: %d produced, %d consumed, %d lost of %d", client, got.Produced.Records, got.Consumed.Records, got.Lost, got.DueRequests)
		}
		gone(t, n.Address, w.Topic)
	}
}

// Records of many sizes with keys: as many bytes arrive as were acknowledged.
func TestTrialOfManySizes(t *testing.T) {
	n := harness.Shared(t)
	values, err := bench.ParseValues("lognormal:200,3000")
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []bench.ClientKind{bench.ClientRaw, bench.ClientFranz} {
		w := trial(n.Address)
		w.Client, w.Values, w.Keys = client, values, 50
		got, err := w.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Produced.Records == 0 || got.Consumed.Records != got.Produced.Records || got.Consumed.Bytes != got.Produced.Bytes || got.Lost != 0 || got.Produced.Bytes%got.Produced.Records == 0 {
			t.Errorf("%s: %d records of %d bytes produced, %d of %d consumed, %d lost", client, got.Produced.Records, got.Produced.Bytes, got.Consumed.Records, got.Consumed.Bytes, got.Lost)
		}
		gone(t, n.Address, w.Topic)
	}
}

// In transactions a record is acknowledged when its transaction is committed, and consumers see it then and not before.
func TestTrialOfTransactions(t *testing.T) {
	n := harness.Shared(t)
	w := trial(n.Address)
	w.Client, w.TransactionRecords = bench.ClientFranz, 20
	got, err := w.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Produced.Records < 490 || got.Produced.Records > 515 || got.Consumed.Records != got.Produced.Records || got.Lost != 0 {
		t.Errorf("%d produced, %d consumed, %d lost", got.Produced.Records, got.Consumed.Records, got.Lost)
	}
	// each of two producers takes 80 ms for the 20 records of a transaction, so half of them wait for 40 ms or more
	if response, arrived := got.Produced.Latency.Quantile(0.5), got.Consumed.Latency.Quantile(0.5); response < 30*time.Millisecond || arrived < 30*time.Millisecond {
		t.Errorf("half are committed after %v, and read after %v", response, arrived)
	}
	gone(t, n.Address, w.Topic)
}

// A node of a cluster dies half way: its partitions' records go to their new leaders, and none is lost.
func TestTrialOutlivesALeader(t *testing.T) {
	c := harness.StartCluster(t, 3, nil)
	w := trial(c.Addresses()...)
	w.ReplicationFactor, w.Duration = 3, 2*time.Second
	w.Progress = func(s bench.Second) {
		if s.Number == 0 {
			c.Nodes[2].Kill(t)
		}
	}
	got, err := w.Run(harness.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	if got.Lost != 0 || got.Produced.Records < 990 || got.Produced.Latency.Count() != got.DueRequests {
		t.Errorf("%d produced, %d lost of %d", got.Produced.Records, got.Lost, got.DueRequests)
	}
	gone(t, c.Nodes[0].Address, w.Topic)
}

func TestMain(m *testing.M) { harness.Main(m) }
