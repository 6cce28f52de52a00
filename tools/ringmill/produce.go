package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// lineBytesMax bounds a line of standard input; a longer one is an error and not a record.
const lineBytesMax = 64 << 20

type produceFlags struct {
	keySeparator string
	headers      []string
	acks         string
	compression  string
	partition    int32
}

func (a *app) produceCommand() *cobra.Command {
	var f produceFlags
	cmd := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "Write lines of standard input to a topic",
		Long: `Write each line of standard input to a topic as one record, in order, and end when the input ends and every record is
acknowledged. The end of the line is not part of the record.`,
		Example: `  echo hello | ringmill produce greetings
  tail -F /var/log/syslog | ringmill produce syslog --compression zstd
  printf 'alice:1\nbob:2\n' | ringmill produce scores -k : --header source=shell`,
		GroupID:           groupRecords,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeOneTopic,
	}
	a.client.register(cmd)
	f.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opts, err := f.options(cmd)
		if err != nil {
			return err
		}
		headers, err := f.recordHeaders(cmd)
		if err != nil {
			return err
		}
		return a.produce(cmd.Context(), args[0], f, headers, opts)
	}
	return cmd
}

func (f *produceFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.keySeparator, "key-separator", "k", "", "what separates a line's key from its value; a line without it has no key")
	flags.StringArrayVarP(&f.headers, "header", "H", nil, "a header of every record, as name=value; may be repeated")
	flags.StringVar(&f.acks, "acks", "all", "who must have a record before it is acknowledged: all in-sync replicas, 1 (the leader), 0 (nobody)")
	flags.StringVar(&f.compression, "compression", "none", "none, gzip, snappy, lz4 or zstd")
	flags.Int32VarP(&f.partition, "partition", "p", -1, "partition to write to; -1: by key, or spread")
	completeFlag(cmd, "key-separator")
	completeFlag(cmd, "header")
	completeFlag(cmd, "acks", "all\tevery in-sync replica", "1\tthe leader", "0\tnobody")
	completeFlag(cmd, "compression", "none", "gzip", "snappy", "lz4", "zstd")
	completeFlag(cmd, "partition")
}

// options turns the flags into the client's.
func (f *produceFlags) options(cmd *cobra.Command) ([]kgo.Opt, error) {
	opts := []kgo.Opt{kgo.AllowAutoTopicCreation()}
	switch f.acks {
	case "all", "-1":
		opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()))
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	default:
		return nil, wrongUse(cmd, "--acks %q: must be all, 1 or 0", f.acks)
	}
	codec, ok := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}[f.compression]
	if !ok {
		return nil, wrongUse(cmd, "--compression %q: must be none, gzip, snappy, lz4 or zstd", f.compression)
	}
	if f.partition < -1 {
		return nil, wrongUse(cmd, "--partition %d: must be 0 or more, or -1", f.partition)
	}
	if f.partition >= 0 {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	return append(opts, kgo.ProducerBatchCompression(codec)), nil
}

// checkPartition refuses a partition that an existing topic has not; what one that is still to be made will have, nobody knows.
func (f *produceFlags) checkPartition(ctx context.Context, client *kgo.Client, topic string) error {
	if f.partition < 0 {
		return nil
	}
	topics, err := kadm.NewClient(client).ListTopicsWithInternal(ctx, topic)
	if err != nil {
		return cause(err)
	}
	if d, there := topics[topic]; there && d.Err == nil {
		_, err = validPartitions(topic, d.Partitions.Numbers(), []int32{f.partition})
	}
	return err
}

func (f *produceFlags) recordHeaders(cmd *cobra.Command) ([]kgo.RecordHeader, error) {
	var headers []kgo.RecordHeader
	for _, h := range f.headers {
		key, value, ok := strings.Cut(h, "=")
		if !ok {
			return nil, wrongUse(cmd, "--header %q: must be name=value", h)
		}
		headers = append(headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	return headers, nil
}

// produced is what was acknowledged, as JSON.
type produced struct {
	Topic      string              `json:"topic"`
	Records    int64               `json:"records"`
	Partitions []producedPartition `json:"partitions"` // empty with acks=0: nobody told the offsets
}

type producedPartition struct {
	Partition   int32 `json:"partition"`
	Records     int64 `json:"records"`
	FirstOffset int64 `json:"firstOffset"`
	LastOffset  int64 `json:"lastOffset"`
}

func (a *app) produce(ctx context.Context, topic string, f produceFlags, headers []kgo.RecordHeader, opts []kgo.Opt) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of the reading, if a record was refused
	client, err := a.client.connect(ctx, append(opts, kgo.RecordDeliveryTimeout(a.client.timeout), kgo.UnknownTopicRetries(3))...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := f.checkPartition(ctx, client, topic); err != nil {
		return err
	}
	tally := newTally(topic, f.acks == "0")
	delivery := context.WithoutCancel(ctx) // what was read before an interrupt is delivered all the same
	readErr := a.readLines(ctx, func(line []byte) error {
		client.Produce(delivery, f.record(topic, line, headers), tally.acknowledged)
		return tally.failure()
	})
	if err := client.Flush(delivery); err != nil && readErr == nil { // bounded by each record's delivery timeout
		readErr = err
	}
	return errors.Join(tally.failureOr(readErr), a.printProduced(tally.result()))
}

// readLines calls each for every line of standard input, without its end, until the input or the context ends. The line is
// each's to keep. A read from a terminal or a pipe cannot be interrupted, so a goroutine does it, and is left behind.
func (a *app) readLines(ctx context.Context, each func([]byte) error) error {
	lines, done := make(chan []byte, 64), make(chan error, 1)
	go func() { done <- scanLines(ctx, a.stdin, lines) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			if !more {
				return <-done
			}
			if err := each(line); err != nil {
				return err
			}
		}
	}
}

// scanLines sends the lines of r, and closes lines after the last.
func scanLines(ctx context.Context, r io.Reader, lines chan<- []byte) error {
	defer close(lines)
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), lineBytesMax)
	number := 0
	for s.Scan() {
		number++
		select {
		case lines <- bytes.Clone(s.Bytes()):
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than %d bytes", number+1, lineBytesMax)
	}
	return s.Err()
}

func (f *produceFlags) record(topic string, line []byte, headers []kgo.RecordHeader) *kgo.Record {
	r := &kgo.Record{Topic: topic, Value: line, Headers: headers, Partition: max(f.partition, 0)}
	if r.Value == nil {
		r.Value = []byte{} // an empty line is an empty record, not a tombstone
	}
	if f.keySeparator != "" {
		if key, value, ok := bytes.Cut(line, []byte(f.keySeparator)); ok {
			r.Key, r.Value = key, value
		}
	}
	return r
}

func (a *app) printProduced(p produced) error {
	if a.output == outputText {
		return nil
	}
	return writeJSON(a.stdout, p)
}

// tally counts what is acknowledged. The client calls acknowledged from a goroutine of its own.
type tally struct {
	mu         sync.Mutex
	topic      string
	blind      bool // no offsets come back
	records    int64
	partitions map[int32]*producedPartition
	err        error // the first failure
}

func newTally(topic string, blind bool) *tally {
	return &tally{topic: topic, blind: blind, partitions: make(map[int32]*producedPartition)}
}

func (t *tally) acknowledged(r *kgo.Record, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		if t.err == nil {
			t.err = refused("topic", t.topic, err, "")
		}
		return
	}
	t.records++
	if t.blind {
		return
	}
	p := t.partitions[r.Partition]
	if p == nil {
		p = &producedPartition{Partition: r.Partition, FirstOffset: r.Offset}
		t.partitions[r.Partition] = p
	}
	p.Records++
	p.LastOffset = r.Offset
}

func (t *tally) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// failureOr prefers the first failure of a record over what came of it.
func (t *tally) failureOr(err error) error {
	if f := t.failure(); f != nil {
		return f
	}
	return err
}

func (t *tally) result() produced {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := produced{Topic: t.topic, Records: t.records, Partitions: []producedPartition{}}
	for _, index := range slices.Sorted(maps.Keys(t.partitions)) {
		p.Partitions = append(p.Partitions, *t.partitions[index])
	}
	return p
}
