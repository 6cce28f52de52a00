package node

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// client is one connection that says exactly what a test wants to be said.
type client struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
	// mu lets one goroutine send while another receives. asked are the requests that are not answered yet, oldest first.
	mu    sync.Mutex
	corr  int32
	asked []asked
}

type asked struct {
	corr int32
	req  kmsg.Request
}

func (tn *testNode) dial() *client {
	tn.t.Helper()
	conn, err := net.Dial("tcp", tn.addr())
	if err != nil {
		tn.t.Fatal(err)
	}
	tn.t.Cleanup(func() { conn.Close() })
	return &client{t: tn.t, conn: conn, r: bufio.NewReader(conn)}
}

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("test"))

// frame encodes a request and notes that it was asked.
func (c *client) frame(req kmsg.Request) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corr++
	if p, ok := req.(*kmsg.ProduceRequest); !ok || p.Acks != 0 {
		c.asked = append(c.asked, asked{c.corr, req})
	}
	return formatter.AppendRequest(nil, req, c.corr)
}

func (c *client) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) send(reqs ...kmsg.Request) {
	c.t.Helper()
	var all []byte
	for _, r := range reqs {
		all = append(all, c.frame(r)...)
	}
	c.write(all)
}

// receive reads the next answer, which must be that to the oldest request (N1).
func (c *client) receive() (kmsg.Response, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	var size [4]byte
	if _, err := io.ReadFull(c.r, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c.r, body); err != nil {
		return nil, err
	}
	next, ok := c.oldest()
	if !ok {
		return nil, errors.New("an answer to nothing")
	}
	b := kbin.Reader{Src: body}
	if got := b.Int32(); got != next.corr {
		return nil, fmt.Errorf("answer to request %d, want %d", got, next.corr)
	}
	resp := next.req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != int16(wire.KeyApiVersions) {
		kmsg.SkipTags(&b)
	}
	return resp, resp.ReadFrom(b.Src)
}

func (c *client) oldest() (asked, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) == 0 {
		return asked{}, false
	}
	next := c.asked[0]
	c.asked = c.asked[1:]
	return next, true
}

func (c *client) mustReceive() kmsg.Response {
	c.t.Helper()
	resp, err := c.receive()
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

func (c *client) call(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	c.send(req)
	return c.mustReceive()
}

// alive checks that the connection is served.
func (c *client) alive() {
	c.t.Helper()
	req := kmsg.NewApiVersionsRequest()
	if resp := c.call(&req).(*kmsg.ApiVersionsResponse); resp.ErrorCode != 0 {
		c.t.Fatalf("ApiVersions answers %d", resp.ErrorCode)
	}
}

// awaitClosed checks that the node closes the connection and says nothing more.
func (c *client) awaitClosed() {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	n, err := io.Copy(io.Discard, c.r)
	var timeout net.Error
	if n > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("connection is not closed: %d bytes, %v", n, err)
	}
}

// batch is a record batch of values.
func batch(values ...string) []byte { return batchOf(wire.BatchHeader{}, values...) }

func batchOf(h wire.BatchHeader, values ...string) []byte {
	h.BaseTimestamp = wallNow()
	records := make([]wire.Record, len(values))
	for i, v := range values {
		records[i].Value = []byte(v)
	}
	return wire.AppendRecordBatch(nil, h, records)
}

// toProduce is one partition's share of a Produce.
type toProduce struct {
	topic string
	part  int32
	batch []byte
}

func produce(acks int16, parts ...toProduce) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, acks, 30000
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic {
			topic := kmsg.NewProduceRequestTopic()
			topic.Topic = p.topic
			req.Topics = append(req.Topics, topic)
		}
		part := kmsg.NewProduceRequestTopicPartition()
		part.Partition, part.Records = p.part, p.batch
		topic := &req.Topics[len(req.Topics)-1]
		topic.Partitions = append(topic.Partitions, part)
	}
	return req
}

// produced are the partitions of a Produce's answer, in order.
func produced(resp kmsg.Response) (parts []kmsg.ProduceResponseTopicPartition) {
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		parts = append(parts, t.Partitions...)
	}
	return parts
}

// mustProduce appends and gives the base offset.
func (c *client) mustProduce(topic string, part int32, b []byte) int64 {
	c.t.Helper()
	p := produced(c.call(produce(-1, toProduce{topic, part, b})))[0]
	if p.ErrorCode != 0 {
		c.t.Fatalf("produce to %s-%d: %s", topic, part, wire.ErrorCode(p.ErrorCode))
	}
	return p.BaseOffset
}

// toFetch is one partition's share of a Fetch.
type toFetch struct {
	topic  string
	part   int32
	offset int64
}

// fetch asks for all that there is, without waiting.
func fetch(parts ...toFetch) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MinBytes, req.MaxBytes, req.MaxWaitMillis = 12, 1, 64<<20, 0
	req.SessionID, req.SessionEpoch = 0, -1
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic {
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic = p.topic
			req.Topics = append(req.Topics, topic)
		}
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = p.part, p.offset, 16<<20
		topic := &req.Topics[len(req.Topics)-1]
		topic.Partitions = append(topic.Partitions, part)
	}
	return req
}

// waiting makes a Fetch wait for so many bytes, for up to so long.
func waiting(req *kmsg.FetchRequest, minBytes int32, wait time.Duration) *kmsg.FetchRequest {
	req.MinBytes, req.MaxWaitMillis = minBytes, int32(wait.Milliseconds())
	return req
}

// fetched are the partitions of a Fetch's answer by name, as "topic-0".
func fetched(resp kmsg.Response) map[string]kmsg.FetchResponseTopicPartition {
	parts := make(map[string]kmsg.FetchResponseTopicPartition)
	for _, t := range resp.(*kmsg.FetchResponse).Topics {
		for _, p := range t.Partitions {
			parts[fmt.Sprintf("%s-%d", t.Topic, p.Partition)] = p
		}
	}
	return parts
}

// values decodes the records of fetched batches, which must be whole and right, and gives the offset after them.
func values(t testing.TB, batches []byte) (values []string, next wire.Offset) {
	t.Helper()
	next = wire.NoOffset
	for len(batches) > 0 {
		b, tail, err := wire.ReadRecordBatch(batches)
		if err == nil {
			err = b.Check()
		}
		if err != nil {
			t.Fatalf("fetched batch after %d records: %v", len(values), err)
		}
		dec := wire.AcquireDecompressor()
		it, err := b.Records(dec)
		if err != nil {
			t.Fatal(err)
		}
		for r, ok := it.Next(); ok; r, ok = it.Next() {
			values = append(values, string(r.Value))
		}
		dec.Release()
		batches, next = tail, b.NextOffset()
	}
	return values, next
}

// readAll fetches everything of a partition from offset on.
func (c *client) readAll(topic string, part int32, offset int64) (all []string) {
	c.t.Helper()
	for {
		p := fetched(c.call(fetch(toFetch{topic, part, offset})))[fmt.Sprintf("%s-%d", topic, part)]
		if p.ErrorCode != 0 {
			c.t.Fatalf("fetch %s-%d from %d: %s", topic, part, offset, wire.ErrorCode(p.ErrorCode))
		}
		got, next := values(c.t, p.RecordBatches)
		if len(got) == 0 {
			return all
		}
		all, offset = append(all, got...), int64(next)
	}
}
