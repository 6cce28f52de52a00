package txn

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// target is what a transcript speaks to: a Coordinator, or a real Kafka.
type target interface {
	ask(req kmsg.Request) kmsg.Response
	// settle waits until the markers of an id are written.
	settle(id string)
}

// script runs the commands of a transcript. Transactional ids get a prefix, so that a real Kafka can be asked twice, and
// producer ids are shown as p1, p2, … in the order in which they are first seen.
type script struct {
	target    target
	prefix    string
	producers []int64
}

func (s *script) producer(name string) int64 {
	if n, ok := strings.CutPrefix(name, "p"); ok {
		i, _ := strconv.Atoi(n)
		if i < 1 || i > len(s.producers) {
			return 1 << 40 // one that nobody has
		}
		return s.producers[i-1]
	}
	n, _ := strconv.ParseInt(name, 10, 64)
	return n
}

func (s *script) name(producer int64) string {
	if producer < 0 {
		return strconv.FormatInt(producer, 10)
	}
	i := slices.Index(s.producers, producer)
	if i < 0 {
		i = len(s.producers)
		s.producers = append(s.producers, producer)
	}
	return fmt.Sprintf("p%d", i+1)
}

// run does one command of the measured transcripts.
func (s *script) run(d *datadriven.TestData) (out string, ok bool) {
	switch d.Cmd {
	case "init":
		return s.init(d), true
	case "add", "verify":
		return s.add(d), true
	case "add-offsets":
		return s.addOffsets(d), true
	case "end":
		return s.end(d), true
	case "settle":
		s.target.settle(s.prefix + word(d, 0))
		return "", true
	case "describe":
		return s.describe(d), true
	case "list":
		return s.list(d), true
	}
	return "", false
}

func word(d *datadriven.TestData, i int) string {
	if i >= len(d.CmdArgs) {
		return ""
	}
	return d.CmdArgs[i].Key
}

// option gives the value of key=value, or what is to be taken without it.
func option(d *datadriven.TestData, key, otherwise string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) == 1 {
			return a.Vals[0]
		}
	}
	return otherwise
}

func number(d *datadriven.TestData, key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(option(d, key, strconv.FormatInt(otherwise, 10)), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// init ID [v=5] [timeout=60000] [pid=p1 epoch=0]
func (s *script) init(d *datadriven.TestData) string {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = int16(number(d, "v", 5))
	id := s.prefix + word(d, 0)
	req.TransactionalID = &id
	req.TransactionTimeoutMillis = int32(number(d, "timeout", 60_000))
	req.ProducerID, req.ProducerEpoch = s.producer(option(d, "pid", "-1")), int16(number(d, "epoch", -1))
	resp := s.target.ask(req).(*kmsg.InitProducerIDResponse)
	return fmt.Sprintf("%s %s epoch %d", wire.ErrorCode(resp.ErrorCode), s.name(resp.ProducerID), resp.ProducerEpoch)
}

// add|verify ID pid=p1 epoch=0 [v=3] t1:0 t1:1 …
func (s *script) add(d *datadriven.TestData) string {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = int16(number(d, "v", 3))
	id, producer, epoch := s.prefix+word(d, 0), s.producer(option(d, "pid", "p1")), int16(number(d, "epoch", 0))
	one := kmsg.NewAddPartitionsToTxnRequestTransaction()
	for _, a := range d.CmdArgs[1:] {
		topic, partition, ok := strings.Cut(a.Key, ":")
		if !ok {
			continue
		}
		p, _ := strconv.Atoi(partition)
		old := kmsg.NewAddPartitionsToTxnRequestTopic()
		old.Topic, old.Partitions = topic, []int32{int32(p)}
		t := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
		t.Topic, t.Partitions = topic, []int32{int32(p)}
		req.Topics, one.Topics = append(req.Topics, old), append(one.Topics, t)
	}
	if req.Version >= batchedFrom {
		one.TransactionalID, one.ProducerID, one.ProducerEpoch, one.VerifyOnly = id, producer, epoch, d.Cmd == "verify"
		req.Topics, req.Transactions = nil, append(req.Transactions, one)
	} else {
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = id, producer, epoch
	}
	return added(s.target.ask(req).(*kmsg.AddPartitionsToTxnResponse))
}

func added(resp *kmsg.AddPartitionsToTxnResponse) string {
	var lines []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			lines = append(lines, fmt.Sprintf("%s:%d %s", t.Topic, p.Partition, wire.ErrorCode(p.ErrorCode)))
		}
	}
	for _, one := range resp.Transactions {
		for _, t := range one.Topics {
			for _, p := range t.Partitions {
				lines = append(lines, fmt.Sprintf("%s:%d %s", t.Topic, p.Partition, wire.ErrorCode(p.ErrorCode)))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// add-offsets ID pid=p1 epoch=0 [v=4] group=g
func (s *script) addOffsets(d *datadriven.TestData) string {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version = int16(number(d, "v", 4))
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = s.prefix+word(d, 0), s.producer(option(d, "pid", "p1")), int16(number(d, "epoch", 0))
	req.Group = option(d, "group", "g")
	return wire.ErrorCode(s.target.ask(req).(*kmsg.AddOffsetsToTxnResponse).ErrorCode).String()
}

// end ID commit|abort pid=p1 epoch=0 [v=5]
func (s *script) end(d *datadriven.TestData) string {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version = int16(number(d, "v", 5))
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = s.prefix+word(d, 0), s.producer(option(d, "pid", "p1")), int16(number(d, "epoch", 0))
	req.Commit = word(d, 1) == "commit"
	resp := s.target.ask(req).(*kmsg.EndTxnResponse)
	if req.Version < 5 {
		return wire.ErrorCode(resp.ErrorCode).String()
	}
	return fmt.Sprintf("%s %s epoch %d", wire.ErrorCode(resp.ErrorCode), s.name(resp.ProducerID), resp.ProducerEpoch)
}

// describe ID
func (s *script) describe(d *datadriven.TestData) string {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{s.prefix + word(d, 0)}
	resp := s.target.ask(req).(*kmsg.DescribeTransactionsResponse).TransactionStates[0]
	if resp.ErrorCode != 0 {
		return wire.ErrorCode(resp.ErrorCode).String()
	}
	var partitions []string
	for _, t := range resp.Topics {
		slices.Sort(t.Partitions)
		for _, p := range t.Partitions {
			partitions = append(partitions, fmt.Sprintf("%s:%d", t.Topic, p))
		}
	}
	slices.Sort(partitions)
	started := "started"
	if resp.StartTimestamp < 0 {
		started = "not started"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s epoch %d, timeout %d ms, %s: %s", resp.State, s.name(resp.ProducerID), resp.ProducerEpoch,
		resp.TimeoutMillis, started, strings.Join(partitions, " ")))
}

// list [v=2] [states=A,B] [pid=p1] [duration=ms] [pattern=regexp]
func (s *script) list(d *datadriven.TestData) string {
	req := kmsg.NewPtrListTransactionsRequest()
	req.Version, req.DurationFilterMillis = int16(number(d, "v", 2)), number(d, "duration", -1)
	if states := option(d, "states", ""); states != "" {
		req.StateFilters = strings.Split(states, "+")
	}
	if pid := option(d, "pid", ""); pid != "" {
		req.ProducerIDFilters = []int64{s.producer(pid)}
	}
	if pattern := option(d, "pattern", ""); pattern != "" {
		pattern = strings.ReplaceAll(pattern, "PREFIX", s.prefix)
		req.TransactionalIDPattern = &pattern
	}
	resp := s.target.ask(req).(*kmsg.ListTransactionsResponse)
	if resp.ErrorCode != 0 {
		return wire.ErrorCode(resp.ErrorCode).String()
	}
	var lines []string
	for _, t := range resp.TransactionStates {
		if id, ok := strings.CutPrefix(t.TransactionalID, s.prefix); ok {
			lines = append(lines, fmt.Sprintf("%s %s %s", id, s.name(t.ProducerID), t.TransactionState))
		}
	}
	slices.Sort(lines)
	for _, u := range resp.UnknownStateFilters {
		lines = append(lines, "unknown state "+u)
	}
	return strings.Join(lines, "\n")
}

// TestMeasured plays transcripts whose answers are those of Apache Kafka 4.1.1.
func TestMeasured(t *testing.T) {
	datadriven.Walk(t, "testdata/measured", func(t *testing.T, path string) {
		s := &script{target: newMachine(), prefix: "run1-"}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, ok := s.run(d)
			if !ok {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return out
		})
	})
}

// TestOracle plays them against a real Kafka, so that they can be taken again for a newer one: set RINGMILL_TEST_KAFKA to
// the address of a broker, and -rewrite to take them.
func TestOracle(t *testing.T) {
	address := os.Getenv("RINGMILL_TEST_KAFKA")
	if address == "" {
		t.Skip("needs a real Kafka: RINGMILL_TEST_KAFKA is not set")
	}
	datadriven.Walk(t, "testdata/measured", func(t *testing.T, path string) {
		s := &script{target: newOracle(t, address), prefix: fmt.Sprintf("rmt-%d-", time.Now().UnixNano())}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, ok := s.run(d)
			if !ok {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return out
		})
	})
}
