package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/quota"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// testClient is the client id of these tests' connections.
var testClient = image.QuotaEntity{ClientID: image.NamedQuota("test")}

func (tn *testNode) setQuota(e image.QuotaEntity, key string, value float64) {
	tn.t.Helper()
	r := image.ClientQuotaRecord{Entity: e, Key: key, Value: value, Remove: value == 0}
	if code, message := tn.AlterClientQuotas([]image.ClientQuotaRecord{r}); code != wire.None {
		tn.t.Fatalf("%s: %s %s", key, code, message)
	}
}

// throttleOf is the wait that an answer tells.
func throttleOf(resp kmsg.Response) int32 {
	ms, _ := resp.(kmsg.ThrottleResponse).Throttle()
	return ms
}

// requests is how many requests of a kind were taken up.
func (tn *testNode) requests(k wire.APIKey) uint64 { return tn.metrics.requests[k].Get() }

// unmuteAll ends every wait, as the timers would.
func (tn *testNode) unmuteAll() {
	for _, l := range tn.loops {
		l.on(func(l *Loop) {
			l.conns.all(func(c *Conn) {
				if c.muted {
					l.timers.set(&c.unmute, l.mono)
				}
			})
		})
	}
}

func bigProduce(topic string, bytes int) *kmsg.ProduceRequest {
	return produce(-1, toProduce{topic, 0, batch(strings.Repeat("x", bytes))})
}

// A producer over its quota is answered, told to wait, and nothing more of it is read until the wait is over: neither what it
// had sent already nor what it sends meanwhile. Others are served.
func TestProducerOverQuotaIsMuted(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("t", 1)
		tn.setQuota(testClient, quota.ProducerByteRate, 10)
		c, versions := tn.dial(), kmsg.NewPtrApiVersionsRequest()
		c.send(bigProduce("t", 100_000), bigProduce("t", 100_000), versions)
		first := c.mustReceive()
		if ms := throttleOf(first); produced(first)[0].ErrorCode != 0 || ms < 9_900_000 || ms > 10_200_000 {
			t.Fatalf("%+v, told to wait %d ms", produced(first)[0], ms)
		}
		if n := tn.metrics.muted.Load(); n != 1 {
			t.Errorf("%d connections are muted", n)
		}
		c.send(versions)
		tn.dial().alive() // of the same client: it is the connection that is muted
		if n := tn.requests(wire.KeyProduce); n != 1 {
			t.Errorf("%d produces were taken up", n)
		}
		tn.setQuota(testClient, quota.ProducerByteRate, 1e9) // which ends no wait that has begun
		if n := tn.metrics.muted.Load(); n != 1 {
			t.Errorf("%d connections are muted after the quota was raised", n)
		}
		tn.unmuteAll()
		if second := c.mustReceive(); produced(second)[0].ErrorCode != 0 || throttleOf(second) != 0 {
			t.Errorf("%+v, told to wait %d ms", produced(second)[0], throttleOf(second))
		}
		c.mustReceive()
		c.mustReceive()
		if n := tn.metrics.muted.Load(); n != 0 {
			t.Errorf("%d connections are still muted", n)
		}
		if n := tn.metrics.throttles[quotaProduce].requests.Get(); n != 1 {
			t.Errorf("%d requests were throttled", n)
		}
	})
}

func TestProducerWithoutAcksIsMuted(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("t", 1)
	tn.setQuota(testClient, quota.ProducerByteRate, 10)
	c := tn.dial()
	req := bigProduce("t", 100_000)
	req.Acks = 0
	c.send(req, kmsg.NewPtrApiVersionsRequest())
	await(t, "muted", func() bool { return tn.metrics.muted.Load() == 1 })
	if n := tn.requests(wire.KeyApiVersions); n != 0 {
		t.Errorf("the next request was taken up")
	}
	tn.unmuteAll()
	c.mustReceive()
	await(t, "the record", func() bool { return len(tn.dial().readAll("t", 0, 0)) == 1 })
}

// A client counts once, whichever loops its connections are on.
func TestLoopsShareAQuota(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shape{"epoll", 2}})
	tn.createTopic("t", 2)
	tn.setQuota(testClient, quota.ProducerByteRate, 10_000) // 100,000 are let through
	a, b := tn.dial(), tn.dial()
	for i, c := range []*client{a, b, a, b} {
		resp := c.call(bigProduce("t", 40_000))
		if told := throttleOf(resp) > 0; told != (i >= 2) {
			t.Errorf("produce %d: told to wait %d ms", i, throttleOf(resp))
		}
	}
}

// A quota is in force with the next request, and after a restart.
func TestQuotasSurviveARestart(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("t", 1)
	if ms := throttleOf(tn.dial().call(bigProduce("t", 100_000))); ms != 0 {
		t.Errorf("without a quota: told to wait %d ms", ms)
	}
	tn.setQuota(image.QuotaEntity{User: image.NamedQuota("ANONYMOUS"), ClientID: image.DefaultQuota}, quota.ProducerByteRate, 1000)
	if ms := throttleOf(tn.dial().call(bigProduce("t", 100_000))); ms < 80_000 {
		t.Errorf("with one: told to wait %d ms", ms)
	}
	if err := tn.stop(); err != nil {
		t.Fatal(err)
	}
	tn = tn.restart()
	if ms := throttleOf(tn.dial().call(bigProduce("t", 100_000))); ms < 80_000 {
		t.Errorf("after a restart: told to wait %d ms", ms)
	}
	tn.setQuota(image.QuotaEntity{User: image.NamedQuota("ANONYMOUS"), ClientID: image.DefaultQuota}, quota.ProducerByteRate, 0)
	if ms := throttleOf(tn.dial().call(bigProduce("t", 100_000))); ms != 0 {
		t.Errorf("without it again: told to wait %d ms", ms)
	}
}

// Request time is charged to produces, fetches and all others. A request whose bytes are on their way when its connection is muted
// is not taken up before the wait is over either.
func TestRequestTimeMutes(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{"quota.window.size.seconds=3600"}}) // which is the longest wait
		tn.createTopic("t", 1)
		tn.setQuota(testClient, quota.RequestPercentage, 1e-9)
		c := tn.dial()
		c.alive() // what it took is the first charge
		tn.unmuteAll()
		large := c.frame(bigProduce("t", 1<<20))
		begun := tn.requests(wire.KeyProduce)
		c.write(large[:1<<19])
		tn.unmuteAll()
		await(t, "half of it is there", func() (half bool) {
			for _, l := range tn.loops {
				l.on(func(l *Loop) { l.conns.all(func(c *Conn) { half = half || c.in.filled > 1<<18 }) })
			}
			return half
		})
		for _, l := range tn.loops {
			l.on(func(l *Loop) { l.conns.all(func(c *Conn) { c.mute(3600_000) }) })
		}
		c.write(large[1<<19:])
		await(t, "all of it is there", func() (all bool) {
			for _, l := range tn.loops {
				l.on(func(l *Loop) {
					l.conns.all(func(c *Conn) { all = all || c.in.body != nil && c.in.filled == c.in.size })
				})
			}
			return all
		})
		if n := tn.requests(wire.KeyProduce) - begun; n != 0 {
			t.Error("a muted connection's request was taken up")
		}
		tn.unmuteAll()
		if resp := c.mustReceive(); throttleOf(resp) < 1 {
			t.Errorf("told to wait %d ms", throttleOf(resp))
		}
		tn.unmuteAll()
		if resp := c.call(fetch(toFetch{"t", 0, 0})); throttleOf(resp) < 1 || len(resp.(*kmsg.FetchResponse).Topics) != 0 {
			t.Errorf("fetch: told to wait %d ms", throttleOf(resp))
		}
	})
}

// What a handler waits for costs its client nothing: a JoinGroup that waits for others, above all.
func TestWaitingForACoordinatorIsNoRequestTime(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	b := &waitingBroker{Broker: tn.Node}
	began := time.Now()
	b.Coordinate("g", testAPIClient, &kmsg.HeartbeatRequest{Group: "g"})
	b.CoordinateAll(testAPIClient, kmsg.NewPtrListGroupsRequest())
	b.Transact("x", kmsg.NewPtrEndTxnRequest())
	b.TransactAll(kmsg.NewPtrListTransactionsRequest())
	b.WriteTxnMarkers([]api.TxnMarker{{Partition: wire.TopicPartition{Topic: "t"}, ProducerID: 1, ProducerEpoch: 1, Commit: true, CoordinatorEpoch: 1}})
	if b.waited <= 0 || b.waited > time.Since(began) {
		t.Errorf("waited %v of %v", b.waited, time.Since(began))
	}
}

// A fetch over the quota is empty and changes nothing in its session; one within the quota asks for no more than that allows.
func TestFetchOverQuota(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("t", 1)
		plain := tn.dial()
		for range 5 {
			plain.mustProduce("t", 0, batch(strings.Repeat("x", 30_000)))
		}
		tn.setQuota(testClient, quota.ConsumerByteRate, 5_000) // 50,000 at once: one batch
		c := tn.dial()
		open := fetch(toFetch{"t", 0, 0})
		open.SessionEpoch = 0
		first := c.call(open).(*kmsg.FetchResponse)
		if got := len(fetched(first)["t-0"].RecordBatches); first.ThrottleMillis > 100 || got < 30_000 || got > 50_000 {
			t.Fatalf("the first: %d bytes, told to wait %d ms", got, first.ThrottleMillis)
		}
		tn.unmuteAll()
		next := fetch(toFetch{"t", 0, 30})
		next.Topics[0].Partitions[0].FetchOffset = 1
		next.SessionID, next.SessionEpoch = first.SessionID, 1
		second := c.call(next).(*kmsg.FetchResponse)
		if second.ThrottleMillis < 1000 || len(second.Topics) != 0 || second.SessionID != first.SessionID || second.ErrorCode != 0 {
			t.Fatalf("the second: %+v", second)
		}
		tn.setQuota(testClient, quota.ConsumerByteRate, 0)
		tn.unmuteAll()
		same := fetch()
		same.SessionID, same.SessionEpoch = first.SessionID, 2
		third := c.call(same).(*kmsg.FetchResponse)
		if got := len(fetched(third)["t-0"].RecordBatches); got < 120_000 || third.ThrottleMillis != 0 {
			t.Errorf("the third: %d bytes, told to wait %d ms, %s", got, third.ThrottleMillis, wire.ErrorCode(third.ErrorCode))
		}
	})
}

// A fetch that may not begin its session leaves none behind. One batch is served however large, for nothing was before it.
func TestThrottledFetchBeginsNoSession(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("t", 1)
	tn.dial().mustProduce("t", 0, batch(strings.Repeat("x", 30_000)))
	tn.setQuota(testClient, quota.ConsumerByteRate, 1)
	large := tn.dial().call(fetch(toFetch{"t", 0, 0})).(*kmsg.FetchResponse)
	if got := len(fetched(large)["t-0"].RecordBatches); got < 30_000 || large.ThrottleMillis < 29_000_000 {
		t.Errorf("%d bytes, told to wait %d ms", got, large.ThrottleMillis)
	}
	open := fetch(toFetch{"t", 0, 0})
	open.SessionEpoch = 0
	if resp := tn.dial().call(open).(*kmsg.FetchResponse); resp.ThrottleMillis < 1 || resp.SessionID != 0 || len(resp.Topics) != 0 {
		t.Errorf("%+v", resp)
	}
	tn.loops[0].on(func(l *Loop) {
		if n := len(l.fetches.byID); n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
}

// A client that goes away while it is muted is noticed, however long it was to wait.
func TestMutedClientThatGoesIsForgotten(t *testing.T) {
	tn := startNode(t, nodeOptions{seams: func(s *seams) { s.sweepInterval = time.Millisecond }})
	tn.createTopic("t", 1)
	tn.setQuota(testClient, quota.ProducerByteRate, 1)
	c := tn.dial()
	c.send(bigProduce("t", 100_000), bigProduce("t", 1000), kmsg.NewPtrApiVersionsRequest())
	c.mustReceive()
	if err := c.conn.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, "closed", func() bool { return tn.metrics.connections.Load() == 0 && tn.metrics.muted.Load() == 0 })
}

// Connections that come too fast are taken up one after the other, none is lost.
func TestConnectionsOverTheRateWait(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{"quota.window.num=2", "max.connection.creation.rate=1000"}})
		one := "4"
		if code, message := tn.AlterConfigs(image.Resource{Type: image.BrokerResource}, map[string]*string{"listener.name.plaintext.max.connection.creation.rate": &one}); code != wire.None {
			t.Fatal(code, message)
		}
		var clients []*client
		for range 8 {
			clients = append(clients, tn.dial())
		}
		for _, c := range clients {
			c.alive()
		}
		if n := tn.metrics.delayed.Get(); n == 0 {
			t.Error("no connection was delayed")
		}
	})
}

// An address that connects too often has its connections closed, and is served again when it may.
func TestConnectionsOfAnAddressOverQuota(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.setQuota(image.QuotaEntity{IP: image.NamedQuota("localhost")}, quota.ConnectionCreationRate, 1)
	for range 10 {
		tn.dial().alive()
	}
	tn.dial().awaitClosed()
	if n := tn.metrics.held.Get(); n != 1 {
		t.Errorf("%d connections were held", n)
	}
	tn.setQuota(image.QuotaEntity{IP: image.NamedQuota("localhost")}, quota.ConnectionCreationRate, 0)
	tn.dial().alive()
}

// The descriptors that are left for files are not for connections that are held either.
func TestHeldConnectionsLeaveDescriptors(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.setQuota(image.QuotaEntity{IP: image.DefaultQuota}, quota.ConnectionCreationRate, 0.0001)
	tn.loops[0].on(func(*Loop) { tn.seams.connDescriptors = 1 })
	tn.dial().awaitClosed()
	if n := tn.metrics.held.Get(); n != 0 {
		t.Errorf("%d connections were held", n)
	}
}

// The addresses of hosts are remembered for as long as they have quotas.
func TestAddressesGoWithTheirQuotas(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	host := image.QuotaEntity{IP: image.NamedQuota("localhost")}
	for _, step := range []struct{ rate, addresses float64 }{{5, 1}, {0, 0}} {
		tn.setQuota(host, quota.ConnectionCreationRate, step.rate)
		tn.metaMu.Lock()
		if n := len(tn.addresses); n != int(step.addresses) {
			t.Errorf("%d addresses at a rate of %v", n, step.rate)
		}
		tn.metaMu.Unlock()
	}
}

// A node that stops does not wait for those that it holds up.
func TestStopWithThrottledClients(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"quota.window.size.seconds=3600", "quota.window.num=2"}})
	tn.createTopic("t", 1)
	tn.setQuota(testClient, quota.ProducerByteRate, 1)
	c := tn.dial()
	c.call(bigProduce("t", 100_000))
	tn.setQuota(image.QuotaEntity{IP: image.DefaultQuota}, quota.ConnectionCreationRate, 0.0001)
	tn.dial() // is held
	await(t, "held", func() bool { return tn.metrics.held.Get() == 1 })
	tn.setQuota(image.QuotaEntity{IP: image.DefaultQuota}, quota.ConnectionCreationRate, 0)
	none := "0"
	tn.AlterConfigs(image.Resource{Type: image.BrokerResource}, map[string]*string{"max.connection.creation.rate": &none})
	tn.dial()
	tn.dial()
	await(t, "delayed", func() bool { return tn.metrics.delayed.Get() > 0 })
	if err := tn.stop(); err != nil {
		t.Error(err)
	}
}

var testAPIClient = api.Client{ID: "test"}

func TestQuotaMetricsAreOfTheirKind(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	for kind := range tn.metrics.throttles {
		tn.metrics.throttled(kind, 1500)
	}
	var exposed strings.Builder
	tn.metrics.write(&exposed)
	for _, name := range []string{"produce", "fetch", "request", "controller_mutation"} {
		if want := fmt.Sprintf("ringmill_throttle_seconds_total{quota=%q} 1.5", name); !strings.Contains(exposed.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

// A member of a share group gets what is acquired for it, and waits afterwards; no more is acquired than its quota lets through.
func TestShareFetchOverQuota(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	topic := tn.shareTopic("t")
	plain := tn.dial()
	for range 3 {
		plain.mustProduce("t", 0, batch(strings.Repeat("x", 30_000)))
	}
	tn.setQuota(testClient, quota.ConsumerByteRate, 2_000) // 20,000 at once: less than a batch
	r := tn.shareReader(topic, 1)
	r.waitMS = 100 // what is over the quota waits in vain
	r.call(r.request())
	r.epoch++
	for fetched := 0; fetched == 0; r.epoch++ {
		tn.unmuteAll()
		resp := r.call(r.request()).(*kmsg.ShareFetchResponse)
		for _, topic := range resp.Topics {
			fetched += len(topic.Partitions[0].Records)
		}
		if fetched > 0 && (fetched > 40_000 || resp.ThrottleMillis < 4_000) {
			t.Errorf("%d bytes, told to wait %d ms", fetched, resp.ThrottleMillis)
		}
	}
	if n := tn.metrics.muted.Load(); n != 1 {
		t.Errorf("%d connections are muted", n)
	}
}

// A real client that is held to 1 MB/s and produces as fast as it may gets its burst, and then its quota: no more than both
// together, however much it sends, and it does get on.
func TestFranzProducerKeepsToItsQuota(t *testing.T) {
	const limit, windows = 1 << 20, 2 // a second's burst
	tn := startNode(t, nodeOptions{set: []string{fmt.Sprint("quota.window.num=", windows)}})
	tn.createTopic("t", 1)
	tn.setQuota(image.QuotaEntity{ClientID: image.NamedQuota("franz")}, quota.ProducerByteRate, limit)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	producer := tn.kgo(t, kgo.ClientID("franz"), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	value, began, sent := make([]byte, 32<<10), time.Now(), 0
	for ; sent < (windows+2)*limit; sent += len(value) {
		if err := producer.ProduceSync(ctx, kgo.SliceRecord(value)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	seconds := time.Since(began).Seconds()
	if most := limit * (seconds + windows); float64(sent) > most {
		t.Errorf("%d bytes in %.1f s; at most %.0f may be", sent, seconds, most)
	}
	if tn.metrics.throttles[quotaProduce].requests.Get() == 0 {
		t.Error("it was never told to wait")
	}
}
