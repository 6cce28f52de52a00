package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// txnClient is a transactional producer at the level of the protocol. implicit ones are of transaction version 2.
type txnClient struct {
	*client
	id       string
	implicit bool
	producer int64
	epoch    int16
	next     map[string]int32 // sequence numbers
}

func (tn *testNode) txnClient(id string, implicit bool) *txnClient {
	tn.t.Helper()
	c := &txnClient{client: tn.dial(), id: id, implicit: implicit}
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorType, find.CoordinatorKeys = 4, 1, []string{id}
	if resp := c.call(find).(*kmsg.FindCoordinatorResponse).Coordinators[0]; resp.ErrorCode != 0 {
		tn.t.Fatalf("no transaction coordinator: %s", wire.ErrorCode(resp.ErrorCode))
	}
	c.init()
	return c
}

// init gets the next epoch, as often as it takes.
func (c *txnClient) init() {
	c.t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 5, &c.id, 60_000
	retried(c.t, func() wire.ErrorCode {
		resp := c.call(req).(*kmsg.InitProducerIDResponse)
		c.producer, c.epoch, c.next = resp.ProducerID, resp.ProducerEpoch, map[string]int32{}
		return wire.ErrorCode(resp.ErrorCode)
	})
}

// retried asks until the coordinator is ready.
func retried(t testing.TB, ask func() wire.ErrorCode) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		switch code := ask(); code {
		case wire.None:
			return
		case wire.ConcurrentTransactions, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotEnoughReplicas:
			if time.Now().After(deadline) {
				t.Fatalf("still %s", code)
			}
		default:
			t.Fatal(code)
		}
	}
}

func (c *txnClient) batch(topic string, part int32, values ...string) []byte {
	return batchOf(wire.BatchHeader{
		Transactional: true, Idempotent: true, ProducerID: wire.ProducerID(c.producer), ProducerEpoch: wire.ProducerEpoch(c.epoch),
		BaseSequence: wire.Sequence(c.next[fmt.Sprint(topic, part)]),
	}, values...)
}

// try sends a batch once.
func (c *txnClient) try(topic string, part int32, values ...string) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	req := produce(-1, toProduce{topic, part, c.batch(topic, part, values...)})
	req.TransactionID = &c.id
	if req.Version = 11; c.implicit {
		req.Version = 12
	}
	p := produced(c.call(req))[0]
	if p.ErrorCode == 0 {
		c.next[fmt.Sprint(topic, part)] += int32(len(values))
	}
	return p
}

// send writes values, which begins a transaction if none is open.
func (c *txnClient) send(topic string, part int32, values ...string) {
	c.t.Helper()
	if !c.implicit && c.next[fmt.Sprint("added ", topic, part)] == 0 {
		c.add(topic, part)
	}
	retried(c.t, func() wire.ErrorCode { return wire.ErrorCode(c.try(topic, part, values...).ErrorCode) })
}

func (c *txnClient) add(topic string, part int32) {
	c.t.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, c.id, c.producer, c.epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = topic, []int32{part}
	req.Topics = append(req.Topics, t)
	retried(c.t, func() wire.ErrorCode {
		return wire.ErrorCode(c.call(req).(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode)
	})
	c.next[fmt.Sprint("added ", topic, part)] = 1
}

// tryEnd asks once for the end of the transaction.
func (c *txnClient) tryEnd(commit bool, epoch int16) *kmsg.EndTxnResponse {
	c.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = c.id, c.producer, epoch, commit
	if req.Version = 4; c.implicit {
		req.Version = 5
	}
	return c.call(req).(*kmsg.EndTxnResponse)
}

func (c *txnClient) end(commit bool) {
	c.t.Helper()
	retried(c.t, func() wire.ErrorCode {
		resp := c.tryEnd(commit, c.epoch)
		if resp.ErrorCode == 0 && c.implicit {
			c.epoch, c.next = resp.ProducerEpoch, map[string]int32{}
		}
		return wire.ErrorCode(resp.ErrorCode)
	})
	for k := range c.next {
		if strings.HasPrefix(k, "added ") {
			delete(c.next, k)
		}
	}
}

// settled waits until the markers are written.
func (c *txnClient) settled() {
	c.t.Helper()
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{c.id}
	await(c.t, "the transaction is complete", func() bool {
		return strings.HasPrefix(c.call(req).(*kmsg.DescribeTransactionsResponse).TransactionStates[0].State, "Complete")
	})
}

// readCommitted fetches all that a read_committed consumer sees of a partition, and its last stable offset.
func (c *client) readCommitted(topic string, part int32) (all []string, lastStable int64) {
	c.t.Helper()
	aborted := map[int64]bool{} // producers in an aborted transaction
	for offset := int64(0); ; {
		req := fetch(toFetch{topic, part, offset})
		req.IsolationLevel = 1
		p := fetched(c.call(req))[fmt.Sprintf("%s-%d", topic, part)]
		if p.ErrorCode != 0 {
			c.t.Fatal(wire.ErrorCode(p.ErrorCode))
		}
		if p.AbortedTransactions == nil {
			c.t.Fatal("the aborted transactions are null")
		}
		next := offset
		for b := range batches(c.t, p.RecordBatches) {
			next = int64(b.NextOffset())
			for _, a := range p.AbortedTransactions {
				if a.FirstOffset <= int64(b.LastOffset()) && a.FirstOffset >= offset-1<<20 {
					aborted[a.ProducerID] = true
				}
			}
			p.AbortedTransactions = slices.DeleteFunc(p.AbortedTransactions, func(a kmsg.FetchResponseTopicPartitionAbortedTransaction) bool {
				return a.FirstOffset <= int64(b.LastOffset())
			})
			switch marker, isMarker := wire.ReadTxnMarker(b); {
			case isMarker && !marker.Commit:
				delete(aborted, int64(b.ProducerID()))
			case b.IsControl() || b.IsTransactional() && aborted[int64(b.ProducerID())]:
			default:
				vs, _ := values(c.t, b)
				all = append(all, vs...)
			}
		}
		if next == offset {
			return all, p.LastStableOffset
		}
		offset = next
	}
}

// batches walks fetched bytes.
func batches(t testing.TB, src []byte) func(func(wire.RecordBatch) bool) {
	return func(yield func(wire.RecordBatch) bool) {
		for len(src) > 0 {
			b, tail, err := wire.ReadRecordBatch(src)
			if err != nil {
				t.Fatal(err)
			}
			if !yield(b) {
				return
			}
			src = tail
		}
	}
}

func (c *client) wantCommitted(topic string, part int32, want string) {
	c.t.Helper()
	await(c.t, fmt.Sprintf("committed records %q of %s-%d", want, topic, part), func() bool {
		got, _ := c.readCommitted(topic, part)
		return strings.Join(got, " ") == want
	})
}

// eachTxnVersion runs test with clients before and of transaction version 2.
func eachTxnVersion(t *testing.T, test func(t *testing.T, implicit bool)) {
	for _, implicit := range []bool{false, true} {
		t.Run(fmt.Sprintf("implicit=%t", implicit), func(t *testing.T) { test(t, implicit) })
	}
}

func TestTransactions(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		eachTxnVersion(t, func(t *testing.T, implicit bool) {
			tn := startNode(t, nodeOptions{shape: s})
			tn.createTopic("a", 2)
			c, reader := tn.txnClient("t", implicit), tn.dial()
			c.send("a", 0, "1", "2")
			c.send("a", 1, "3")
			c.send("a", 0, "4")
			if got, stable := reader.readCommitted("a", 0); len(got) != 0 || stable != 0 {
				t.Fatalf("an open transaction shows %q up to %d", got, stable)
			}
			c.end(true)
			c.send("a", 0, "5")
			c.end(false)
			c.send("a", 0, "6")
			c.end(true)
			reader.wantCommitted("a", 0, "1 2 4 6")
			reader.wantCommitted("a", 1, "3")
			if all := reader.readAll("a", 1, 0); len(all) == 0 || all[0] != "3" {
				t.Fatalf("read_uncommitted sees %q", all)
			}
		})
	})
}

// TestTransactionsOfARealClient: commits are seen and aborts are not, with a client's own bookkeeping.
func TestTransactionsOfARealClient(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 3)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		producer := tn.kgo(t, kgo.TransactionalID("t"), kgo.DefaultProduceTopic("a"))
		want := map[string]int{}
		for txn := range 12 {
			if err := producer.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			commit := kgo.TransactionEndTry(txn%3 != 1)
			for i := range 20 {
				v := fmt.Sprint(txn, "-", i)
				producer.Produce(ctx, kgo.StringRecord(v), func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
				if commit == kgo.TryCommit {
					want[v] = 1
				}
			}
			if err := producer.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if err := producer.EndTransaction(ctx, commit); err != nil {
				t.Fatal(err)
			}
		}
		consumer := tn.kgo(t, kgo.ConsumeTopics("a"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
		for n := 0; n < len(want); {
			got := consumer.PollFetches(ctx)
			if err := got.Err0(); err != nil {
				t.Fatal(err)
			}
			got.EachRecord(func(r *kgo.Record) {
				n++
				if want[string(r.Value)]--; want[string(r.Value)] != 0 {
					t.Errorf("record %s was not committed, or is there twice", r.Value)
				}
			})
		}
	})
}

// TestTransactionIsVerified: a batch is not appended outside a transaction that the coordinator knows.
func TestTransactionIsVerified(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 2)
	c := tn.txnClient("t", false)
	for _, v := range []struct {
		version int16
		code    wire.ErrorCode
	}{{7, wire.InvalidTxnState}, {10, wire.InvalidTxnState}, {11, wire.TransactionAbortable}} {
		req := produce(-1, toProduce{"a", 0, c.batch("a", 0, "x")})
		req.Version, req.TransactionID = v.version, &c.id
		if code := produced(c.call(req))[0].ErrorCode; wire.ErrorCode(code) != v.code {
			t.Errorf("version %d: %s, want %s", v.version, wire.ErrorCode(code), v.code)
		}
	}
	req := produce(-1, toProduce{"a", 0, c.batch("a", 0, "x")})
	if code := produced(c.call(req))[0].ErrorCode; wire.ErrorCode(code) != wire.TransactionalIDAuthorizationFailed {
		t.Errorf("without a transactional id: %s", wire.ErrorCode(code))
	}
	c.send("a", 0, "1")
	if p := c.try("a", 1, "x"); wire.ErrorCode(p.ErrorCode) != wire.TransactionAbortable {
		t.Errorf("a partition that was not added: %s", wire.ErrorCode(p.ErrorCode))
	}
	plain := batchOf(wire.BatchHeader{Idempotent: true, ProducerID: wire.ProducerID(c.producer), BaseSequence: 1}, "x")
	if code := produced(c.call(produce(-1, toProduce{"a", 0, plain})))[0].ErrorCode; wire.ErrorCode(code) != wire.InvalidTxnState {
		t.Errorf("outside the open transaction: %s", wire.ErrorCode(code))
	}
	old := *c
	fencer := tn.txnClient("t", true) // aborts what is open
	if p := old.try("a", 0, "x"); wire.ErrorCode(p.ErrorCode) != wire.InvalidProducerEpoch {
		t.Errorf("a fenced producer: %s", wire.ErrorCode(p.ErrorCode))
	}
	if p := old.try("a", 1, "x"); wire.ErrorCode(p.ErrorCode) != wire.InvalidProducerEpoch {
		t.Errorf("a fenced producer at another partition: %s", wire.ErrorCode(p.ErrorCode))
	}
	fencer.send("a", 0, "2")
	fencer.end(true)
	tn.dial().wantCommitted("a", 0, "2")
}

// TestLateEndTxn: an EndTxn that comes after its transaction's end never ends the next (KAFKA-17754).
func TestLateEndTxn(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	c := tn.txnClient("t", true)
	c.send("a", 0, "1")
	before := c.epoch
	c.end(true)
	c.send("a", 0, "2")
	for _, commit := range []bool{true, false} {
		if resp := c.tryEnd(commit, before); wire.ErrorCode(resp.ErrorCode) != wire.ProducerFenced {
			t.Errorf("commit %t: %s", commit, wire.ErrorCode(resp.ErrorCode))
		}
	}
	c.wantCommitted("a", 0, "1")
	c.end(true)
	c.wantCommitted("a", 0, "1 2")
}

// TestTransactionsSurviveKill: kill -9 in the middle of a transaction, over many segments; what was open stays open and can
// be ended, what was aborted stays unseen.
func TestTransactionsSurviveKill(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		eachTxnVersion(t, func(t *testing.T, implicit bool) {
			tn := startNode(t, nodeOptions{shape: s})
			tn.createTopic("a", 1, "segment.bytes=1048576")
			c := tn.txnClient("t", implicit)
			other := tn.txnClient("u", implicit)
			var want []string
			for i := range 30 {
				v := fmt.Sprint(i, strings.Repeat(".", 60<<10))
				c.send("a", 0, v)
				other.send("a", 0, "x"+v)
				c.end(i%2 == 0)
				other.end(false)
				if i%2 == 0 {
					want = append(want, v)
				}
			}
			c.send("a", 0, "open")
			other.send("a", 0, "gone")
			c.settledUpTo(t, want)
			_, stable := c.readCommitted("a", 0)

			for _, clean := range []bool{false, true} {
				if clean {
					_ = tn.stop()
				} else {
					tn.kill()
				}
				tn = tn.restart()
				c.client, other.client = tn.dial(), tn.dial()
				if got, again := c.readCommitted("a", 0); again != stable || !slices.Equal(got, want) {
					t.Fatalf("after a restart (clean %t) %d records up to %d, want %d up to %d", clean, len(got), again, len(want), stable)
				}
			}
			c.send("a", 0, "still")
			other.end(false)
			c.end(true)
			c.wantCommitted("a", 0, strings.Join(append(want, "open", "still"), " "))
		})
	})
}

func (c *txnClient) settledUpTo(t *testing.T, want []string) {
	t.Helper()
	c.wantCommitted("a", 0, strings.Join(want, " "))
}

// TestTransactionTimesOut: an abandoned transaction is aborted, and its producer fenced.
func TestTransactionTimesOut(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"transaction.abort.timed.out.transaction.cleanup.interval.ms=10"}})
	tn.createTopic("a", 1)
	c := tn.txnClient("t", true)
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 5, &c.id, 1
	retried(t, func() wire.ErrorCode {
		resp := c.call(req).(*kmsg.InitProducerIDResponse)
		c.epoch = resp.ProducerEpoch
		return wire.ErrorCode(resp.ErrorCode)
	})
	c.send("a", 0, "1")
	c.settled()
	if p := c.try("a", 0, "2"); wire.ErrorCode(p.ErrorCode) != wire.InvalidProducerEpoch {
		t.Errorf("after the timeout: %s", wire.ErrorCode(p.ErrorCode))
	}
	if resp := c.tryEnd(true, c.epoch); wire.ErrorCode(resp.ErrorCode) != wire.InvalidTxnState {
		t.Errorf("commit after the timeout: %s", wire.ErrorCode(resp.ErrorCode))
	}
	if got, stable := c.readCommitted("a", 0); len(got) != 0 || stable != 2 {
		t.Errorf("%q up to %d", got, stable)
	}
}

// TestFetchWaitsForTheMarker: a long poll of committed records ends with the transaction.
func TestFetchWaitsForTheMarker(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s})
		tn.createTopic("a", 1)
		c, reader := tn.txnClient("t", true), tn.dial()
		c.send("a", 0, "1")
		req := waiting(fetch(toFetch{"a", 0, 0}), 1, patience)
		req.IsolationLevel = 1
		reader.send(req)
		c.end(true)
		p := fetched(reader.mustReceive())["a-0"]
		if vs, _ := values(t, p.RecordBatches); len(vs) == 0 || vs[0] != "1" || p.LastStableOffset != 2 {
			t.Fatalf("%q up to %d", vs, p.LastStableOffset)
		}
	})
}

// TestHangingTransaction: what no coordinator will end an administrator can.
func TestHangingTransaction(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	c := tn.txnClient("t", true)
	c.send("a", 0, "1")
	describe := kmsg.NewPtrDescribeProducersRequest()
	topic := kmsg.NewDescribeProducersRequestTopic()
	topic.Topic, topic.Partitions = "a", []int32{0}
	describe.Topics = append(describe.Topics, topic)
	active := c.call(describe).(*kmsg.DescribeProducersResponse).Topics[0].Partitions[0].ActiveProducers[0]
	if active.ProducerID != c.producer || active.CurrentTxnStartOffset != 0 || active.CoordinatorEpoch != -1 || active.LastSequence != 0 {
		t.Fatalf("%+v", active)
	}
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 1
	marker := kmsg.NewWriteTxnMarkersRequestMarker()
	marker.ProducerID, marker.ProducerEpoch, marker.CoordinatorEpoch = c.producer, c.epoch, 0
	where := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	where.Topic, where.Partitions = "a", []int32{0, 7}
	marker.Topics = append(marker.Topics, where)
	req.Markers = append(req.Markers, marker)
	for i, want := range []wire.ErrorCode{wire.None, wire.UnknownTopicOrPartition} {
		got := c.call(req).(*kmsg.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions[i].ErrorCode
		if wire.ErrorCode(got) != want {
			t.Errorf("partition %d: %s", i, wire.ErrorCode(got))
		}
	}
	if got, stable := c.readCommitted("a", 0); len(got) != 0 || stable != 3 {
		t.Errorf("%q up to %d", got, stable)
	}
}

// TestMarkerOvertakesVerification: a batch whose transaction ends between the coordinator's word and the append stays out. Where it cannot be
// told which was first, as with an administrator's marker, the coordinator is asked again; here there is none.
func TestMarkerOvertakesVerification(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	p := tn.partition("a", 0)
	key := verificationKey{7, 3}
	for _, c := range []struct {
		name    string
		granted txnOrder
		marked  txnOrder
		code    wire.ErrorCode
	}{
		{"no marker", 5, 0, wire.None},
		{"a marker of the transaction before", 9, 8, wire.None},
		{"a marker of this transaction", 9, 10, wire.InvalidTxnState},
		{"an administrator's", 9, txnOrderForeign, wire.CoordinatorNotAvailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			done := make(chan wire.ErrorCode, 1)
			p.loop.on(func(*Loop) {
				b := batchOf(wire.BatchHeader{Transactional: true, Idempotent: true, ProducerID: key.id, ProducerEpoch: key.epoch}, "x")
				item := internalItem(p, b, done)
				v := &verification{items: []*produceItem{item}}
				p.verifying = map[verificationKey]*verification{key: v}
				if c.marked > 0 {
					p.noteMarker(wire.AppendTxnMarker(nil, key.id, key.epoch, false, 0, 0), c.marked)
				}
				p.verified(key, v, wire.None, c.granted)
			})
			if code := <-done; code != c.code {
				t.Errorf("%s, want %s", code, c.code)
			}
			key.id++
		})
	}
}

// TestVerificationEndsWithTheReign: a batch is not appended on a word that a coordinator gave while the node led under another epoch: the
// transaction may have ended at the leader in between. Nor does that word speak for the same producer's next batch.
func TestVerificationEndsWithTheReign(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	p := tn.partition("a", 0)
	key := verificationKey{7, 3}
	batch := func() wire.RecordBatch {
		return batchOf(wire.BatchHeader{Transactional: true, Idempotent: true, ProducerID: key.id, ProducerEpoch: key.epoch}, "x")
	}
	first, second, queued := make(chan wire.ErrorCode, 1), make(chan wire.ErrorCode, 1), make(chan wire.ErrorCode, 1)
	p.loop.on(func(*Loop) {
		old := &verification{items: []*produceItem{internalItem(p, batch(), first)}}
		p.verifying = map[verificationKey]*verification{key: old}
		p.reignEnds()
		next := &verification{items: []*produceItem{internalItem(p, batch(), second)}}
		p.verifying = map[verificationKey]*verification{key: next}
		p.verified(key, old, wire.None, txnOrderUnknown)
		if p.verifying[key] != next {
			t.Error("the old word spoke for the next batch")
		}
		p.verified(key, next, wire.InvalidTxnState, txnOrderUnknown)

		item := internalItem(p, batch(), queued) // it waits for a new segment
		item.verified, p.queue = true, []*produceItem{item}
		p.reignEnds()
		p.drainQueue()
	})
	for _, c := range []struct {
		name string
		got  chan wire.ErrorCode
		want wire.ErrorCode
	}{
		{"that of the old reign", first, wire.NotLeaderOrFollower},
		{"the next", second, wire.InvalidTxnState},
		{"one that waits for a segment", queued, wire.CoordinatorNotAvailable}, // it is asked for again, and there is no coordinator
	} {
		if code := <-c.got; code != c.want {
			t.Errorf("%s: %s, want %s", c.name, code, c.want)
		}
	}
}

// TestAppendOfAnEpochThatEndsMeanwhile: what a coordinator has appended waits for a new segment, and its epoch ends meanwhile.
func TestAppendOfAnEpochThatEndsMeanwhile(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	p := tn.partition("a", 0)
	done := make(chan wire.ErrorCode, 1)
	p.loop.on(func(*Loop) {
		epoch := p.replica.LeaderEpoch()
		item := internalItem(p, batchOf(wire.BatchHeader{}, "x"), done)
		item.epoch = &epoch
		p.rolling = true
		p.offer(item)
		epoch-- // as if the partition's had gone on
		p.rolling = false
		p.drainQueue()
	})
	if code := <-done; code != wire.NotLeaderOrFollower {
		t.Errorf("%s", code)
	}
}

func internalItem(p *partition, b wire.RecordBatch, done chan wire.ErrorCode) *produceItem {
	return &produceItem{
		request: &produceRequest{acks: replicate.AcksAll}, part: p, index: p.index, batch: b,
		appended: func(c replicate.Completion) { done <- c.Code },
	}
}
