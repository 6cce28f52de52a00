package crash

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
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
	history *history
	stop    context.CancelFunc
	running sync.WaitGroup
	gaveUp  sync.Once // one such line tells it
}

func startWorkload(t *testing.T, node *harness.Node) *workload {
	t.Helper()
	w := &workload{t: t, node: node, topic: harness.Name("crash"), history: newHistory(t)}
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

// encode is a record's value: process, counter, CRC of all but these 12 bytes, padding.
func encode(process, counter uint32) []byte {
	value := make([]byte, valueBytes)
	binary.BigEndian.PutUint32(value, process)
	binary.BigEndian.PutUint32(value[4:], counter)
	for i := 12; i < len(value); i++ {
		value[i] = byte(counter + uint32(i))
	}
	binary.BigEndian.PutUint32(value[8:], crc32.ChecksumIEEE(value[12:])^process^counter)
	return value
}

func decode(t *testing.T, r *kgo.Record) [3]uint64 {
	t.Helper()
	if len(r.Value) != valueBytes {
		t.Fatalf("partition %d offset %d: %d bytes", r.Partition, r.Offset, len(r.Value))
	}
	process, counter := binary.BigEndian.Uint32(r.Value), binary.BigEndian.Uint32(r.Value[4:])
	if crc32.ChecksumIEEE(r.Value[12:])^process^counter != binary.BigEndian.Uint32(r.Value[8:]) {
		t.Fatalf("partition %d offset %d: the record's bytes have changed", r.Partition, r.Offset)
	}
	return [3]uint64{uint64(r.Offset), uint64(process), uint64(counter)}
}

// produce sends records to all partitions in turn until stopped, and returns when each has its outcome.
func (w *workload) produce(ctx context.Context, client *kgo.Client, producer uint32) {
	for i := uint32(0); ctx.Err() == nil; i++ {
		partition := i % partitions
		e := event{Op: "send", Proc: producer*partitions + partition, Topic: w.topic, Part: int32(partition),
			Counter: i / partitions, Idempotent: true, T0: w.history.now()}
		record := &kgo.Record{Topic: w.topic, Partition: int32(partition), Value: encode(e.Proc, e.Counter)}
		client.Produce(context.Background(), record, func(r *kgo.Record, err error) {
			e.T1, e.Res, e.Offset = w.history.now(), "ok", r.Offset
			if err != nil {
				e.Res = "info"
				w.gaveUp.Do(func() { w.t.Errorf("a record was given up: %v", err) })
			}
			w.history.add(e)
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
		begin := w.history.now()
		client.PollRecords(ctx, 2000).EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) == 0 {
				return
			}
			// what a poll returns was asked for before it began: its time says nothing about I6, so it begins with the run
			e := event{Op: "poll", T0: min(begin, 0), T1: w.history.now(), Topic: w.topic, Part: p.Partition, From: next[p.Partition]}
			for _, r := range p.Records {
				e.Recs = append(e.Recs, decode(w.t, r))
			}
			next[p.Partition] = p.Records[len(p.Records)-1].Offset + 1
			w.history.add(e)
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
	w.history.judge(w.t)
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
	e := event{Op: "final", T0: w.history.now(), Topic: w.topic, Part: partition, Start: start.Offset, End: end.Offset}
	if end.Offset > start.Offset {
		client := w.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{w.topic: {partition: kgo.NewOffset().At(start.Offset)}}))
		for _, r := range harness.Poll(w.t, client, int(end.Offset-start.Offset)) {
			e.Recs = append(e.Recs, decode(w.t, r))
		}
		client.Close()
	}
	e.T1 = w.history.now()
	w.history.add(e)
}

// awaitProgress returns when count more records are acknowledged: the node serves again.
func (w *workload) awaitProgress(count int) {
	w.t.Helper()
	goal := w.history.acknowledged() + count
	harness.Eventually(w.t, "records are acknowledged after a restart", func(context.Context) error {
		if short := goal - w.history.acknowledged(); short > 0 {
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
