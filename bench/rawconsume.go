package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"

	"github.com/ringmill/ringmill/wire"
)

// consumeWaitMS is how long a leader keeps a fetch that has nothing: how long a run may take to notice that all is read.
const consumeWaitMS = 200

// consumeBytesMax bounds an answer, which a connection keeps the room for: a sixth of Kafka's fetch.max.bytes, so that many consumers of
// many leaders fit into memory. At 1 GB/s that is still a fetch in 8 ms.
const consumeBytesMax = 8 << 20

// rawReader is one consumer: a connection to each leader of its partitions, which it groups anew when leaders move.
type rawReader struct {
	run        *trialRun
	topic      *cluster
	partitions []int32
	offsets    []int64 // of partitions; each is one goroutine's at a time
	recorder   *recorder
	goodAt     atomic.Int64 // Instant of the last answer without an error
}

func (r *trialRun) rawConsume(ctx context.Context, topic *cluster, i int) error {
	load := Workload{Partitions: r.trial.Partitions}
	c := &rawReader{run: r, topic: topic, partitions: load.share(i, r.trial.Consumers), recorder: r.consumed.recorder()}
	if r.trial.Consumers > r.trial.Partitions && i >= r.trial.Partitions {
		return nil // two readers of a partition would count each record twice
	}
	c.offsets = make([]int64, r.trial.Partitions)
	c.goodAt.Store(int64(r.clock.Now()))
	denied := Instant(0) // since when nodes deny the topic; 0 if they do not
	for ctx.Err() == nil {
		err := c.generation(ctx)
		if err == nil || r.complete() {
			return nil
		}
		now := r.clock.Now()
		switch gone := errors.Is(err, ErrVanished); {
		case !gone && isAnswer(err) && !kerr.IsRetriable(err), errors.Is(err, ErrSilent):
			return err
		case !gone && !errors.Is(err, kerr.UnknownTopicOrPartition):
			denied = 0
		case denied == 0:
			denied = now
		case gone && now.Sub(denied) >= vanishedAfter:
			return err
		}
		c.recorder.failed(now, now)
		if silent := now.Sub(Instant(c.goodAt.Load())); silent > r.trial.Patience {
			return fmt.Errorf("%w: nothing could be fetched for %v: %w", ErrSilent, silent.Round(time.Millisecond), err)
		}
		pause(ctx, laneRetryWait)
	}
	return ctx.Err()
}

// isAnswer tells what a node said from what happened to a connection.
func isAnswer(err error) bool {
	var code *kerr.Error
	return errors.As(err, &code)
}

// pause waits a little, on the runtime's timers.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// generation reads from those who lead now, until all is read, or one of them fails.
func (c *rawReader) generation(ctx context.Context) error {
	leaders, err := c.topic.leaders(ctx)
	if err != nil {
		return err
	}
	groups := byLeader(leaders, c.partitions)
	led := 0
	readers, ctx := errgroup.WithContext(ctx)
	for address, group := range groups {
		led += len(group)
		readers.Go(func() error { return c.read(ctx, address, group) })
	}
	if led < len(c.partitions) {
		readers.Go(func() error { return kerr.LeaderNotAvailable })
	}
	return readers.Wait()
}

// read fetches from one leader until all is read, another one leads, or nothing comes for too long.
func (c *rawReader) read(ctx context.Context, address string, partitions []int32) error {
	s := &silence{clock: c.run.clock, patience: c.run.trial.Patience, awaits: func() bool { return true }}
	s.ask = c.topic.askAfter(address, func() []int32 { return partitions })
	err := s.bound(ctx, func(ctx context.Context) error { return c.fetch(ctx, s, address, partitions) })
	if errors.Is(err, ErrSilent) {
		return fmt.Errorf("nothing could be fetched from %s: %w", address, err)
	}
	return err
}

func (c *rawReader) fetch(ctx context.Context, s *silence, address string, partitions []int32) error {
	conn, err := dialRaw(ctx, c.topic.dial, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	req, answer := c.request(partitions), &kmsg.FetchResponse{Version: fetchVersion}
	var frame []byte
	for !c.done() {
		if c.run.backlog.waits(ctx) {
			c.heard(s)
			continue
		}
		asked := req.Topics[0].Partitions
		for i := range asked {
			asked[i].FetchOffset = c.offsets[asked[i].Partition]
		}
		frame = rawFormat.AppendRequest(frame[:0], req, 0)
		answer.Topics = answer.Topics[:0]
		if err := conn.send(frame); err != nil {
			return err
		}
		if err := conn.receive(answer); err != nil {
			return err
		}
		if err := c.take(answer); err != nil {
			return err
		}
		c.heard(s)
	}
	return nil
}

// heard notes an answer without an error.
func (c *rawReader) heard(s *silence) {
	c.goodAt.Store(int64(c.run.clock.Now()))
	s.heard()
}

// done tells that all is read, or has been waited for long enough: the rest is lost.
func (c *rawReader) done() bool {
	return c.run.complete() || c.run.givenUp()
}

func (c *rawReader) request(partitions []int32) *kmsg.FetchRequest {
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = c.topic.topic
	for _, p := range partitions {
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.PartitionMaxBytes = p, fetchPartitionBytes
		topic.Partitions = append(topic.Partitions, part)
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchVersion, consumeWaitMS, 1, consumeBytesMax
	req.Topics = append(req.Topics, topic)
	return req
}

// take counts what a fetch brought.
func (c *rawReader) take(answer *kmsg.FetchResponse) error {
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return fmt.Errorf("bench: fetch of %s: %w", c.topic.topic, err)
	}
	now := c.run.clock.Now()
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("bench: fetch of %s-%d: %w", c.topic.topic, p.Partition, err)
			}
			if int(p.Partition) >= len(c.offsets) || p.Partition < 0 {
				return fmt.Errorf("bench: fetch was answered with partition %d", p.Partition)
			}
			if err := c.batches(p.Partition, p.RecordBatches, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *rawReader) batches(partition int32, src []byte, now Instant) error {
	for len(src) > 0 {
		batch, tail, err := wire.ReadRecordBatch(src)
		if errors.Is(err, wire.ErrShortBatch) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("bench: fetched records: %w", err)
		}
		src = tail
		if int64(batch.NextOffset()) <= c.offsets[partition] {
			continue
		}
		c.offsets[partition] = int64(batch.NextOffset())
		due, err := stampOf(batch)
		if err != nil {
			return err
		}
		if c.run.in.contains(due) {
			c.run.arrived.Add(1)
			c.run.backlog.saw(now)
			bytes := int64(batch.RecordCount()) * int64(c.run.trial.RecordBytes)
			if c.run.trial.Values != nil {
				if bytes, err = valueBytes(batch); err != nil {
					return err
				}
			}
			c.recorder.arrived(due, now, int64(batch.RecordCount()), bytes)
		}
	}
	return nil
}
