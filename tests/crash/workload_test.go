package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/load"
)

const (
	partitions = 4
	producers  = 2
	valueBytes = 3000 // some hundred records fill a segment of segmentBytes
	// segmentBytes is Kafka's lowest for a topic.
	segmentBytes = 1 << 20
)

// workload is producers and a poller on one topic of a node, from start to finish.
type workload struct {
	t       *testing.T
	node    *harness.Node
	topic   string
	history *load.History
	stop    context.CancelFunc
	running sync.WaitGroup
	gaveUp  sync.Once // one such line tells it
}

func startWorkload(t *testing.T, node *harness.Node) *workload {
	t.Helper()
	w := &workload{t: t, node: node, topic: harness.Name("crash"), history: load.NewHistory(t)}
	node.CreateNamedTopic(t, w.topic, partitions, fmt.Sprint("segment.bytes=", segmentBytes))
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	t.Cleanup(stop)
	for producer := range uint32(producers) {
		client := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(500),
			kgo.ProducerBatchCompression(kgo.NoCompression()), // segments must fill
			kgo.ProducerBatchMaxBytes(100_000), kgo.RecordDeliveryTimeout(2*time.Minute))
		w.running.Go(func() { w.produce(ctx, client, producer) })
	}
	w.running.Go(func() { w.poll(ctx) })
	return w
}

// client is one whose retries outlast every restart.
func (w *workload) client(options ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	options = append([]kgo.Opt{kgo.RetryTimeout(2 * time.Minute), kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond })}, options...)
	return w.node.Client(w.t, options...)
}

// name gives a record's offset, process and counter.
func (w *workload) name(r *kgo.Record) [3]uint64 {
	w.t.Helper()
	name, err := load.Name(r, valueBytes)
	if err != nil {
		w.t.Fatal(err)
	}
	return name
}

// produce sends records to all partitions in turn until stopped, and returns when each has its outcome.
func (w *workload) produce(ctx context.Context, client *kgo.Client, producer uint32) {
	for i := uint32(0); ctx.Err() == nil; i++ {
		partition := i % partitions
		e := load.Event{Op: "send", Proc: producer*partitions + partition, Topic: w.topic, Part: int32(partition),
			Counter: i / partitions, Idempotent: true, T0: load.Now()}
		record := &kgo.Record{Topic: w.topic, Partition: int32(partition), Value: load.Value(e.Proc, e.Counter, valueBytes)}
		client.Produce(context.Background(), record, func(r *kgo.Record, err error) {
			e.T1, e.Res, e.Offset = load.Now(), "ok", r.Offset
			if err != nil {
				e.Res = "info"
				w.gaveUp.Do(func() { w.t.Errorf("a record was given up: %v", err) })
			}
			w.history.Add(e)
		})
	}
	if err := client.Flush(harness.Context(w.t)); err != nil {
		w.t.Errorf("flush: %v", err)
	}
}

// poll reads behind the producers over all restarts.
func (w *workload) poll(ctx context.Context) {
	client := w.client(kgo.ConsumeTopics(w.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond))
	next := map[int32]int64{}
	for ctx.Err() == nil {
		client.PollRecords(ctx, 2000).EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) == 0 {
				return
			}
			// what a poll returns was asked for before it began: its time says nothing about I6, so it has none
			e := load.Event{Op: "poll", T1: load.Now(), Topic: w.topic, Part: p.Partition, From: next[p.Partition]}
			for _, r := range p.Records {
				e.Recs = append(e.Recs, w.name(r))
			}
			next[p.Partition] = p.Records[len(p.Records)-1].Offset + 1
			w.history.Add(e)
		})
	}
}

// finish ends the load, reads the final logs, and judges.
func (w *workload) finish() {
	w.t.Helper()
	w.stop()
	w.running.Wait()
	for partition := range int32(partitions) {
		w.readFinal(partition)
	}
	harness.Ringcheck(w.t, []string{"-min-acked", "200"}, w.history.Path(w.t))
}

func (w *workload) readFinal(partition int32) {
	w.t.Helper()
	starts := harness.Asked(w.t, w.node, "start offsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
		return admin.ListStartOffsets(ctx, w.topic)
	})
	ends := harness.Asked(w.t, w.node, "end offsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
		return admin.ListEndOffsets(ctx, w.topic)
	})
	start, _ := starts.Lookup(w.topic, partition)
	end, _ := ends.Lookup(w.topic, partition)
	e := load.Event{Op: "final", T0: load.Now(), Topic: w.topic, Part: partition, Start: start.Offset, End: end.Offset}
	if end.Offset > start.Offset {
		client := w.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{w.topic: {partition: kgo.NewOffset().At(start.Offset)}}))
		for _, r := range harness.Poll(w.t, client, int(end.Offset-start.Offset)) {
			e.Recs = append(e.Recs, w.name(r))
		}
		client.Close()
	}
	e.T1 = load.Now()
	w.history.Add(e)
}

// awaitProgress returns when count more records are acknowledged: the node serves again.
func (w *workload) awaitProgress(count int) {
	w.t.Helper()
	goal := w.history.Acknowledged() + count
	harness.Eventually(w.t, "records are acknowledged after a restart", func(context.Context) error {
		if short := goal - w.history.Acknowledged(); short > 0 {
			return fmt.Errorf("%d records short of %d more", short, count)
		}
		return nil
	})
}

// awaitRoll returns within the instants in which a segment rolls, or after a while without one.
func (w *workload) awaitRoll(random *rand.Rand) {
	w.t.Helper()
	partition := random.IntN(partitions)
	before := len(harness.SegmentFiles(w.t, w.node.LogDir, w.topic, partition))
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
		if len(harness.SegmentFiles(w.t, w.node.LogDir, w.topic, partition)) > before {
			return
		}
	}
}
