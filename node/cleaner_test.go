package node

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// keyed is a batch of records with keys; "key" alone is a tombstone.
func keyed(pairs ...string) []byte {
	h := wire.BatchHeader{BaseTimestamp: wallNow()}
	records := make([]wire.Record, len(pairs))
	for i, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		records[i].Key = []byte(k)
		if ok {
			records[i].Value = []byte(v)
		}
	}
	return wire.AppendRecordBatch(nil, h, records)
}

// finalMap reads a partition from a log start of 0 and applies its records.
func (c *client) finalMap(topic string, part int32) map[string]string {
	c.t.Helper()
	out := map[string]string{}
	for off := int64(0); ; {
		p := fetched(c.call(fetch(toFetch{topic, part, off})))[fmt.Sprintf("%s-%d", topic, part)]
		if p.ErrorCode != 0 {
			c.t.Fatalf("fetch at %d: %s", off, wire.ErrorCode(p.ErrorCode))
		}
		if off == p.HighWatermark {
			return out
		}
		next := off
		for rest := p.RecordBatches; len(rest) > 0; {
			b, tail, err := wire.ReadRecordBatch(rest)
			if err != nil {
				c.t.Fatal(err)
			}
			it, err := b.Records(nil)
			if err != nil {
				c.t.Fatal(err)
			}
			for r, ok := it.Next(); ok; r, ok = it.Next() {
				if r.Value == nil {
					delete(out, string(r.Key))
				} else {
					out[string(r.Key)] = string(r.Value)
				}
			}
			rest, next = tail, int64(b.NextOffset())
		}
		if next <= off {
			c.t.Fatalf("a fetch at %d of %d leads nowhere: %d bytes", off, p.HighWatermark, len(p.RecordBatches))
		}
		off = next
	}
}

// cleanedThrough is what cleaner-offset-checkpoint says of a partition; 0 if nothing.
func (tn *testNode) cleanedThrough(topic string) wire.Offset {
	text, err := os.ReadFile(filepath.Join(tn.dirs[0].path, segment.CleanerCheckpoint))
	if err != nil {
		return 0
	}
	offsets, err := segment.ReadOffsetCheckpoint(text)
	if err != nil {
		tn.t.Fatal(err)
	}
	return offsets[wire.TopicPartition{Topic: topic}]
}

func (tn *testNode) logBytes(topic string) (bytes int64) {
	p := tn.topics.named([]byte(topic)).parts[0]
	p.loop.on(func(*Loop) { bytes = p.log().Size() })
	return bytes
}

var compactedTopic = []string{
	"cleanup.policy=compact", "internal.segment.bytes=4000", "min.cleanable.dirty.ratio=0.1", "index.interval.bytes=500",
}

// TestCompaction: a compacted topic keeps the newest record of each key while it is written and read, over a kill and a restart.
func TestCompaction(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{"log.cleaner.backoff.ms=5"}})
		tn.createTopic("c", 1, compactedTopic...)
		c := tn.dial()
		want, rng := map[string]string{}, rand.New(rand.NewPCG(1, 2))
		write := func(batches int) {
			for i := range batches {
				k, v := fmt.Sprint("k", rng.IntN(20)), fmt.Sprint(i, strings.Repeat(".", 150))
				pair := k + "=" + v
				if want[k] = v; rng.IntN(6) == 0 {
					delete(want, k)
					pair = k
				}
				c.mustProduce("c", 0, keyed(pair))
				if i%50 == 0 {
					if got := c.finalMap("c", 0); !maps.Equal(got, want) {
						t.Fatalf("%v, want %v", got, want)
					}
				}
			}
		}
		write(300)
		await(t, "compaction", func() bool { return tn.cleanedThrough("c") > 200 && tn.logBytes("c") < 20_000 })
		if got := c.finalMap("c", 0); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		tn.kill()
		tn = tn.restart()
		if c = tn.dial(); !maps.Equal(c.finalMap("c", 0), want) {
			t.Error("another map after kill -9")
		}
		write(100)
		if err := tn.stop(); err != nil {
			t.Fatal(err)
		}
		rep, err := segment.VerifyDir(tn.seams.fs, filepath.Join(tn.dirs[0].path, "c-0"), segment.VerifyOptions{Records: true, Compacted: true})
		if err != nil || rep.ProblemCount > 0 {
			t.Errorf("%v, %v", rep.Problems, err)
		}
		tn = tn.restart()
		if c = tn.dial(); !maps.Equal(c.finalMap("c", 0), want) {
			t.Error("another map after a restart")
		}
	})
}

// TestCompactionSwitchedOnAndOff: the policy of a topic may change while it is there.
func TestCompactionSwitchedOnAndOff(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"log.cleaner.backoff.ms=5"}})
	tn.createTopic("c", 1, "internal.segment.bytes=2000", "min.cleanable.dirty.ratio=0.1")
	tn.createTopic("other", 1, "cleanup.policy=compact", "internal.segment.bytes=2000", "min.cleanable.dirty.ratio=0.1")
	c := tn.dial()
	write := func(topic string) {
		for i := range 60 {
			c.mustProduce(topic, 0, keyed(fmt.Sprint("k", i%3, "=", i, strings.Repeat(".", 100))))
		}
	}
	fill := func() { write("c") }
	looked := func() { // the cleaner takes one log after the other: what it did before it came to this one is done
		t.Helper()
		through := tn.cleanedThrough("other")
		write("other")
		await(t, "the cleaner has looked", func() bool { return tn.cleanedThrough("other") > through })
	}
	fill()
	before := tn.logBytes("c")
	looked()
	if tn.logBytes("c") != before {
		t.Error("a log with cleanup.policy=delete was compacted")
	}
	tn.alterTopic("c", "cleanup.policy", "compact")
	await(t, "compaction", func() bool { return tn.logBytes("c") < before/2 })
	tn.alterTopic("c", "cleanup.policy", "delete")
	looked()
	fill()
	kept := tn.logBytes("c")
	looked()
	if tn.logBytes("c") != kept {
		t.Error("it is compacted after the policy was delete again")
	}
	tn.kill()
	tn = tn.restart() // with the gaps that compaction left, and cleanup.policy=delete
	if c = tn.dial(); len(c.finalMap("c", 0)) != 3 || tn.logBytes("c") != kept {
		t.Errorf("%d bytes, were %d", tn.logBytes("c"), kept)
	}
	tn.alterTopic("c", "cleanup.policy", "compact,delete")
	await(t, "compaction", func() bool { return tn.logBytes("c") < before/2 })
}

// TestCompactionOfOffsets: __consumer_offsets is compacted, and committed offsets are there after it and a restart.
func TestCompactionOfOffsets(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{
		"log.cleaner.backoff.ms=5", "log.cleaner.min.cleanable.ratio=0.1", "offsets.topic.num.partitions=1", "offsets.topic.segment.bytes=1048576",
	}})
	tn.createTopic("t", 1)
	c := tn.dial()
	commit := func(off int64) {
		t.Helper()
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Version, req.Group, req.Generation = 7, "g", -1
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic = "t"
		part := kmsg.NewOffsetCommitRequestTopicPartition()
		text := strings.Repeat("m", 4000)
		part.Offset, part.Metadata = off, &text
		topic.Partitions = append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		for {
			code := wire.ErrorCode(c.call(req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
			if code == wire.None {
				return
			}
			if code != wire.CoordinatorLoadInProgress && code != wire.NotCoordinator && code != wire.CoordinatorNotAvailable {
				t.Fatal(code)
			}
			time.Sleep(time.Millisecond)
		}
	}
	if !tn.OffsetsTopicReady() {
		t.Fatal("no __consumer_offsets")
	}
	for i := range int64(600) {
		commit(i)
	}
	await(t, "compaction", func() bool {
		return tn.cleanedThrough("__consumer_offsets") > 0 && tn.logBytes("__consumer_offsets") < 2<<20
	})
	tn.kill()
	tn = tn.restart()
	c = tn.dial()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = 7, "g"
	await(t, "the coordinator", func() bool {
		resp := c.call(req).(*kmsg.OffsetFetchResponse)
		return resp.ErrorCode == 0 && len(resp.Topics) == 1 && resp.Topics[0].Partitions[0].Offset == 599
	})
}
