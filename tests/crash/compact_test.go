package crash

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/harness"
	"github.com/ringmill/ringmill/tests/powercut"
)

const (
	compactPartitions = 2
	compactKeys       = 300
)

// compactProperties keep the cleaner busy: it looks again at once.
var compactProperties = map[string]string{"log.cleaner.backoff.ms": "20", "log.cleaner.threads": "1"}

// compactConfigs make small segments dirty at once, and let tombstones go within a run.
var compactConfigs = []string{"cleanup.policy=compact", fmt.Sprint("segment.bytes=", segmentBytes), "min.cleanable.dirty.ratio=0.01", "delete.retention.ms=300"}

// TestCompactedKillNine: the map that a compacted topic holds is that of what was acknowledged, over kill -9 under load.
func TestCompactedKillNine(t *testing.T) {
	kills := harness.Setting(t, "RINGMILL_TEST_KILLS", 3)
	random := harness.Random(t)
	for done := 0; done < kills; {
		node := harness.Start(t, harness.Options{Properties: compactProperties})
		round := min(killsInARound, kills-done)
		compactedRound(t, node, random, round, func() { node.Kill(t) })
		done += round
		if t.Failed() {
			t.Fatalf("after %d kills", done)
		}
	}
}

// TestCompactedPowerCut: the same when the power goes.
func TestCompactedPowerCut(t *testing.T) {
	if peer := harness.ChosenPeer(); peer != harness.Ringmill {
		t.Skipf("%s acknowledges from the page cache: a power cut loses records by contract", peer)
	}
	cuts := harness.Setting(t, "RINGMILL_TEST_CUTS", 2)
	random := harness.Random(t)
	for done := 0; done < cuts; {
		disk := powercut.New(t, []string{"ext4", "xfs"}[random.IntN(2)], 2<<30)
		node := harness.StartRingmill(t, harness.Options{Data: disk.Dir, Properties: compactProperties})
		round := min(killsInARound/2, cuts-done)
		compactedRound(t, node, random, round, func() { cut(t, node, disk, random) })
		done += round
		if t.Failed() {
			t.Fatalf("after %d cuts", done)
		}
	}
}

// compactedRound runs the load over some endings of one node and judges what is left.
func compactedRound(t *testing.T, node *harness.Node, random *rand.Rand, endings int, end func()) {
	t.Helper()
	w := startCompacted(t, node, random.Uint64())
	for range endings {
		w.awaitSends(400) // a segment
		time.Sleep(time.Duration(random.IntN(100_000)) * time.Microsecond)
		end()
		node.Restart(t)
	}
	w.awaitSends(800)
	w.awaitCleaned()
	w.finish()
	node.Stop(t)
}

// keySend is one record sent for a key. Version is its number among them, which only grows.
type keySend struct {
	version   uint32
	tombstone bool
	acked     bool
}

// compacted is a load on one compacted topic: every key has one sender.
type compacted struct {
	t       *testing.T
	node    *harness.Node
	topic   string
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	sends [compactKeys][]keySend
	acked int
}

func startCompacted(t *testing.T, node *harness.Node, seed uint64) *compacted {
	t.Helper()
	w := &compacted{t: t, node: node, topic: harness.Name("compacted")}
	node.CreateNamedTopic(t, w.topic, compactPartitions, compactConfigs...)
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	t.Cleanup(stop)
	for sender := range producers {
		client := node.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(200), kgo.RetryTimeout(2*time.Minute),
			kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }), kgo.ProducerBatchCompression(kgo.NoCompression()),
			kgo.ProducerBatchMaxBytes(100_000), kgo.RecordDeliveryTimeout(2*time.Minute))
		w.running.Go(func() { w.produce(ctx, client, rand.New(rand.NewPCG(seed, uint64(sender))), sender) })
	}
	return w
}

// produce writes versions and tombstones of the keys that are this sender's until stopped.
func (w *compacted) produce(ctx context.Context, client *kgo.Client, random *rand.Rand, sender int) {
	for ctx.Err() == nil {
		key := random.IntN(compactKeys/producers)*producers + sender
		send := keySend{tombstone: random.IntN(6) == 0}
		w.mu.Lock()
		index := len(w.sends[key])
		send.version = uint32(index)
		w.sends[key] = append(w.sends[key], send)
		w.mu.Unlock()
		client.Produce(context.Background(), keyRecord(w.topic, key, send), func(_ *kgo.Record, err error) {
			if err != nil {
				return // in doubt
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.sends[key][index].acked = true
			w.acked++
		})
	}
	if err := client.Flush(harness.Context(w.t)); err != nil {
		w.t.Errorf("flush: %v", err)
	}
}

// keyRecord carries its version in a header, which tombstones have too.
func keyRecord(topic string, key int, send keySend) *kgo.Record {
	version := binary.BigEndian.AppendUint32(nil, send.version)
	r := &kgo.Record{Topic: topic, Partition: int32(key % compactPartitions), Key: strconv.AppendInt(nil, int64(key), 10),
		Headers: []kgo.RecordHeader{{Key: "version", Value: version}}}
	if !send.tombstone {
		r.Value = bytes.Repeat(version, valueBytes/len(version))
	}
	return r
}

// keyRead is one record of the final log.
type keyRead struct {
	key       int
	version   uint32
	tombstone bool
	offset    int64
}

func readKey(r *kgo.Record) (keyRead, error) {
	key, err := strconv.Atoi(string(r.Key))
	if err != nil || len(r.Headers) != 1 || len(r.Headers[0].Value) != 4 {
		return keyRead{}, fmt.Errorf("partition %d offset %d: key %q, %d headers", r.Partition, r.Offset, r.Key, len(r.Headers))
	}
	read := keyRead{key: key, version: binary.BigEndian.Uint32(r.Headers[0].Value), tombstone: r.Value == nil, offset: r.Offset}
	if !read.tombstone && !bytes.Equal(r.Value, bytes.Repeat(r.Headers[0].Value, valueBytes/4)) {
		return read, fmt.Errorf("partition %d offset %d: the record's bytes have changed", r.Partition, r.Offset)
	}
	return read, nil
}

// awaitSends returns when count more records are acknowledged.
func (w *compacted) awaitSends(count int) {
	w.t.Helper()
	acked := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.acked
	}
	goal := acked() + count
	harness.Eventually(w.t, "records are acknowledged after a restart", func(context.Context) error {
		if short := goal - acked(); short > 0 {
			return fmt.Errorf("%d records short of %d more", short, count)
		}
		return nil
	})
}

// awaitCleaned returns when something was compacted since the last restart.
func (w *compacted) awaitCleaned() {
	w.t.Helper()
	if w.node.IsKafka() {
		return
	}
	harness.Await(w.t, "something is compacted", func() bool { return w.node.Metric(w.t, "ringmill_compactions_total") > 0 })
}

// finish ends the load, reads the topic from offset 0 and judges.
func (w *compacted) finish() {
	w.t.Helper()
	w.stop()
	w.running.Wait()
	var final []keyRead
	for partition := range int32(compactPartitions) {
		final = append(final, w.read(partition)...)
	}
	for _, violation := range judgeCompacted(w.sends[:], final) {
		w.t.Error(violation)
	}
	w.t.Logf("%d acknowledged records, %d after compaction", w.acked, len(final))
	if len(final) >= w.acked {
		w.t.Error("nothing was compacted away")
	}
}

// read gives one partition from its start; the record that ends it is always kept.
func (w *compacted) read(partition int32) (final []keyRead) {
	w.t.Helper()
	ends := harness.Asked(w.t, w.node, "end offsets", func(ctx context.Context, admin *kadm.Client) (kadm.ListedOffsets, error) {
		return admin.ListEndOffsets(ctx, w.topic)
	})
	end, _ := ends.Lookup(w.topic, partition)
	client := w.node.Client(w.t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{w.topic: {partition: kgo.NewOffset().At(0)}}))
	defer client.Close()
	ctx := harness.Context(w.t)
	for next := int64(0); next < end.Offset; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.t.Fatalf("partition %d at offset %d of %d: %v", partition, next, end.Offset, err)
		}
		for _, r := range fetches.Records() {
			read, err := readKey(r)
			if err != nil {
				w.t.Error(err)
			}
			final, next = append(final, read), r.Offset+1
		}
	}
	return final
}

// judgeCompacted holds a compacted log against what was sent: the newest version of each key is the last that was acknowledged
// or one sent after it that is in doubt; versions grow; nothing is there that nobody sent.
func judgeCompacted(sends [][]keySend, final []keyRead) (violations []string) {
	report := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	newest := map[int]keyRead{}
	for _, r := range final {
		if r.key < 0 || r.key >= len(sends) || int(r.version) >= len(sends[r.key]) || sends[r.key][r.version].tombstone != r.tombstone {
			report("key %d version %d (tombstone %t) at offset %d was never sent", r.key, r.version, r.tombstone, r.offset)
			continue
		}
		if before, ok := newest[r.key]; ok && before.version >= r.version {
			report("key %d: version %d at offset %d follows %d at offset %d", r.key, r.version, r.offset, before.version, before.offset)
		}
		newest[r.key] = r
	}
	for key, sent := range sends {
		if violation := judgeKey(sent, newest[key], hasKey(newest, key)); violation != "" {
			report("key %d: %s", key, violation)
		}
	}
	return violations
}

func hasKey(m map[int]keyRead, key int) bool {
	_, ok := m[key]
	return ok
}

// judgeKey says what is wrong with a key's newest version, "" if nothing is. No version at all stands for a tombstone that has expired.
func judgeKey(sent []keySend, newest keyRead, there bool) string {
	last := -1
	mayBeGone := true // nothing was acknowledged
	for i, s := range sent {
		if s.acked {
			last, mayBeGone = i, s.tombstone
		} else if s.tombstone {
			mayBeGone = true
		}
	}
	switch {
	case !there && !mayBeGone:
		return fmt.Sprintf("nothing is there, version %d was acknowledged", last)
	case there && int(newest.version) < last:
		return fmt.Sprintf("version %d is there, %d was acknowledged", newest.version, last)
	}
	return ""
}

// TestJudgeCompacted plants faults. A judge that never found one proves nothing.
func TestJudgeCompacted(t *testing.T) {
	ok, doubt, tomb := keySend{acked: true}, keySend{}, keySend{acked: true, tombstone: true}
	number := func(sends ...keySend) []keySend {
		for i := range sends {
			sends[i].version = uint32(i)
		}
		return sends
	}
	for _, row := range []struct {
		name  string
		sends []keySend
		final []keyRead
		want  string // "": sound
	}{
		{"newest", number(ok, ok), []keyRead{{version: 1}}, ""},
		{"older ones too", number(ok, ok), []keyRead{{version: 0}, {version: 1}}, ""},
		{"in doubt and there", number(ok, doubt), []keyRead{{version: 1}}, ""},
		{"in doubt and not there", number(ok, doubt), []keyRead{{version: 0}}, ""},
		{"tombstone", number(ok, tomb), []keyRead{{version: 1, tombstone: true}}, ""},
		{"expired tombstone", number(ok, tomb), nil, ""},
		{"never acknowledged", number(doubt), nil, ""},
		{"lost", number(ok, ok), nil, "nothing is there"},
		{"older one came back", number(ok, ok), []keyRead{{version: 0}}, "was acknowledged"},
		{"value behind an expired tombstone came back", number(ok, tomb), []keyRead{{version: 0}}, "was acknowledged"},
		{"expired without a tombstone", number(ok, tomb, ok), nil, "nothing is there"},
		{"backwards", number(ok, ok), []keyRead{{version: 1}, {version: 0}, {version: 1}}, "follows"},
		{"from nowhere", number(ok), []keyRead{{version: 0}, {version: 7}}, "never sent"},
		{"a value became a tombstone", number(ok), []keyRead{{version: 0, tombstone: true}}, "never sent"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := strings.Join(judgeCompacted([][]keySend{row.sends}, row.final), "; ")
			if (row.want == "") != (got == "") || !strings.Contains(got, row.want) {
				t.Errorf("found %q, want %q", got, row.want)
			}
		})
	}
}
