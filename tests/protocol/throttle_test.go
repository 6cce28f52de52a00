package protocol

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

func dialAddress(t *testing.T, address string) *conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &conn{t: t, net: c, format: format}
}

// as gives the connection another client id.
func (c *conn) as(clientID string) *conn {
	c.format = kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	return c
}

// limited is a node, a topic of it, and a client id that has a quota there.
func limited(t *testing.T, key string, value float64) (node *harness.Node, topic, clientID string) {
	t.Helper()
	node = harness.Shared(t)
	topic, clientID = node.CreateTopic(t, "proto", 1), harness.Name("limited")
	dial(t, node).mustSetQuota(entity{"client-id=" + clientID}, key, value)
	return node, topic, clientID
}

func valueOf(bytes int) *batch { return newBatch(keyed("", strings.Repeat("x", bytes))) }

// sinceMS is by how many milliseconds a debt may have shrunk meanwhile.
func sinceMS(began time.Time) int32 { return int32(time.Since(began).Milliseconds()) }

// A produce over the quota is appended and answered at once, whatever its version, with the time that its client should wait. At
// 1000 bytes a second 60,000 take a minute: 10,000 are free, 50 seconds are left.
func TestProduceOverQuotaIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	node, topic, clientID := limited(t, "producer_byte_rate", 1000)
	for _, version := range []int16{3, 5, 6, 12} {
		id := clientID + itoa(int32(version)) // each version has a client of its own
		dial(t, node).mustSetQuota(entity{"client-id=" + id}, "producer_byte_rate", 1000)
		res := ask[*kmsg.ProduceResponse](dial(t, node).as(id), version, produceRequest(topic, 0, valueOf(60_000).bytes()))
		wantCode(t, "produce", res.Topics[0].Partitions[0].ErrorCode, nil)
		if ms := res.ThrottleMillis; ms < 49_000 || ms > 52_000 {
			t.Errorf("v%d: told to wait %d ms", version, ms)
		}
	}
}

// What a client does with the time that it is told is its own business (librdkafka#5592): nothing more of its connection is read
// until that has passed. Another of the same client, and this one under another name, are read.
func TestProducerThatDoesNotWaitIsMuted(t *testing.T) {
	t.Parallel()
	node, topic, clientID := limited(t, "producer_byte_rate", 50_000)
	c := dial(t, node).as(clientID)
	began := time.Now()
	res := ask[*kmsg.ProduceResponse](c, produceVersion, produceRequest(topic, 0, valueOf(560_000).bytes()))
	wait := time.Duration(res.ThrottleMillis) * time.Millisecond
	if wait < time.Second || wait > 2*time.Second {
		t.Fatalf("told to wait %v", wait)
	}
	ask[*kmsg.ApiVersionsResponse](dial(t, node).as(clientID), 2, kmsg.NewPtrApiVersionsRequest())
	ask[*kmsg.ApiVersionsResponse](c, 2, kmsg.NewPtrApiVersionsRequest())
	if took := time.Since(began); took < wait-50*time.Millisecond { // clocks of a millisecond
		t.Errorf("the next request was answered after %v, the wait was %v", took, wait)
	}
}

// Without acknowledgements nobody is told anything, and muted all the same.
func TestProducerWithoutAcksIsMuted(t *testing.T) {
	t.Parallel()
	node, topic, clientID := limited(t, "producer_byte_rate", 50_000)
	c := dial(t, node).as(clientID)
	req := produceRequest(topic, 0, valueOf(560_000).bytes())
	req.Acks = 0
	req.SetVersion(produceVersion)
	began := time.Now()
	c.send(req)
	ask[*kmsg.ApiVersionsResponse](c, 2, kmsg.NewPtrApiVersionsRequest())
	if took := time.Since(began); took < 950*time.Millisecond {
		t.Errorf("the next request was answered after %v", took)
	}
	want(t, "records", len(dial(t, node).fetchBatches(topic, 0)), 1)
}

// A fetch over the quota is answered at once without records. What it would have got is not counted, and no session begins.
func TestFetchOverQuotaIsEmpty(t *testing.T) {
	t.Parallel()
	node, topic, clientID := limited(t, "consumer_byte_rate", 20_000)
	plain := dial(t, node)
	plain.mustProduce(topic, valueOf(150_000))
	for _, version := range []int16{4, 7, 8, 12} {
		id := clientID + itoa(int32(version))
		plain.mustSetQuota(entity{"client-id=" + id}, "consumer_byte_rate", 20_000)
		began := time.Now()
		first := ask[*kmsg.FetchResponse](dial(t, node).as(id), version, fetchRequest(topic, 0, 0))
		want(t, "the first is within the quota", first.ThrottleMillis, 0)
		want(t, "and has records", len(first.Topics[0].Partitions[0].RecordBatches) > 150_000, true)
		begin := fetchRequest(topic, 0, 0)
		if version >= 7 {
			begin.SessionEpoch = 0
		}
		res := ask[*kmsg.FetchResponse](dial(t, node).as(id), version, begin)
		if ms := res.ThrottleMillis; ms < 4_000-sinceMS(began) || ms > 6_000 {
			t.Errorf("v%d: told to wait %d ms", version, ms)
		}
		want(t, "topics", len(res.Topics), 0)
		want(t, "session", res.SessionID, 0)
		again := ask[*kmsg.FetchResponse](dial(t, node).as(id), version, fetchRequest(topic, 0, 0))
		if ms := again.ThrottleMillis; ms < 3_000-sinceMS(began) || ms > 6_000 {
			t.Errorf("v%d: told to wait %d ms after that", version, ms)
		}
	}
}

// In an incremental session an empty answer tells of no change, and the next asks for the same again.
func TestSessionGoesOnBehindAThrottledFetch(t *testing.T) {
	t.Parallel()
	node, topic, clientID := limited(t, "consumer_byte_rate", 100_000)
	plain := dial(t, node)
	begin := fetchRequest(topic, 0, 0)
	begin.SessionEpoch = 0
	c := dial(t, node).as(clientID)
	opened := ask[*kmsg.FetchResponse](c, 12, begin)
	want(t, "session", opened.SessionID != 0, true)
	plain.mustProduce(topic, valueOf(300_000))
	next := func(epoch int32) *kmsg.FetchResponse {
		req := fetchRequest(topic, 0, 0)
		req.SessionID, req.SessionEpoch, req.Topics = opened.SessionID, epoch, nil
		return ask[*kmsg.FetchResponse](c, 12, req)
	}
	records := func(res *kmsg.FetchResponse) int {
		if len(res.Topics) == 0 {
			return 0
		}
		return len(res.Topics[0].Partitions[0].RecordBatches)
	}
	epoch, throttled := int32(1), (*kmsg.FetchResponse)(nil)
	for ; throttled == nil && epoch < 10; epoch++ {
		if res := next(epoch); res.ThrottleMillis > 0 {
			throttled = res
		} else {
			want(t, "records", records(res) > 300_000, true)
		}
	}
	if throttled == nil {
		t.Fatal("never throttled")
	}
	want(t, "topics", len(throttled.Topics), 0)
	wantCode(t, "throttled", throttled.ErrorCode, nil)
	want(t, "session", throttled.SessionID, opened.SessionID)
	harness.Await(t, "records again", func() bool {
		res := next(epoch)
		epoch++
		wantCode(t, "fetch", res.ErrorCode, nil)
		return records(res) > 300_000
	})
}

// Request time: a quota that everything is above. Nobody waits longer than a window for it, and every answer tells.
func TestRequestTimeOverQuota(t *testing.T) {
	t.Parallel()
	node, topic, clientID := limited(t, "request_percentage", 1e-9)
	ask[*kmsg.ApiVersionsResponse](dial(t, node).as(clientID), 3, kmsg.NewPtrApiVersionsRequest())
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Topics = []kmsg.MetadataRequestTopic{{Topic: ptr(topic)}}
	offsets := kmsg.NewPtrListOffsetsRequest()
	offsets.ReplicaID = -1
	coordinator := kmsg.NewPtrFindCoordinatorRequest()
	coordinator.CoordinatorKey, coordinator.CoordinatorKeys = topic, []string{topic}
	for _, row := range []struct {
		version int16
		req     kmsg.Request
	}{
		{2, kmsg.NewPtrApiVersionsRequest()}, {12, metadata}, {6, offsets}, {4, coordinator}, {4, kmsg.NewPtrListGroupsRequest()},
		{produceVersion, produceRequest(topic, 0, valueOf(10).bytes())}, {12, fetchRequest(topic, 0, 0)}, {1, kmsg.NewPtrDescribeClientQuotasRequest()},
		{7, createRequest(true, newTopic("x", 1, 1))},
	} {
		row.req.SetVersion(row.version)
		c := dial(t, node).as(clientID)
		res := row.req.ResponseKind()
		c.receive(c.send(row.req), res)
		if ms, _ := res.(kmsg.ThrottleResponse).Throttle(); ms < 1 || ms > 1000 {
			t.Errorf("key %d: told to wait %d ms", res.Key(), ms)
		}
	}
}

// Topics and partitions made and removed (KIP-599): at 0.1 a second one is free. Clients that know the error are refused as long as
// they owe, older ones are served and told to wait.
func TestControllerMutationsOverQuota(t *testing.T) {
	t.Parallel()
	node, grown, clientID := limited(t, "controller_mutation_rate", 0.1)
	plain := dial(t, node)
	fresh := func(name string) *conn {
		id := clientID + name
		plain.mustSetQuota(entity{"client-id=" + id}, "controller_mutation_rate", 0.1)
		return dial(t, node).as(id)
	}
	again := func(name string) *conn { return dial(t, node).as(clientID + name) }
	made := func(i int) string { return fmt.Sprintf("%s-%d", grown, i) }
	t.Cleanup(func() {
		c := dial(t, node)
		for i := range 8 {
			ask[*kmsg.DeleteTopicsResponse](c, 5, deleteRequest(made(i)))
		}
	})
	res := ask[*kmsg.CreateTopicsResponse](fresh("create"), 7, createRequest(false, newTopic(made(0), 5, 1)))
	wantCode(t, "the first may overdraw", res.Topics[0].ErrorCode, nil)
	want(t, "and does not wait", res.ThrottleMillis, 0)
	res = ask[*kmsg.CreateTopicsResponse](again("create"), 7, createRequest(false, newTopic(made(1), 1, 1), newTopic(made(2), 1, 1)))
	for _, topic := range res.Topics {
		wantCode(t, "the second", topic.ErrorCode, kerr.ThrottlingQuotaExceeded)
		want(t, "the second", text(topic.ErrorMessage), "<null>")
	}
	if ms := res.ThrottleMillis; ms < 30_000 || ms > 40_000 {
		t.Errorf("told to wait %d ms", ms)
	}
	res = ask[*kmsg.CreateTopicsResponse](again("create"), 6, createRequest(true, newTopic(made(1), 1, 1)))
	wantCode(t, "nor validated", res.Topics[0].ErrorCode, kerr.ThrottlingQuotaExceeded)
	res = ask[*kmsg.CreateTopicsResponse](again("create"), 7, createRequest(false, newTopic("a b", 1, 1)))
	wantCode(t, "what is wrong anyway", res.Topics[0].ErrorCode, kerr.InvalidTopicException)
	want(t, "costs nothing", res.ThrottleMillis, 0)

	res = ask[*kmsg.CreateTopicsResponse](fresh("old"), 5, createRequest(false, newTopic(made(3), 5, 1)))
	wantCode(t, "an old client", res.Topics[0].ErrorCode, nil)
	if ms := res.ThrottleMillis; ms < 30_000 || ms > 40_000 {
		t.Errorf("told to wait %d ms", ms)
	}
	res = ask[*kmsg.CreateTopicsResponse](again("old"), 5, createRequest(false, newTopic(made(4), 1, 1)))
	wantCode(t, "is never refused", res.Topics[0].ErrorCode, nil)
	if ms := res.ThrottleMillis; ms < 40_000 || ms > 50_000 {
		t.Errorf("told to wait %d ms", ms)
	}

	validated := ask[*kmsg.CreateTopicsResponse](fresh("validate"), 7, createRequest(true, newTopic(made(5), 5, 1)))
	wantCode(t, "validated", validated.Topics[0].ErrorCode, nil)
	validated = ask[*kmsg.CreateTopicsResponse](again("validate"), 7, createRequest(true, newTopic(made(5), 1, 1)))
	wantCode(t, "which counts as well", validated.Topics[0].ErrorCode, kerr.ThrottlingQuotaExceeded)

	grow := func(count int32) *kmsg.CreatePartitionsRequest {
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.TimeoutMillis, req.Topics = 10000, []kmsg.CreatePartitionsRequestTopic{{Topic: grown, Count: count}}
		return req
	}
	wantCode(t, "grow", ask[*kmsg.CreatePartitionsResponse](fresh("grow"), 3, grow(6)).Topics[0].ErrorCode, nil)
	more := ask[*kmsg.CreatePartitionsResponse](again("grow"), 3, grow(7))
	wantCode(t, "grow more", more.Topics[0].ErrorCode, kerr.ThrottlingQuotaExceeded)
	want(t, "grow more", text(more.Topics[0].ErrorMessage), "<null>")
	wantCode(t, "an old client's", ask[*kmsg.CreatePartitionsResponse](again("grow"), 2, grow(7)).Topics[0].ErrorCode, nil)

	first := ask[*kmsg.DeleteTopicsResponse](fresh("delete"), 5, deleteRequest(made(0)))
	wantCode(t, "delete", first.Topics[0].ErrorCode, nil)
	second := ask[*kmsg.DeleteTopicsResponse](again("delete"), 5, deleteRequest(made(3)))
	wantCode(t, "delete more", second.Topics[0].ErrorCode, kerr.ThrottlingQuotaExceeded)
	want(t, "delete more", text(second.Topics[0].ErrorMessage), "<null>")
	old := ask[*kmsg.DeleteTopicsResponse](again("delete"), 4, deleteRequest(made(3)))
	wantCode(t, "an old client's", old.Topics[0].ErrorCode, nil)
	want(t, "waits", old.ThrottleMillis > 30_000, true)
}

// Ten connections at once are free where one a second is allowed. Each further one of the address is closed, some time later and
// without an answer.
func TestConnectionsOfAnAddressOverQuota(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{})
	first := dial(t, node)
	first.mustSetQuota(entity{"ip=127.0.0.1"}, "connection_creation_rate", 1)
	closed := false
	for i := 0; i < 30 && !closed; i++ {
		c := dial(t, node)
		req := kmsg.NewPtrApiVersionsRequest()
		c.send(req)
		_, err := c.read()
		closed = err != nil
		if closed && i < 8 {
			t.Errorf("connection %d is closed", i)
		}
	}
	want(t, "one is closed", closed, true)
	first.alterQuotas(1, false, setQuota(entity{"ip=127.0.0.1"}, "connection_creation_rate", "-"))
	harness.Await(t, "connections are served again", func() bool {
		c := dial(t, node)
		c.send(kmsg.NewPtrApiVersionsRequest())
		_, err := c.read()
		return err == nil
	})
}

// One batch that is larger than all that the quota lets through at once: ringmill serves it where nothing was served of late, Apache
// Kafka never does.
func TestBatchLargerThanTheQuota(t *testing.T) {
	t.Parallel()
	node, topic, clientID := limited(t, "consumer_byte_rate", 1000)
	dial(t, node).mustProduce(topic, valueOf(50_000))
	res := ask[*kmsg.FetchResponse](dial(t, node).as(clientID), 12, fetchRequest(topic, 0, 0))
	if ms := res.ThrottleMillis; ms < 39_000 || ms > 45_000 {
		t.Errorf("told to wait %d ms", ms)
	}
	want(t, "topics", len(res.Topics), departure(node, 0, 1, "a consumer would never get on"))
}
