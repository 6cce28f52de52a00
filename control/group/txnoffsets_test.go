package group

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// txnLog is a coordinator over a log with transactional batches and markers. Appends are durable when land is called.
type txnLog struct {
	t       *testing.T
	c       *Coordinator
	nowMS   int64
	entries []txnEntry
	appends []Append
	codes   map[Handle]int16 // answers: the code of the first partition
	handle  Handle
}

// txnEntry is a record of a batch, or a marker.
type txnEntry struct {
	rec           wire.Record
	producer      wire.ProducerID // NoProducerID: of no transaction
	marker, valid bool
}

func newTxnLog(t *testing.T) *txnLog {
	l := &txnLog{t: t, codes: map[Handle]int16{}}
	l.restart()
	return l
}

func (l *txnLog) restart() {
	l.c, l.appends = New(DefaultConfig(), 1), nil
	for _, e := range l.entries {
		var err error
		switch {
		case e.marker:
			l.c.LoadTxnEnd(e.producer, e.valid)
		case e.producer != wire.NoProducerID:
			err = l.c.LoadTxn(e.producer, e.rec)
		default:
			err = l.c.Load(e.rec)
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	l.take(l.c.Loaded(l.nowMS))
	l.c.checkAll()
}

func (l *txnLog) take(fx Effects) {
	l.appends = append(l.appends, fx.Appends...)
	for _, r := range fx.Replies {
		switch resp := r.Response.(type) {
		case *kmsg.TxnOffsetCommitResponse:
			l.codes[r.Handle] = resp.Topics[0].Partitions[0].ErrorCode
		case *kmsg.OffsetCommitResponse:
			l.codes[r.Handle] = resp.Topics[0].Partitions[0].ErrorCode
		}
	}
}

func (l *txnLog) send(req kmsg.Request) Handle {
	l.handle++
	l.take(l.c.Handle(l.nowMS, wire.Timestamp(wallEpoch), l.handle, Client{}, req))
	l.c.checkAll()
	return l.handle
}

// land ends the appends under way, in order.
func (l *txnLog) land(code wire.ErrorCode) {
	appends := l.appends
	l.appends = nil
	for _, a := range appends {
		for _, rec := range a.Records {
			e := txnEntry{rec: rec, producer: wire.NoProducerID}
			if a.Txn != nil {
				e.producer = a.Txn.ProducerID
			}
			if code == wire.None {
				l.entries = append(l.entries, e)
			}
		}
		l.take(l.c.Appended(l.nowMS, a.ID, code))
		l.c.checkAll()
	}
}

func (l *txnLog) end(producer wire.ProducerID, commit bool) {
	l.entries = append(l.entries, txnEntry{producer: producer, marker: true, valid: commit})
	l.take(l.c.TxnEnded(l.nowMS, wire.Timestamp(wallEpoch), producer, commit))
	l.c.checkAll()
}

func txnCommit(producer wire.ProducerID, partition int32, offset int64, metadata string) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.Group, req.Generation = 5, fmt.Sprint("t", producer), int64(producer), "g", -1
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = "a"
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = partition, offset, &metadata
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return req
}

func plainCommit(partition int32, offset int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 8, "g", -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "a"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return req
}

// offsets are the group's of partitions 0 and 1, a ? after those that are not stable.
func (l *txnLog) offsets() string {
	var out []string
	g := l.c.groups["g"]
	if g == nil {
		return "no group"
	}
	for p := range int32(2) {
		e := g.offsets.get("a", p)
		s := "-"
		if e != nil && e.stored {
			s = fmt.Sprint(e.value.offset)
		}
		stable := g.offsets.fetch("a", []int32{p}, true).Partitions[0]
		if stable.ErrorCode == int16(wire.UnstableOffsetCommit) {
			s += "?"
			if stable.Offset != -1 {
				l.t.Errorf("an unstable offset tells %d", stable.Offset)
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func (l *txnLog) want(what, want string) {
	l.t.Helper()
	if got := l.offsets(); got != want {
		l.t.Errorf("%s: offsets %s, want %s", what, got, want)
	}
}

func TestTxnOffsets(t *testing.T) {
	l := newTxnLog(t)
	h := l.send(txnCommit(7, 0, 10, "m"))
	l.want("under way", "-? -")
	l.land(wire.None)
	if code, ok := l.codes[h]; !ok || code != 0 {
		t.Errorf("answered %t %d", ok, code)
	}
	l.want("written", "-? -")
	l.restart()
	l.want("after a restart", "-? -")
	l.end(7, true)
	l.want("committed", "10 -")
	l.restart()
	l.want("committed, after a restart", "10 -")

	l.send(txnCommit(7, 0, 20, ""))
	l.send(txnCommit(8, 1, 21, ""))
	l.land(wire.None)
	l.end(7, false)
	l.want("one of two aborted", "10 -?")
	l.end(8, true)
	l.want("the other committed", "10 21")

	l.send(txnCommit(7, 0, 30, ""))
	l.land(wire.None)
	l.send(plainCommit(0, 25))
	l.land(wire.None)
	l.want("a later plain commit", "25? 21")
	l.end(7, true)
	l.want("a later plain commit stays", "25 21")
	l.restart()
	l.want("a later plain commit stays, after a restart", "25 21")

	l.send(txnCommit(7, 0, 40, ""))
	l.land(wire.None)
	next := l.send(txnCommit(7, 0, 50, "")) // of the next transaction: its batch follows the marker
	l.end(7, true)
	l.want("the next transaction's is under way", "40? 21")
	l.land(wire.None)
	if l.codes[next] != 0 {
		t.Error("not answered")
	}
	l.want("the next transaction's is written", "40? 21")
	l.end(7, false)
	l.want("the next transaction is aborted", "40 21")
}

func TestTxnOffsetsThatFail(t *testing.T) {
	l := newTxnLog(t)
	h := l.send(txnCommit(7, 0, 10, "m"))
	l.land(wire.InvalidTxnState)
	if wire.ErrorCode(l.codes[h]) != wire.InvalidTxnState {
		t.Errorf("answered %s", wire.ErrorCode(l.codes[h]))
	}
	l.want("the only commit failed", "no group")
	l.send(txnCommit(7, 0, 10, "m"))
	l.land(wire.None)
	l.send(txnCommit(7, 0, 11, "mm"))
	l.land(wire.KafkaStorageError)
	l.end(7, true)
	l.want("the second commit failed", "10 -")

	long := txnCommit(7, 0, 12, strings.Repeat("x", 5000))
	h = l.send(long)
	if wire.ErrorCode(l.codes[h]) != wire.OffsetMetadataTooLarge {
		t.Errorf("long metadata: %s", wire.ErrorCode(l.codes[h]))
	}
	member := txnCommit(7, 0, 12, "")
	member.MemberID, member.Generation = "nobody", 3
	if h = l.send(member); wire.ErrorCode(l.codes[h]) != wire.UnknownMemberID {
		t.Errorf("unknown member: %s", wire.ErrorCode(l.codes[h]))
	}
	other := txnCommit(7, 0, 12, "")
	other.Group, other.Generation = "other", 3
	if h = l.send(other); wire.ErrorCode(l.codes[h]) != wire.IllegalGeneration {
		t.Errorf("generation of no group: %s", wire.ErrorCode(l.codes[h]))
	}
	other.Group = ""
	if h = l.send(other); wire.ErrorCode(l.codes[h]) != wire.InvalidGroupID {
		t.Errorf("no group id: %s", wire.ErrorCode(l.codes[h]))
	}
}

// TestTxnOffsetsOfAGroupThatGoes: a deleted group, or topic, gets nothing back from a transaction that ends later.
func TestTxnOffsetsOfAGroupThatGoes(t *testing.T) {
	l := newTxnLog(t)
	l.send(txnCommit(7, 0, 10, "m"))
	l.land(wire.None)
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{"g"}
	l.send(req)
	l.land(wire.None)
	l.end(7, true)
	l.want("deleted", "no group")
	l.restart()
	l.want("deleted, after a restart", "no group")

	l.send(plainCommit(1, 5))
	l.land(wire.None)
	l.send(txnCommit(7, 0, 10, "m"))
	l.land(wire.None)
	l.take(l.c.TopicDeleted("a"))
	l.land(wire.None)
	l.end(7, true)
	if got := l.offsets(); got != "- -" && got != "no group" {
		t.Errorf("offsets of a deleted topic: %s", got)
	}
}

// TestTxnOffsetsReplay: whatever is committed, ended and failed in whatever order, a restart knows the same.
func TestTxnOffsetsReplay(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		l := newTxnLog(t)
		for range 60 {
			producer := wire.ProducerID(7 + rnd.IntN(3))
			switch rnd.IntN(6) {
			case 0, 1:
				l.send(txnCommit(producer, int32(rnd.IntN(2)), rnd.Int64N(1000), strings.Repeat("m", rnd.IntN(4))))
			case 2:
				l.send(plainCommit(int32(rnd.IntN(2)), rnd.Int64N(1000)))
			case 3:
				l.land(wire.None)
			case 4:
				l.land(wire.KafkaStorageError)
			case 5:
				l.land(wire.None)
				l.end(producer, rnd.IntN(2) == 0)
			}
		}
		l.land(wire.None)
		before := l.offsets()
		l.restart()
		if after := l.offsets(); after != before {
			t.Fatalf("seed %d: offsets %s, after a restart %s", seed, before, after)
		}
	}
}
