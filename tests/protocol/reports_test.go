package protocol

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/tests/harness"
)

// Faults that other servers have shipped, each with the report that it is known by. docs/reliability.md lists all.

// dropCaches writes a topic's segment files back and takes them out of the page cache (posix_fadvise(2), POSIX_FADV_DONTNEED).
func dropCaches(t *testing.T, node *harness.Node, topic string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(node.LogDir, topic+"-*", "*.log"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no segments of %s: %v", topic, err)
	}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
		file.Close()
	}
}

// Apache KAFKA-7504: a consumer of what is not in the page cache does not hold up one on the same core that follows the end. What is
// cold is read in beside the loop, never by sendfile on it; while the cold answer is under way, others are answered.
func TestReportColdBesideHot(t *testing.T) {
	node := harness.Start(t, harness.Options{Properties: map[string]string{"ringmill.loops": "1"}})
	if node.IsKafka() {
		t.Skip("counts what ringmill does")
	}
	cold, hot := node.CreateTopic(t, "cold", 1, "segment.bytes=16777216"), node.CreateTopic(t, "hot", 1)
	writer := dial(t, node)
	const batches, size = 480, 100_000 // the node knows its newest 128 batches to be cached
	for range batches {
		writer.mustProduce(cold, newBatch(record(strings.Repeat("c", size))))
	}
	dropCaches(t, node, cold)
	before := node.Metric(t, "ringmill_fetch_cold_ranges_total")
	reader := dial(t, node)
	for from := range int64(2) { // of the older two thirds of the topic; nobody takes it yet, so that it is under way
		req := fetchRequest(cold, 0, from*batches/3)
		req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 50<<20, 15<<20
		req.SetVersion(fetchVersion)
		reader.send(req)
	}
	for i := range 100 { // in order: none of these waits for the cold answers, which nobody takes
		offset := writer.mustProduce(hot, newBatch(record(fmt.Sprint(i))))
		if got := writer.fetchBatches(hot, offset); len(got) != 1 {
			t.Fatalf("round %d: %d batches", i, len(got))
		}
	}
	for range 2 {
		_ = reader.net.SetReadDeadline(time.Now().Add(patience))
		frame, err := readFrame(reader.net)
		if err != nil || len(frame) < size {
			t.Fatalf("a cold answer of %d bytes: %v", len(frame), err)
		}
	}
	if after := node.Metric(t, "ringmill_fetch_cold_ranges_total"); after == before {
		t.Error("nothing was read in beside the loop: was it cold?")
	}
}

// redpanda#3409: a Fetch of 5,000 partitions, 10 MB of each, is cut to fetch.max.bytes and costs no memory a byte.
func TestReportFetchOfManyLargePartitions(t *testing.T) {
	node := hostileNode(t)
	if node.IsKafka() {
		t.Skip("Apache Kafka maps its files: its resident memory tells nothing")
	}
	const partitions, each, fetchMax = 5000, 20_000, 55 << 20
	topic := node.CreateTopic(t, "wide", partitions)
	c := dial(t, node)
	value := strings.Repeat("w", each)
	req := produceRequest(topic, 0, nil)
	for from := 0; from < partitions; from += 500 {
		req.Topics[0].Partitions = nil
		for i := range 500 {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = int32(from+i), newBatch(record(value)).bytes()
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, p)
		}
		for _, p := range ask[*kmsg.ProduceResponse](c, produceVersion, req).Topics[0].Partitions {
			wantCode(t, "produce", p.ErrorCode, nil)
		}
	}
	before := residentKB(t, node.Pid())
	fetch := fetchRequest(topic, 0, 0)
	fetch.MaxBytes = 1<<31 - 1
	fetch.Topics[0].Partitions = nil
	for i := range int32(partitions) {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = i, 10<<20
		fetch.Topics[0].Partitions = append(fetch.Topics[0].Partitions, p)
	}
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			res := ask[*kmsg.FetchResponse](dial(t, node), fetchVersion, fetch)
			total := 0
			for _, p := range res.Topics[0].Partitions {
				total += len(p.RecordBatches)
			}
			if total > fetchMax+each+100 || total < fetchMax-each-100 {
				t.Errorf("%d bytes of records, want fetch.max.bytes=%d", total, fetchMax)
			}
		})
	}
	clients.Wait()
	if grown := residentKB(t, node.Pid()) - before; grown > 100<<10 {
		t.Errorf("%d KiB more are resident after four answers of %d bytes", grown, fetchMax)
	}
}

// librdkafka#4898, iggy#3761: a topic that is deleted and made again under a producer takes its records again; what is acknowledged
// after that is there.
func TestReportRecreatedUnderAProducer(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "recreated", 1)
	kafka := node.Client(t, kgo.DefaultProduceTopic(topic), kgo.RecordDeliveryTimeout(time.Minute), kgo.MetadataMinAge(100*time.Millisecond),
		kgo.UnknownTopicRetries(-1), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	admin := kadm.NewClient(node.Client(t))
	var made atomic.Bool
	var after []string // acknowledged, sent once the new topic was there
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; len(after) < 5 && i < 2000; i++ {
			value, isAfter := fmt.Sprint("value ", i), made.Load()
			err := kafka.ProduceSync(harness.Context(t), &kgo.Record{Value: []byte(value)}).FirstErr()
			if err != nil {
				kafka.PurgeTopicsFromProducing(topic) // what franz-go asks of its user where a topic's id has changed
			}
			if err == nil && isAfter {
				after = append(after, value)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	if _, err := admin.DeleteTopic(harness.Context(t), topic); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, "made again", func() bool {
		_, err := admin.CreateTopic(harness.Context(t), 1, 1, nil, topic)
		return err == nil
	})
	made.Store(true)
	<-done
	if len(after) < 5 {
		t.Fatalf("only %d records were acknowledged after the topic was made again", len(after))
	}
	ends, err := admin.ListEndOffsets(harness.Context(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	there := strings.Join(harness.Values(node.Consume(t, topic, int(end.Offset))), "\n") + "\n"
	for _, value := range after {
		if !strings.Contains(there, value+"\n") {
			t.Errorf("%q was acknowledged and is not there", value)
		}
	}
}

// redpanda#22670: an idempotent producer that was forgotten goes on at the sequence where it was.
func TestReportForgottenProducerGoesOn(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{Properties: map[string]string{
		"log.initial.task.delay.ms": "0", "producer.id.expiration.ms": "3000", "producer.id.expiration.check.interval.ms": "50",
	}})
	topic := node.CreateTopic(t, "forgotten", 1)
	c := dial(t, node)
	id := c.producerID()
	wantCode(t, "sequence 0", c.produce(topic, 0, newBatch(record("a")).producer(id, 0, 0).bytes()).ErrorCode, nil)
	wantCode(t, "sequence 7 of a known producer", c.produce(topic, 0, newBatch(record("b")).producer(id, 0, 7).bytes()).ErrorCode, kerr.OutOfOrderSequenceNumber)
	harness.Await(t, "the producer is forgotten", func() bool {
		req := kmsg.NewPtrDescribeProducersRequest()
		req.Topics = []kmsg.DescribeProducersRequestTopic{{Topic: topic, Partitions: []int32{0}}}
		return len(ask[*kmsg.DescribeProducersResponse](c, 0, req).Topics[0].Partitions[0].ActiveProducers) == 0
	})
	wantCode(t, "sequence 7 of an unknown producer", c.produce(topic, 0, newBatch(record("b")).producer(id, 0, 7).bytes()).ErrorCode, nil)
}

// kafka4beam/brod#465: JoinGroup 0 has no rebalance timeout; its session timeout stands for it, so that a member that is gone holds a rebalance
// up no longer.
func TestReportJoinGroupWithoutRebalanceTimeout(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{Properties: map[string]string{"group.min.session.timeout.ms": "100"}})
	first := dial(t, node)
	group := harness.Name("v0")
	first.findCoordinator(group)
	join := func(c *conn) *kmsg.JoinGroupResponse {
		req := joinRequest(group, "")
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 3000, -1
		return ask[*kmsg.JoinGroupResponse](c, 0, req)
	}
	one := join(first)
	wantCode(t, "the first member", one.ErrorCode, nil)
	two := join(dial(t, node)) // the first one never joins again
	wantCode(t, "the second member", two.ErrorCode, nil)
	want(t, "generation", two.Generation, one.Generation+1)
	want(t, "members", len(two.Members), 1)
}

// librdkafka#2944, #3396: a node that FindCoordinator names never says NOT_COORDINATOR, however young it is.
func TestReportCoordinatorOfAYoungNode(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	c := dial(t, node)
	group := harness.Name("young")
	c.findCoordinator(group)
	for range 3 {
		node.Kill(t)
		node.Restart(t)
		c := dial(t, node)
		find := findRequest(0, group)
		wantCode(t, "FindCoordinator", ask[*kmsg.FindCoordinatorResponse](c, 3, find).ErrorCode, nil)
		if code := c.heartbeat(group, "nobody", 1); code != kerr.CoordinatorLoadInProgress.Code && code != kerr.UnknownMemberID.Code {
			t.Errorf("a heartbeat to the named coordinator: %s", codeName(code))
		}
	}
}

// redpanda#626: what a log append time says is the wall clock's, not that of a clock that starts at boot.
func TestReportAppendTimeIsWallClock(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t, "message.timestamp.type=LogAppendTime")
	before := nowMS()
	c.mustProduce(topic, newBatch(record("a")).timestamps(1000))
	if got := c.fetchBatches(topic, 0)[0].MaxTimestamp; got < before || got > nowMS() {
		t.Errorf("appended at %d, between %d and %d by this process's clock", got, before, nowMS())
	}
}

// twmb/franz-go#809 and KIP-74: a batch of 130 kB goes out whole to a client that reads no more than 1 kB.
func TestReportBatchAboveTheClientsLimit(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	b := newBatch(record(strings.Repeat("b", 130_000))).bytes()
	if p := c.produce(topic, 0, b); p.ErrorCode != 0 {
		t.Fatal(codeName(p.ErrorCode))
	}
	req := fetchRequest(topic, 0, 0)
	req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 1000, 1000
	want(t, "bytes", len(c.fetch(fetchVersion, req).RecordBatches), len(b))
}
