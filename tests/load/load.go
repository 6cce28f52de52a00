package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
)

// Options of a load; each has a default but the first two.
type Options struct {
	Partitions int32
	Replicas   int16
	Configs    []string      // of the topic, "key=value"
	Producers  int           // idempotent, acks=all; 0: two
	ValueBytes int           // of a record; 0: 1000
	Pace       time.Duration // what a producer waits between two records
	Marks      bool          // watch leaders and published watermarks
	Admin      uint64        // a seed of administrators, who change other topics; 0: none
}

// Load is producers, a poller and watchers on one topic, from Start to Finish. Its methods are called from the test's goroutine.
type Load struct {
	Topic   string
	Options Options
	History *History
	Began   int64 // ns, as Now gives them

	tb      testing.TB
	nodes   []*harness.Node
	stop    context.CancelFunc
	running sync.WaitGroup
	foreign []*foreign
	gaveUp  sync.Once // one such line tells it
}

// Start makes a topic on a cluster of nodes and begins. It returns when each producer has had a record acknowledged.
func Start(tb testing.TB, nodes []*harness.Node, options Options) *Load {
	tb.Helper()
	if options.Producers == 0 {
		options.Producers = 2
	}
	if options.ValueBytes == 0 {
		options.ValueBytes = 1000
	}
	l := &Load{Topic: harness.Name("load"), Options: options, History: NewHistory(tb), Began: Now(), tb: tb, nodes: nodes}
	nodes[0].MakeTopic(tb, l.Topic, options.Partitions, options.Replicas, options.Configs...)
	l.AwaitWhole()
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	tb.Cleanup(stop)
	for producer := range options.Producers {
		client := l.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(500),
			kgo.ProducerBatchCompression(kgo.NoCompression()), // segments must fill
			kgo.ProducerBatchMaxBytes(100_000), kgo.RecordDeliveryTimeout(harness.Patience), kgo.ProduceRequestTimeout(3*time.Second))
		// The producer has its id before anything is broken: franz-go takes a connection that ends before its first answer for one that
		// wants TLS, and fails what waits for the id.
		if _, _, err := client.ProducerID(harness.Context(tb)); err != nil {
			tb.Fatal(err)
		}
		l.running.Go(func() { l.produce(ctx, client, uint32(producer)) })
	}
	l.running.Go(func() { l.poll(ctx) })
	if options.Marks {
		for i, node := range nodes {
			l.running.Go(func() { l.watch(ctx, node, int32(i+1)) })
		}
	}
	if options.Admin != 0 {
		for number := range uint32(administrators) {
			l.running.Go(func() { l.administer(ctx, number, options.Admin) })
		}
	}
	l.AwaitProgress(options.Producers)
	return l
}

// Client is one of the whole cluster whose retries outlast every fault.
func (l *Load) Client(options ...kgo.Opt) *kgo.Client {
	l.tb.Helper()
	var addresses []string
	for _, n := range l.nodes {
		addresses = append(addresses, n.Address)
	}
	return l.nodes[0].Client(l.tb, append([]kgo.Opt{kgo.SeedBrokers(addresses...), kgo.RetryTimeout(harness.Patience),
		kgo.RequestTimeoutOverhead(3 * time.Second), // silence is what a cut or paused node answers with
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond })}, options...)...)
}

// produce sends records to all partitions in turn until ctx ends, and returns when each has its outcome. A sender's number is its own for
// one partition, so that counters only grow there.
func (l *Load) produce(ctx context.Context, client *kgo.Client, producer uint32) {
	partitions := uint32(l.Options.Partitions)
	for i := uint32(0); ctx.Err() == nil; i++ {
		partition := i % partitions
		e := Event{Op: "send", Proc: producer*partitions + partition, Topic: l.Topic, Part: int32(partition),
			Counter: i / partitions, Idempotent: true, T0: Now()}
		record := &kgo.Record{Topic: l.Topic, Partition: int32(partition), Value: Value(e.Proc, e.Counter, l.Options.ValueBytes)}
		client.Produce(context.Background(), record, func(r *kgo.Record, err error) {
			e.T1, e.Res, e.Offset = Now(), "ok", r.Offset
			if err != nil {
				e.Res = "info"
				if mistaken := (*kgo.ErrFirstReadEOF)(nil); !errors.As(err, &mistaken) {
					l.gaveUp.Do(func() { l.tb.Errorf("a record was given up: %v", err) })
				} // else franz-go takes a node that ended before it answered for one that wants TLS
			}
			l.History.Add(e)
		})
		pause(ctx, l.Options.Pace)
	}
	flushed, stop := context.WithTimeout(context.Background(), harness.Patience)
	defer stop()
	if err := client.Flush(flushed); err != nil {
		l.tb.Errorf("flush: %v", err)
	}
}

func pause(ctx context.Context, length time.Duration) {
	if length == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

// poll reads behind the producers over all faults.
func (l *Load) poll(ctx context.Context) {
	client := l.Client(kgo.ConsumeTopics(l.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond))
	next := map[int32]int64{}
	for ctx.Err() == nil {
		client.PollRecords(ctx, 2000).EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) == 0 {
				return
			}
			// what a poll returns was asked for before it began: its time says nothing about I6, so it begins with the clock
			e := Event{Op: "poll", T1: Now(), Topic: l.Topic, Part: p.Partition, From: next[p.Partition], Recs: l.names(p.Records)}
			next[p.Partition] = p.Records[len(p.Records)-1].Offset + 1
			l.History.Add(e)
		})
	}
}

// names are records as histories have them. A changed byte is an error.
func (l *Load) names(records []*kgo.Record) (recs [][3]uint64) {
	for _, r := range records {
		name, err := Name(r, l.Options.ValueBytes)
		if err != nil {
			l.tb.Error(err)
			continue
		}
		recs = append(recs, name)
	}
	return recs
}

// AwaitProgress returns when count more records are acknowledged: the topic is served.
func (l *Load) AwaitProgress(count int) {
	l.tb.Helper()
	goal := l.History.Acknowledged() + count
	harness.Eventually(l.tb, "records are acknowledged", func(context.Context) error {
		if short := goal - l.History.Acknowledged(); short > 0 {
			return fmt.Errorf("%d records short of %d more", short, count)
		}
		return nil
	})
}

// AwaitWhole returns when every node says that every partition has a leader and all its replicas in sync.
func (l *Load) AwaitWhole() {
	l.tb.Helper()
	AwaitWhole(l.tb, l.nodes)
}
