package protocol

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// Faults that other servers have shipped, each with the report that it is known by: transactions. docs/reliability.md lists all.

// transactor writes whole transactions through franz-go.
type transactor struct {
	t     *testing.T
	kafka *kgo.Client
}

func newTransactor(t *testing.T, node *harness.Node, options ...kgo.Opt) *transactor {
	t.Helper()
	options = append(options, kgo.TransactionalID(harness.Name("txn")), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return &transactor{t, node.Client(t, options...)}
}

// write is one transaction over the topic's partition 0.
func (x *transactor) write(topic string, end kgo.TransactionEndTry, values ...string) {
	x.t.Helper()
	if err := x.kafka.BeginTransaction(); err != nil {
		x.t.Fatal(err)
	}
	records := make([]*kgo.Record, len(values))
	for i, v := range values {
		records[i] = &kgo.Record{Topic: topic, Value: []byte(v)}
	}
	if err := x.kafka.ProduceSync(harness.Context(x.t), records...).FirstErr(); err != nil {
		x.t.Fatal(err)
	}
	if err := x.kafka.EndTransaction(harness.Context(x.t), end); err != nil {
		x.t.Fatal(err)
	}
}

// committedValues reads a topic as a consumer with isolation read_committed, as many records as are wanted.
func committedValues(t *testing.T, node *harness.Node, topic string, count int) []string {
	t.Helper()
	return harness.Values(node.Consume(t, topic, count, kgo.FetchIsolationLevel(kgo.ReadCommitted())))
}

// confluentinc/librdkafka#2993: one committed record behind a long run of aborted ones is read, and nothing before it.
func TestReportLongAbortedRun(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "aborted-run", 1, "segment.bytes=1048576")
	x := newTransactor(t, node)
	aborted := slices.Repeat([]string{strings.Repeat("a", 200)}, 5000)
	for range 20 {
		x.write(topic, kgo.TryAbort, aborted...)
	}
	x.write(topic, kgo.TryCommit, "committed")
	want(t, "first record", committedValues(t, node, topic, 1)[0], "committed")
}

// tulios/kafkajs#619: a log that ends in control records alone is left behind, not fetched for ever.
func TestReportControlRecordsAtTheEnd(t *testing.T) {
	t.Parallel()
	c, topic := fresh(t)
	x := newTransactor(t, harness.Shared(t))
	x.write(topic, kgo.TryCommit, "a")
	x.write(topic, kgo.TryAbort, "b")
	harness.Await(t, "both markers", func() bool {
		_, _, end := c.positions(topic, 0)
		return end == 4
	})
	for at := range int64(4) {
		if _, next, _ := c.positions(topic, at); next <= at {
			t.Errorf("a fetch at %d goes on at %d", at, next)
		}
	}
	if _, next, end := c.positions(topic, 4); next != end {
		t.Errorf("at the end it goes on at %d of %d", next, end)
	}
}

// twmb/franz-go#1348: the aborted transactions of an answer go by their first offsets, across rolls and a restart.
func TestReportAbortedListIsSorted(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	topic := node.CreateTopic(t, "aborted-list", 1, "segment.bytes=1048576")
	one, other := newTransactor(t, node), newTransactor(t, node)
	big := strings.Repeat("x", 100_000)
	var wanted []string
	for i := range 16 {
		one.write(topic, kgo.TryAbort, big)
		other.write(topic, kgo.TransactionEndTry(i%2 == 0), fmt.Sprint(i))
		one.write(topic, kgo.TryAbort, "short")
		if i%2 == 0 {
			wanted = append(wanted, fmt.Sprint(i))
		}
	}
	for _, when := range []string{"before", "after"} {
		req := fetchRequest(topic, 0, 0)
		req.IsolationLevel, req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 1, 50<<20, 50<<20
		list := dial(t, node).fetch(fetchVersion, req).AbortedTransactions
		if len(list) < 2 || !slices.IsSortedFunc(list, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
			return int(a.FirstOffset - b.FirstOffset)
		}) {
			t.Errorf("%s the restart: aborted %v", when, list)
		}
		if got := committedValues(t, node, topic, len(wanted)); !slices.Equal(got, wanted) {
			t.Errorf("%s the restart: read %q, want %q", when, got, wanted)
		}
		if when == "before" {
			node.Kill(t)
			node.Restart(t)
		}
	}
}

// rawTxn is a transactional producer that says each request itself, with the first protocol.
type rawTxn struct {
	*conn
	id       string
	producer int64
	epoch    int16
}

func newRawTxn(t *testing.T, node *harness.Node) *rawTxn {
	t.Helper()
	x := &rawTxn{conn: dial(t, node), id: harness.Name("raw-txn")}
	x.findTransactions(x.id)
	x.init()
	return x
}

func (x *rawTxn) init() {
	x.t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &x.id, 60_000, -1, -1
	harness.Await(x.t, "a producer id", func() bool {
		res := ask[*kmsg.InitProducerIDResponse](x.conn, 4, req)
		x.producer, x.epoch = res.ProducerID, res.ProducerEpoch
		return res.ErrorCode == 0
	})
}

func (x *rawTxn) add(topic string) {
	x.t.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = x.id, x.producer, x.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: []int32{0}}}
	harness.Await(x.t, "the partition is added", func() bool { // the transaction before may still write its markers
		return ask[*kmsg.AddPartitionsToTxnResponse](x.conn, 3, req).Topics[0].Partitions[0].ErrorCode == 0
	})
}

func (x *rawTxn) send(topic, value string, sequence int32) int16 {
	x.t.Helper()
	b := newBatch(record(value)).producer(x.producer, x.epoch, sequence)
	b.Attributes |= 1 << 4
	req := produceRequest(topic, 0, b.bytes())
	req.TransactionID = &x.id
	return ask[*kmsg.ProduceResponse](x.conn, 11, req).Topics[0].Partitions[0].ErrorCode
}

func (x *rawTxn) end(version int16, commit bool) int16 {
	x.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = x.id, x.producer, x.epoch, commit
	return ask[*kmsg.EndTxnResponse](x.conn, version, req).ErrorCode
}

// confluentinc/librdkafka#3369: an aborted transaction that wrote nothing, between others, costs no record.
func TestReportEmptyAbort(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "empty-abort", 1)
	x := newRawTxn(t, node)
	for i := range int32(3) {
		x.add(topic)
		wantCode(t, "produce", x.send(topic, fmt.Sprint(i), i), nil)
		wantCode(t, "commit", x.end(3, true), nil)
		x.add(topic)
		wantCode(t, "abort of nothing", x.end(3, false), nil)
	}
	if got := committedValues(t, node, topic, 3); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("read %q", got)
	}
}

// klite 52fbcfa: a fenced producer is told INVALID_PRODUCER_EPOCH (47) by Produce and by old versions of EndTxn, and PRODUCER_FENCED,
// which is 90 and not 35, by newer ones.
func TestReportFencedCodes(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "fenced", 1)
	x := newRawTxn(t, node)
	x.add(topic)
	wantCode(t, "produce", x.send(topic, "a", 0), nil)
	former := *x
	x.init()
	wantCode(t, "Produce 11", former.send(topic, "b", 1), kerr.InvalidProducerEpoch)
	wantCode(t, "EndTxn 1", former.end(1, true), kerr.InvalidProducerEpoch)
	wantCode(t, "EndTxn 3", former.end(3, true), kerr.ProducerFenced)
}

// delayingProxy passes bytes on, but keeps the first EndTxn that commits for later.
type delayingProxy struct {
	t      *testing.T
	node   string
	listen net.Listener
	mu     sync.Mutex
	kept   []byte
}

func newDelayingProxy(t *testing.T, node *harness.Node) *delayingProxy {
	t.Helper()
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listen.Close() })
	p := &delayingProxy{t: t, node: node.Address, listen: listen}
	go p.accept()
	return p
}

// dial leads every address to the proxy: the node tells its own.
func (p *delayingProxy) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, p.listen.Addr().String())
}

func (p *delayingProxy) accept() {
	for {
		client, err := p.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.node)
		if err != nil {
			client.Close()
			return
		}
		go func() { _, _ = io.Copy(client, server); client.Close() }()
		go p.forward(client, server)
	}
}

// forward passes frames on until the one that is kept; the client sees its connection end then, as with a lost packet.
func (p *delayingProxy) forward(client, server net.Conn) {
	defer server.Close()
	defer client.Close()
	for {
		frame, err := readFrame(client)
		if err != nil {
			return
		}
		if key := int16(frame[4])<<8 | int16(frame[5]); key == kmsg.EndTxn.Int16() && p.keep(frame) {
			return
		}
		if _, err := server.Write(frame); err != nil {
			return
		}
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, 4)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	size := int(frame[0])<<24 | int(frame[1])<<16 | int(frame[2])<<8 | int(frame[3])
	frame = append(frame, make([]byte, size)...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// keep takes the first frame that it is offered.
func (p *delayingProxy) keep(frame []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept != nil {
		return false
	}
	p.kept = frame
	return true
}

// deliver sends the kept request at last, on a connection of its own, and gives the answer's error.
func (p *delayingProxy) deliver(version int16) int16 {
	p.t.Helper()
	server, err := net.Dial("tcp", p.node)
	if err != nil {
		p.t.Fatal(err)
	}
	defer server.Close()
	p.mu.Lock()
	kept := p.kept
	p.mu.Unlock()
	if _, err := server.Write(kept); err != nil {
		p.t.Fatal(err)
	}
	answer, err := readFrame(server)
	if err != nil {
		p.t.Fatal(err)
	}
	res := kmsg.NewPtrEndTxnResponse()
	res.SetVersion(version)
	if err := res.ReadFrom(answer[9:]); err != nil { // length, correlation id, tags
		p.t.Fatal(err)
	}
	return res.ErrorCode
}

// Jepsen's Bufstream report, KAFKA-17754: an EndTxn that is late on the wire commits nothing of the transaction that its producer
// has begun since. Only the second protocol can refuse it.
func TestReportLateEndTxn(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	topic := node.CreateTopic(t, "late-end", 1)
	proxy := newDelayingProxy(t, node)
	kafka, err := kgo.NewClient(kgo.SeedBrokers(proxy.listen.Addr().String()), kgo.TransactionalID(harness.Name("late")),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.Dialer(proxy.dial))
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close()
	x := &transactor{t, kafka}
	x.write(topic, kgo.TryCommit, "first") // the client's second attempt ends it
	if err := kafka.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := kafka.ProduceSync(harness.Context(t), &kgo.Record{Topic: topic, Value: []byte("second")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the late EndTxn", proxy.deliver(5), kerr.ProducerFenced)
	if err := kafka.EndTransaction(harness.Context(t), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	x.write(topic, kgo.TryCommit, "third")
	if got := committedValues(t, node, topic, 2); !slices.Equal(got, []string{"first", "third"}) {
		t.Errorf("read %q: the late EndTxn ended the next transaction", got)
	}
}
