package node

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/wire"
)

// shareReader is a member of group "g" on a connection of its own, with one share session on partition 0 of a topic.
type shareReader struct {
	*client
	topic  wire.TopicID
	member string
	epoch  int32
	waitMS int32 // for records; patient, where a test knows that there are some
}

// patienceMS is the wait of who is about to get something: on a loaded machine that takes its time.
const patienceMS = int32(patience / 2 / time.Millisecond)

// shareTopic makes a topic whose partition 0 has a state in group "g" that begins at the log's start.
func (tn *testNode) shareTopic(name string, configs ...string) wire.TopicID {
	tn.t.Helper()
	id := tn.createTopic(name, 1, configs...)
	req := initializeShareState(id, 0)
	req.Topics[0].Partitions[0].StartOffset = 0
	tn.awaitShareState(req)
	return id
}

func (tn *testNode) shareReader(topic wire.TopicID, member byte) *shareReader {
	return &shareReader{client: tn.dial(), topic: topic, member: wire.TopicID{15: member}.String(), waitMS: patienceMS}
}

// request is the session's next ShareFetch; acks are "first-last:types", each type a digit.
func (r *shareReader) request(acks ...string) *kmsg.ShareFetchRequest {
	req := kmsg.NewPtrShareFetchRequest()
	req.Version, req.GroupID, req.MemberID, req.ShareSessionEpoch = 1, kmsg.StringPtr("g"), &r.member, r.epoch
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.MaxRecords, req.BatchSize = r.waitMS, 1, 1<<20, 500, 500
	p := kmsg.NewShareFetchRequestTopicPartition()
	for _, text := range acks {
		first, last, types := readAck(r.t, text)
		p.AcknowledgementBatches = append(p.AcknowledgementBatches, kmsg.ShareFetchRequestTopicPartitionAcknowledgementBatch{FirstOffset: first, LastOffset: last, AcknowledgeTypes: types})
	}
	if r.epoch == 0 || len(acks) > 0 {
		req.Topics = []kmsg.ShareFetchRequestTopic{{TopicID: r.topic, Partitions: []kmsg.ShareFetchRequestTopicPartition{p}}}
	}
	return req
}

func readAck(t testing.TB, text string) (first, last int64, types []int8) {
	t.Helper()
	var digits string
	if _, err := fmt.Sscanf(text, "%d-%d:%s", &first, &last, &digits); err != nil {
		t.Fatal(err)
	}
	for _, d := range digits {
		types = append(types, int8(d-'0'))
	}
	return first, last, types
}

// fetch asks once and gives what was acquired, as "first-last/deliveries …", and the values of the records within.
func (r *shareReader) fetch(acks ...string) (acquired, values string) {
	r.t.Helper()
	return r.read(r.call(r.request(acks...)).(*kmsg.ShareFetchResponse))
}

func (r *shareReader) read(resp *kmsg.ShareFetchResponse) (acquired, values string) {
	r.t.Helper()
	if r.epoch++; resp.ErrorCode != 0 {
		return wire.ErrorCode(resp.ErrorCode).String(), ""
	}
	if len(resp.Topics) == 0 {
		return "", ""
	}
	p := resp.Topics[0].Partitions[0]
	var ranges, said []string
	if p.ErrorCode != 0 {
		ranges = append(ranges, wire.ErrorCode(p.ErrorCode).String())
	}
	if p.AcknowledgeErrorCode != 0 {
		ranges = append(ranges, "ack "+wire.ErrorCode(p.AcknowledgeErrorCode).String())
	}
	for _, a := range p.AcquiredRecords {
		ranges = append(ranges, fmt.Sprintf("%d-%d/%d", a.FirstOffset, a.LastOffset, a.DeliveryCount))
	}
	for rest := p.Records; len(rest) > 0; {
		batch, tail, err := wire.ReadRecordBatch(rest)
		if err != nil {
			r.t.Fatal(err)
		}
		dec := wire.AcquireDecompressor()
		if err := batchRecords(batch, dec, func(rec wire.Record) error {
			off := int64(batch.BaseOffset()) + int64(rec.OffsetDelta)
			for _, a := range p.AcquiredRecords {
				if a.FirstOffset <= off && off <= a.LastOffset {
					said = append(said, string(rec.Value))
				}
			}
			return nil
		}); err != nil {
			r.t.Fatal(err)
		}
		dec.Release()
		rest = tail
	}
	return strings.Join(ranges, " "), strings.Join(said, " ")
}

// acknowledge sends a ShareAcknowledge and gives its error, or that of the partition.
func (r *shareReader) acknowledge(acks ...string) string {
	r.t.Helper()
	req := kmsg.NewPtrShareAcknowledgeRequest()
	req.Version, req.GroupID, req.MemberID, req.ShareSessionEpoch = 1, kmsg.StringPtr("g"), &r.member, r.epoch
	p := kmsg.NewShareAcknowledgeRequestTopicPartition()
	for _, text := range acks {
		first, last, types := readAck(r.t, text)
		p.AcknowledgementBatches = append(p.AcknowledgementBatches, kmsg.ShareAcknowledgeRequestTopicPartitionAcknowledgementBatch{FirstOffset: first, LastOffset: last, AcknowledgeTypes: types})
	}
	if len(acks) > 0 {
		req.Topics = []kmsg.ShareAcknowledgeRequestTopic{{TopicID: r.topic, Partitions: []kmsg.ShareAcknowledgeRequestTopicPartition{p}}}
	}
	r.epoch++
	resp := r.call(req).(*kmsg.ShareAcknowledgeResponse)
	if resp.ErrorCode != 0 || len(resp.Topics) == 0 {
		return wire.ErrorCode(resp.ErrorCode).String()
	}
	return wire.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode).String()
}

// want fails unless a fetch acquired what it should.
func (r *shareReader) want(acquired, values string, acks ...string) {
	r.t.Helper()
	if gotAcquired, gotValues := r.fetch(acks...); gotAcquired != acquired || gotValues != values {
		r.t.Fatalf("member %s at epoch %d acquired %q %q, want %q %q", r.member, r.epoch-1, gotAcquired, gotValues, acquired, values)
	}
}

// wantNothing fails unless a fetch that waits for a moment comes back empty.
func (r *shareReader) wantNothing(acks ...string) {
	r.t.Helper()
	r.waitMS = 100
	r.want("", "", acks...)
	r.waitMS = patienceMS
}

func TestShareFetch(t *testing.T) {
	eachShape(t, func(t *testing.T, s shape) {
		tn := startNode(t, nodeOptions{shape: s, set: []string{"share.coordinator.state.topic.num.partitions=2"}})
		id := tn.shareTopic("t")
		p := tn.dial()
		p.mustProduce("t", 0, batch("a", "b", "c"))
		p.mustProduce("t", 0, batch("d", "e"))
		one, two := tn.shareReader(id, 1), tn.shareReader(id, 2)
		one.want("0-4/1", "a b c d e")
		two.wantNothing()
		one.want("2-2/2", "c", "0-1:1", "2-2:2", "3-4:13") // what it gives back is there for itself, too
		if got := one.acknowledge("2-2:2"); got != "NONE" {
			t.Error(got)
		}
		two.want("2-2/3", "c")
		if got := two.acknowledge("2-2:1"); got != "NONE" {
			t.Error(got)
		}
		if got := two.acknowledge("2-2:1"); got != "NONE" { // below the start: of no interest
			t.Error(got)
		}
		if got, want := tn.shareStateOf(id, 0), "NONE epoch 1 from 5"; got != want {
			t.Errorf("state %s, want %s", got, want)
		}
		p.mustProduce("t", 0, batch("f"))
		two.want("5-5/1", "f")
		if got := one.acknowledge("5-5:1"); got != "INVALID_RECORD_STATE" {
			t.Errorf("another's record: %s", got)
		}
	})
}

// TestShareFetchWakes: a fetch that waits has its answer when a record comes, when one is given back, and when a member leaves.
func TestShareFetchWakes(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"share.coordinator.state.topic.num.partitions=2"}})
	id := tn.shareTopic("t")
	p := tn.dial()
	one, two := tn.shareReader(id, 1), tn.shareReader(id, 2)
	one.send(one.request())
	p.mustProduce("t", 0, batch("a"))
	resp, err := one.receive()
	if err != nil {
		t.Fatal(err)
	}
	if acquired, _ := one.read(resp.(*kmsg.ShareFetchResponse)); acquired != "0-0/1" {
		t.Fatalf("woken by a record: %s", acquired)
	}
	two.send(two.request())
	if got := one.acknowledge("0-0:2"); got != "NONE" {
		t.Fatal(got)
	}
	if resp, err = two.receive(); err != nil {
		t.Fatal(err)
	}
	if acquired, _ := two.read(resp.(*kmsg.ShareFetchResponse)); acquired != "0-0/2" {
		t.Fatalf("woken by a release: %s", acquired)
	}
	one.send(one.request())
	two.conn.Close()
	if resp, err = one.receive(); err != nil {
		t.Fatal(err)
	}
	if acquired, _ := one.read(resp.(*kmsg.ShareFetchResponse)); acquired != "0-0/2" { // as if it had not been delivered
		t.Fatalf("woken by a member that left: %s", acquired)
	}
}

// TestShareLocksEnd: a record that nobody acknowledges is delivered again, and given up when that was too often.
func TestShareLocksEnd(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{
		"share.coordinator.state.topic.num.partitions=2", "group.share.delivery.count.limit=2", "group.share.record.lock.duration.ms=1000",
		"group.share.min.record.lock.duration.ms=1000",
	}})
	id := tn.shareTopic("t")
	tn.dial().mustProduce("t", 0, batch("a"))
	r := tn.shareReader(id, 1)
	r.want("0-0/1", "a")
	r.want("0-0/2", "a")
	await(t, "record given up", func() bool { return strings.HasPrefix(tn.shareStateOf(id, 0), "NONE epoch 1 from 1") })
	r.wantNothing()
}

// TestShareFetchSurvivesRestarts: what was acknowledged stays so, what was not is delivered again with its count.
func TestShareFetchSurvivesRestarts(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"share.coordinator.state.topic.num.partitions=2"}})
	id := tn.shareTopic("t")
	tn.dial().mustProduce("t", 0, batch("a", "b", "c", "d", "e"))
	r := tn.shareReader(id, 1)
	r.want("0-4/1", "a b c d e")
	if got := r.acknowledge("0-0:1", "2-3:12"); got != "NONE" {
		t.Fatal(got)
	}
	for range 3 { // each start is a new reign
		tn.kill()
		tn = tn.restart()
		r = tn.shareReader(id, 1)
		r.want("1-1/1 3-3/2 4-4/1", "b d e")
	}
}

// TestShareFetchReadsCommitted: a group that is told to reads neither what is open nor what was aborted.
func TestShareFetchReadsCommitted(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"share.coordinator.state.topic.num.partitions=2", "transaction.state.log.num.partitions=2"}})
	id := tn.shareTopic("t")
	level := "read_committed"
	if code, message := tn.AlterConfigs(image.Resource{Type: image.GroupResource, Name: "g"}, map[string]*string{"share.isolation.level": &level}); code != wire.None {
		t.Fatal(code, message)
	}
	gone, kept := tn.txnClient("gone", true), tn.txnClient("kept", true)
	gone.send("t", 0, "x", "y")
	tn.dial().mustProduce("t", 0, batch("a"))
	r := tn.shareReader(id, 1)
	r.wantNothing()
	gone.end(false)
	r.want("2-3/1", "a")
	kept.send("t", 0, "b")
	r.wantNothing("2-3:1")
	kept.end(true)
	r.want("4-5/1", "b")
	if got, want := tn.shareStateOf(id, 0), "NONE epoch 1 from 4"; got != want {
		t.Errorf("state %s, want %s", got, want)
	}
}

// TestShareFetchAfterDeleteRecords: records that are deleted under a group are of no interest to it any more.
func TestShareFetchAfterDeleteRecords(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"share.coordinator.state.topic.num.partitions=2"}})
	id := tn.shareTopic("t")
	p := tn.dial()
	for _, v := range []string{"a", "b", "c", "d"} {
		p.mustProduce("t", 0, batch(v))
	}
	r := tn.shareReader(id, 1)
	r.want("0-3/1", "a b c d")
	tn.DeleteRecords(map[wire.TopicPartition]wire.Offset{{Topic: "t"}: 2})
	r.want("2-2/2", "c", "0-1:1", "2-3:21")
}

// TestShareFetchManyReaders: readers that come and go, each on a connection of its own, accept every record once.
func TestShareFetchManyReaders(t *testing.T) {
	tn := startNode(t, nodeOptions{shape: shape{"epoll", 2}, set: []string{"share.coordinator.state.topic.num.partitions=2"}})
	id := tn.shareTopic("t")
	const records, readers = 600, 6
	var mu sync.Mutex
	accepted := map[string]int{}
	var all sync.WaitGroup
	all.Go(func() {
		p := tn.dial()
		for i := range records {
			p.mustProduce("t", 0, batch(fmt.Sprintf("%03d%100s", i, "")))
		}
	})
	for member := range readers {
		all.Go(func() {
			for round := 0; ; round++ {
				r := tn.shareReader(id, byte(member*16+round%16))
				r.waitMS = 100 // others may have all there is
				acquired, values := r.fetch()
				for range 8 {
					if mu.Lock(); len(accepted) == records {
						mu.Unlock()
						r.conn.Close()
						return
					}
					mu.Unlock()
					var acks []string
					for _, rng := range strings.Fields(acquired) {
						rng, _, _ = strings.Cut(rng, "/")
						acks = append(acks, rng+":1")
					}
					if len(acks) > 0 {
						if got := r.acknowledge(acks...); got != "NONE" {
							t.Errorf("acknowledge %v: %s", acks, got)
							return
						}
						mu.Lock()
						for _, v := range strings.Fields(values) {
							accepted[v]++
						}
						mu.Unlock()
					}
					acquired, values = r.fetch()
				}
				r.conn.Close() // what was acquired last is given back
			}
		})
	}
	all.Wait()
	for v, n := range accepted {
		if n != 1 {
			t.Errorf("record %s was accepted %d times", v, n)
		}
	}
}

// TestShareSessionsOverTheWire: sessions begin, count and end as the state machine has it, and what a session had acquired
// is given back at its end.
func TestShareSessionsOverTheWire(t *testing.T) {
	tn := startNode(t, nodeOptions{set: []string{"share.coordinator.state.topic.num.partitions=2", "group.share.max.share.sessions=1"}})
	id := tn.shareTopic("t")
	tn.dial().mustProduce("t", 0, batch("a"))
	one, two := tn.shareReader(id, 1), tn.shareReader(id, 2)
	one.epoch = 3
	one.want("SHARE_SESSION_NOT_FOUND", "")
	one.epoch = 0
	one.want("0-0/1", "a")
	two.waitMS = 1
	two.want("SHARE_SESSION_LIMIT_REACHED", "")
	one.epoch = 7
	one.want("INVALID_SHARE_SESSION_EPOCH", "")
	one.epoch = share.FinalEpoch
	if got := one.acknowledge(); got != "NONE" {
		t.Error(got)
	}
	two.epoch, two.waitMS = 0, patienceMS
	two.want("0-0/1", "a")
}
