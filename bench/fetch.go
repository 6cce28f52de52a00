package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// fetchPartitionBytes is Kafka's default of max.partition.fetch.bytes; the first batch comes whole, however large.
const fetchPartitionBytes = 1 << 20

// Fetch reads the topic's partitions over and over in a closed loop: Fetchers raw connections with one request out each,
// as Kafka's consumers have. Result.Bytes are those of whole batches. Only batch headers are looked at. The topic must
// hold records in each partition.
func (w *Workload) Fetch(ctx context.Context, address string) (Result, error) {
	if err := w.check(false, true); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := make([]worker, w.Fetchers)
	for i := range workers {
		f, err := w.dialFetcher(ctx, address, i)
		if err != nil {
			return Result{}, err
		}
		defer f.conn.Close()
		workers[i] = f.run
	}
	return w.measure(ctx, workers)
}

// rawFetcher is one connection of Fetch.
type rawFetcher struct {
	conn    *RawConn
	load    *Workload
	parts   []int32
	offsets []int64 // where each of parts is read next
	next    int
	request *kmsg.FetchRequest
	frame   []byte
	answer  *kmsg.FetchResponse
}

func (w *Workload) dialFetcher(ctx context.Context, address string, i int) (*rawFetcher, error) {
	conn, err := dialRaw(ctx, w.Dial, address)
	if err != nil {
		return nil, err
	}
	f := &rawFetcher{conn: conn, load: w, parts: w.share(i, w.Fetchers)}
	f.offsets = make([]int64, len(f.parts))
	f.request, f.answer = w.fetchRequest(), &kmsg.FetchResponse{Version: fetchVersion}
	return f, nil
}

func (w *Workload) fetchRequest() *kmsg.FetchRequest {
	part := kmsg.NewFetchRequestTopicPartition()
	part.PartitionMaxBytes = fetchPartitionBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.Partitions = w.Topic, append(topic.Partitions, part)
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchVersion, 500, 1, 50<<20
	req.Topics = append(req.Topics, topic)
	return req
}

func (f *rawFetcher) run(in window, t *tally) error {
	clock := f.load.clock()
	for now := clock.Now(); now < in.until(); {
		sent := now
		records, bytes, err := f.fetchNext()
		if err != nil {
			return err
		}
		now = clock.Now()
		t.count(in, sent, now, records, bytes)
	}
	return nil
}

// fetchNext reads on in the next partition, from its beginning again once its end is reached.
func (f *rawFetcher) fetchNext() (records, bytes int64, err error) {
	i := f.next
	f.next = (f.next + 1) % len(f.parts)
	part := &f.request.Topics[0].Partitions[0]
	part.Partition, part.FetchOffset = f.parts[i], f.offsets[i]
	f.frame = rawFormat.AppendRequest(f.frame[:0], f.request, 0)
	if err := f.conn.send(f.frame); err != nil {
		return 0, 0, err
	}
	f.answer.Topics = f.answer.Topics[:0]
	if err := f.conn.receive(f.answer); err != nil {
		return 0, 0, err
	}
	got, err := f.partition()
	if err != nil {
		return 0, 0, err
	}
	records, bytes, f.offsets[i], err = readBatches(got.RecordBatches, f.offsets[i])
	if got.HighWatermark <= f.offsets[i] {
		f.offsets[i] = 0
	}
	return records, bytes, err
}

func (f *rawFetcher) partition() (*kmsg.FetchResponseTopicPartition, error) {
	if err := kerr.ErrorForCode(f.answer.ErrorCode); err != nil {
		return nil, fmt.Errorf("bench: fetch of %s: %w", f.load.Topic, err)
	}
	if len(f.answer.Topics) != 1 || len(f.answer.Topics[0].Partitions) != 1 {
		return nil, errors.New("bench: fetch of one partition was answered with another number of them")
	}
	got := &f.answer.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return nil, fmt.Errorf("bench: fetch of %s-%d: %w", f.load.Topic, got.Partition, err)
	}
	return got, nil
}

// readBatches counts what a fetch brought; its last batch may be cut off. next is the offset after the last whole one.
func readBatches(src []byte, from int64) (records, bytes, next int64, err error) {
	next = from
	for len(src) > 0 {
		batch, tail, err := wire.ReadRecordBatch(src)
		if errors.Is(err, wire.ErrShortBatch) {
			break
		}
		if err != nil {
			return 0, 0, from, fmt.Errorf("bench: fetched records: %w", err)
		}
		records += int64(batch.RecordCount())
		bytes += int64(batch.Length())
		next = int64(batch.NextOffset())
		src = tail
	}
	return records, bytes, next, nil
}
