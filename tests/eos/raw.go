package eos

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// raw is an endpoint that says each request of the first protocol itself, in librdkafka's versions and order, and so knows
// of each whether it was asked for once. It asks one node for everything.
type raw struct {
	*client
	kafka    *kgo.Client
	producer int64
	epoch    int16
	sequence map[int32]int32
	added    map[int32]bool
}

func newRaw(c *client) *raw {
	return &raw{client: c, sequence: map[int32]int32{}, added: map[int32]bool{}}
}

// versions of librdkafka 2.x.
func (r *raw) versions() *kversion.Versions {
	v := kversion.V2_8_0()
	for key, most := range map[kmsg.Key]int16{
		kmsg.Produce: 7, kmsg.FindCoordinator: 2, kmsg.InitProducerID: 4, kmsg.AddPartitionsToTxn: 0, kmsg.EndTxn: 1,
	} {
		v.SetMaxKeyVersion(key.Int16(), most)
	}
	return v
}

// ask sends a request until its answer is final. doubt says that an attempt before may have had an effect.
func (r *raw) ask(ctx context.Context, req kmsg.Request, read func(kmsg.Response) int16) (code error, doubt bool, err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		resp, err := r.kafka.SeedBrokers()[0].Request(ctx, req)
		switch {
		case ctx.Err() != nil:
			return nil, true, ctx.Err()
		case err != nil:
			doubt = true
		default:
			code := kerr.ErrorForCode(read(resp))
			if code != kerr.ConcurrentTransactions && !kerr.IsRetriable(code) {
				return code, doubt, nil
			}
			doubt = doubt || code == kerr.CoordinatorNotAvailable || code == kerr.NotCoordinator || code == kerr.RequestTimedOut
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// must is ask for what has to succeed.
func (r *raw) must(ctx context.Context, req kmsg.Request, read func(kmsg.Response) int16) error {
	code, _, err := r.ask(ctx, req, read)
	if err == nil {
		err = code
	}
	return err
}

func (r *raw) open(ctx context.Context) (err error) {
	if r.kafka, err = kgo.NewClient(kgo.SeedBrokers(r.addresses), kgo.MaxVersions(r.versions())); err != nil {
		return err
	}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorType, find.CoordinatorKey = 1, r.transactionalID
	if err := r.must(ctx, find, func(resp kmsg.Response) int16 { return resp.(*kmsg.FindCoordinatorResponse).ErrorCode }); err != nil {
		return err
	}
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &r.transactionalID, int32(r.timeout.Milliseconds())
	init.ProducerID, init.ProducerEpoch = -1, -1
	return r.must(ctx, init, func(resp kmsg.Response) int16 {
		got := resp.(*kmsg.InitProducerIDResponse)
		r.producer, r.epoch = got.ProducerID, got.ProducerEpoch
		return got.ErrorCode
	})
}

func (r *raw) begin() error {
	clear(r.added)
	return nil
}

// send adds a partition before its first batch, and writes each partition's records as one batch.
func (r *raw) send(ctx context.Context, records []planned) (map[uint32]int64, error) {
	offsets := map[uint32]int64{}
	byPartition := map[int32][]planned{}
	var order []int32
	for _, rec := range records {
		if byPartition[rec.partition] == nil {
			order = append(order, rec.partition)
		}
		byPartition[rec.partition] = append(byPartition[rec.partition], rec)
	}
	for _, partition := range order {
		if err := r.add(ctx, partition); err != nil {
			return offsets, err
		}
		base, err := r.write(ctx, partition, byPartition[partition])
		if err != nil {
			return offsets, err
		}
		for i, rec := range byPartition[partition] {
			if base >= 0 { // -1: a repetition of a batch that is there
				offsets[rec.counter] = base + int64(i)
			}
		}
	}
	return offsets, nil
}

func (r *raw) add(ctx context.Context, partition int32) error {
	if r.added[partition] {
		return nil
	}
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = r.transactionalID, r.producer, r.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: r.in, Partitions: []int32{partition}}}
	r.added[partition] = true
	return r.must(ctx, req, func(resp kmsg.Response) int16 {
		return resp.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode
	})
}

func (r *raw) write(ctx context.Context, partition int32, records []planned) (base int64, err error) {
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &r.transactionalID, -1, 5000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: r.in, Partitions: []kmsg.ProduceRequestTopicPartition{
		{Partition: partition, Records: r.batch(partition, records)},
	}}}
	err = r.must(ctx, req, func(resp kmsg.Response) int16 {
		got := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		base = got.BaseOffset
		if got.ErrorCode == kerr.DuplicateSequenceNumber.Code {
			return 0
		}
		return got.ErrorCode
	})
	if err != nil {
		return -1, fmt.Errorf("partition %d: %w", partition, err)
	}
	r.sequence[partition] += int32(len(records))
	return base, nil
}

// batch lays a RecordBatch v2 out.
func (r *raw) batch(partition int32, records []planned) []byte {
	b := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, Attributes: 1 << 4, LastOffsetDelta: int32(len(records) - 1),
		ProducerID: r.producer, ProducerEpoch: r.epoch, FirstSequence: r.sequence[partition], NumRecords: int32(len(records)),
		FirstTimestamp: time.Now().UnixMilli()}
	b.MaxTimestamp = b.FirstTimestamp
	for i, rec := range records {
		one := kmsg.Record{OffsetDelta: int32(i), Value: encode(r.number, rec.counter)}
		one.Length = int32(len(one.AppendTo(nil)) - 1) // Length 0 takes one byte
		b.Records = one.AppendTo(b.Records)
	}
	out := b.AppendTo(nil)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-12))
	binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}

func (r *raw) end(ctx context.Context, commit bool) outcome {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = r.transactionalID, r.producer, r.epoch, commit
	code, doubt, err := r.ask(ctx, req, func(resp kmsg.Response) int16 { return resp.(*kmsg.EndTxnResponse).ErrorCode })
	switch {
	case err != nil || code != nil && doubt:
		return unknown
	case code != nil:
		return refused
	}
	return ended
}

func (r *raw) close() {
	if r.kafka != nil {
		r.kafka.Close()
	}
}
