package eos

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// franz is an endpoint that leaves the protocol to franz-go.
type franz struct {
	*client
	kafka *kgo.Client
}

func newFranz(c *client) *franz { return &franz{client: c} }

// options of every client of a process: retries outlast a restart.
func (c *client) options() []kgo.Opt {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(c.addresses, ",")...), kgo.RetryTimeout(patience),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	}
	if c.role == roleFirst || c.role == roleLoop1 {
		options = append(options, kgo.MaxVersions(kversion.V3_8_0())) // before KIP-890's second part
	}
	return options
}

// transactional are the options of a producer with an id.
func (c *client) transactional() []kgo.Opt {
	return append(c.options(), kgo.TransactionalID(c.transactionalID), kgo.TransactionTimeout(c.timeout),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
}

func (f *franz) open(ctx context.Context) (err error) {
	if f.kafka, err = kgo.NewClient(f.transactional()...); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	_, _, err = f.kafka.ProducerID(ctx)
	return err
}

func (f *franz) begin() error { return f.kafka.BeginTransaction() }

func (f *franz) send(ctx context.Context, records []planned) (map[uint32]int64, error) {
	var mu sync.Mutex
	offsets, failed := map[uint32]int64{}, error(nil)
	for _, r := range records {
		record := &kgo.Record{Topic: f.in, Partition: r.partition, Value: encode(f.number, r.counter)}
		f.kafka.Produce(ctx, record, func(done *kgo.Record, err error) {
			mu.Lock()
			defer mu.Unlock()
			if failed = errors.Join(failed, err); err == nil {
				offsets[r.counter] = done.Offset
			}
		})
	}
	err := f.kafka.Flush(ctx)
	mu.Lock()
	defer mu.Unlock()
	return offsets, errors.Join(failed, err)
}

// end can't tell a refused commit from one whose first attempt was lost on the way back: the client tries again on its own.
func (f *franz) end(ctx context.Context, commit bool) outcome {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if f.kafka.EndTransaction(ctx, kgo.TransactionEndTry(commit)) != nil {
		return unknown
	}
	return ended
}

func (f *franz) close() {
	if f.kafka != nil {
		f.kafka.Close()
	}
}
