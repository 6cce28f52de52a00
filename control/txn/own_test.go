package txn

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// ownScript has, beside the measured commands, those that hold back and fail what a coordinator asks for:
//
//	hold appends|markers     from now on they are under way until land and mark
//	land [CODE], mark [CODE] ends those under way, and holds no more
//	begin COMMAND…           asks without waiting; answers are shown when they come
//	tick MS                  lets time pass, in one step
//	restart                  replays the log
//	epoch ID N               gives an id's producer an epoch, as after many transactions
//	markers                  shows the markers since the last time
type ownScript struct {
	script
	m     *machine
	begun map[Handle]string
}

func newOwnScript() *ownScript {
	m := newMachine()
	return &ownScript{script: script{target: m}, m: m, begun: map[Handle]string{}}
}

func (s *ownScript) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "hold":
		s.m.holdAppends = s.m.holdAppends || word(d, 0) == "appends"
		s.m.holdMarkers = s.m.holdMarkers || word(d, 0) == "markers"
	case "land":
		s.m.holdAppends = false
		s.m.land(code(d))
	case "mark":
		s.m.holdMarkers = false
		s.m.mark(code(d))
	case "tick":
		ms, _ := strconv.ParseInt(word(d, 0), 10, 64)
		s.m.pass(ms)
	case "restart":
		s.m.restart()
	case "epoch":
		n, _ := strconv.Atoi(word(d, 1))
		s.m.c.ids[word(d, 0)].epoch = wire.ProducerEpoch(n)
	case "markers":
		for i, line := range s.m.sent {
			head, tail, _ := strings.Cut(line, "producer ")
			id, rest, _ := strings.Cut(tail, " ")
			n, _ := strconv.ParseInt(id, 10, 64)
			s.m.sent[i] = head + s.name(n) + " " + rest
		}
		out := strings.Join(s.m.sent, "\n")
		s.m.sent = nil
		return out
	case "begin":
		s.begin(d)
	default:
		out, ok := s.script.run(d)
		if !ok {
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		return out
	}
	return s.news()
}

func code(d *datadriven.TestData) wire.ErrorCode {
	switch word(d, 0) {
	case "KAFKA_STORAGE_ERROR":
		return wire.KafkaStorageError
	case "UNKNOWN_TOPIC_OR_PARTITION":
		return wire.UnknownTopicOrPartition
	case "INVALID_PRODUCER_EPOCH":
		return wire.InvalidProducerEpoch
	}
	return wire.None
}

// begin NAME add|init|end ID …: the request is that of the command.
func (s *ownScript) begin(d *datadriven.TestData) {
	name := word(d, 0)
	sub := *d
	sub.Cmd, sub.CmdArgs = d.CmdArgs[1].Key, d.CmdArgs[2:]
	target := s.target
	defer func() { s.target = target }()
	catch := &catcher{}
	s.target = catch
	func() {
		defer func() { _ = recover() }() // the script reads an answer that is still to come
		s.script.run(&sub)
	}()
	s.begun[s.m.begin(catch.req)] = name
}

type catcher struct{ req kmsg.Request }

func (c *catcher) ask(req kmsg.Request) kmsg.Response { c.req = req; return nil }
func (c *catcher) settle(string)                      {}

// news are the answers that have come since the last command.
func (s *ownScript) news() string {
	var lines []string
	for _, h := range slices.Sorted(maps.Keys(s.begun)) {
		resp, ok := s.m.answers[h]
		if !ok {
			continue
		}
		lines = append(lines, s.begun[h]+": "+s.show(resp))
		delete(s.begun, h)
	}
	return strings.Join(lines, "\n")
}

func (s *ownScript) show(resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.AddPartitionsToTxnResponse:
		return strings.ReplaceAll(added(r), "\n", ", ")
	case *kmsg.InitProducerIDResponse:
		return fmt.Sprintf("%s %s epoch %d", wire.ErrorCode(r.ErrorCode), s.name(r.ProducerID), r.ProducerEpoch)
	case *kmsg.EndTxnResponse:
		return fmt.Sprintf("%s %s epoch %d", wire.ErrorCode(r.ErrorCode), s.name(r.ProducerID), r.ProducerEpoch)
	}
	return fmt.Sprintf("%T", resp)
}

func TestOwn(t *testing.T) {
	datadriven.Walk(t, "testdata/own", func(t *testing.T, path string) {
		s := newOwnScript()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}
