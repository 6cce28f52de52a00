package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// stampBytes is the intended instant at the beginning of a value.
const stampBytes = 8

// drainMax is how long records are waited for after the window.
const drainMax = 10 * time.Second

// EndToEnd sends Rate records a second through franz-go producers, over the partitions in turn, and reads them back with
// franz-go consumers without a group. Without a Linger, what waits, waits for the node. The topic must be empty.
func (w *Workload) EndToEnd(ctx context.Context, address string) (Result, error) {
	if err := w.check(true, true); err != nil {
		return Result{}, err
	}
	return w.EndToEndOver(ctx, w.Franz(address))
}

// Franz is the workload's topic by franz-go, which makes batches of what waits.
func (w *Workload) Franz(address string) Stream { return &franzStream{w, address} }

type franzStream struct {
	load    *Workload
	address string
}

func (s *franzStream) Producer(context.Context, int) (StreamProducer, error) {
	acks, options := kgo.AllISRAcks(), []kgo.Opt{kgo.SeedBrokers(s.address), kgo.DefaultProduceTopic(s.load.Topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(s.load.Linger), kgo.MaxBufferedRecords(1 << 20)}
	if s.load.Acks == 1 {
		acks = kgo.LeaderAck()
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(append(options, kgo.RequiredAcks(acks))...)
	if err != nil {
		return nil, err
	}
	return franzSender{client}, nil
}

func (s *franzStream) Consumer(_ context.Context, i, n int) (StreamConsumer, error) {
	from := map[int32]kgo.Offset{}
	for _, p := range s.load.share(i, n) {
		from[p] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(s.address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.load.Topic: from}))
	if err != nil {
		return nil, err
	}
	return franzReader{client}, nil
}

// franzSender is a producer of franz-go.
type franzSender struct{ *kgo.Client }

func (c franzSender) Send(ctx context.Context, partition int32, value []byte, done func(error)) {
	c.Produce(ctx, &kgo.Record{Value: value, Partition: partition}, func(_ *kgo.Record, err error) { done(err) })
}

// franzReader is a consumer of franz-go.
type franzReader struct{ *kgo.Client }

func (c franzReader) Poll(ctx context.Context, seen func([]byte)) error {
	poll, stop := context.WithTimeout(ctx, 100*time.Millisecond)
	defer stop()
	got := c.PollFetches(poll)
	if err := fetchFault(got); err != nil {
		return err
	}
	got.EachRecord(func(r *kgo.Record) { seen(r.Value) })
	return nil
}

func fetchFault(got kgo.Fetches) error {
	for _, f := range got.Errors() {
		if !errors.Is(f.Err, context.DeadlineExceeded) && !errors.Is(f.Err, context.Canceled) {
			return fmt.Errorf("bench: fetch of %s-%d: %w", f.Topic, f.Partition, f.Err)
		}
	}
	return nil
}
