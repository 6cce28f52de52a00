package share

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/wire"
)

// partitionScript runs the commands of a transcript about one share partition. Writes wait until the transcript ends them.
type partitionScript struct {
	t     *testing.T
	p     *Partition
	nowMS int64
	next  Handle
}

func (s *partitionScript) show(fx Effects) string {
	var b strings.Builder
	for _, a := range fx.Acquired {
		fmt.Fprintf(&b, "acquired %d-%d, delivery %d\n", a.First, a.Last, a.Deliveries)
	}
	for _, d := range fx.Done {
		fmt.Fprintf(&b, "#%d: %s %s\n", d.Handle, d.Code, d.Message)
	}
	if w := fx.Write; w != nil {
		fmt.Fprintf(&b, "write from %d%s\n", w.StartOffset, showBatches(w.Batches))
	}
	if fx.Fenced {
		b.WriteString("fenced\n")
	}
	fmt.Fprintf(&b, "%d to %d:", s.p.Start(), s.p.Next())
	for _, r := range s.p.runs {
		fmt.Fprintf(&b, " %d-%d %s/%d", r.first, r.last, r.state, r.deliveries)
		if r.member != "" {
			fmt.Fprintf(&b, " of %s until %d", r.member, r.untilMS)
		}
		if r.pending {
			b.WriteString(" pending")
		}
	}
	return b.String() + "\n"
}

// offsets reads "first-last".
func (s *partitionScript) offsets(text string) (first, last wire.Offset) {
	if _, err := fmt.Sscanf(text, "%d-%d", &first, &last); err != nil {
		s.t.Fatalf("%q: %v", text, err)
	}
	return first, last
}

func (s *partitionScript) number(d *datadriven.TestData, key string, otherwise int64) int64 {
	for _, a := range d.CmdArgs {
		if a.Key != key {
			continue
		}
		n, err := strconv.ParseInt(a.Vals[0], 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		return n
	}
	return otherwise
}

// begin [start=N] [initial=N] [first-last:state/deliveries …]: from a state.
func (s *partitionScript) begin(d *datadriven.TestData) string {
	state := Result{StartOffset: wire.Offset(s.number(d, "start", -1))}
	for _, a := range d.CmdArgs {
		if strings.Contains(a.Key, ":") {
			var b StateBatch
			if _, err := fmt.Sscanf(a.Key, "%d-%d:%d/%d", &b.First, &b.Last, &b.State, &b.Deliveries); err != nil {
				s.t.Fatal(err)
			}
			state.Batches = append(state.Batches, b)
		}
	}
	var fx Effects
	s.p, fx = NewPartition(s.nowMS, PartitionConfig{MaxDeliveries: 2, MaxRecordLocks: 20}, 1, state, wire.Offset(s.number(d, "initial", 0)))
	return s.show(fx)
}

// fetch MEMBER [records=N] [size=N] first-last[!] …: batches that were read, ! for aborted ones.
func (s *partitionScript) fetch(d *datadriven.TestData) string {
	from, ok := s.p.BeginFetch()
	if !ok {
		return "no room\n"
	}
	defer s.p.EndFetch()
	a := Acquisition{Member: d.CmdArgs[0].Key, LockMS: 100, From: from, MaxRecords: s.number(d, "records", 500), BatchSize: s.number(d, "size", 500)}
	for _, arg := range d.CmdArgs[1:] {
		if len(arg.Vals) > 0 {
			continue
		}
		text, aborted := strings.CutSuffix(arg.Key, "!")
		first, last := s.offsets(text)
		if last >= from {
			a.Batches = append(a.Batches, FetchedBatch{first, last, aborted})
		}
	}
	return fmt.Sprintf("read from %d\n", from) + s.show(s.p.Acquire(s.nowMS, a))
}

// ack MEMBER first-last:types …, each type a digit.
func (s *partitionScript) ack(d *datadriven.TestData) string {
	var acks []Acknowledgement
	for _, arg := range d.CmdArgs[1:] {
		offsets, digits, _ := strings.Cut(arg.Key, ":")
		var a Acknowledgement
		a.First, a.Last = s.offsets(offsets)
		for _, c := range digits {
			a.Types = append(a.Types, int8(c-'0'))
		}
		acks = append(acks, a)
	}
	if !CheckAcknowledgements(acks) {
		return "malformed\n"
	}
	s.next++
	return s.show(s.p.Acknowledge(s.nowMS, s.next, d.CmdArgs[0].Key, acks))
}

func (s *partitionScript) run(d *datadriven.TestData) string {
	switch d.Cmd {
	case "begin":
		return s.begin(d)
	case "fetch":
		return s.fetch(d)
	case "ack":
		return s.ack(d)
	case "release":
		s.next++
		return s.show(s.p.Release(s.nowMS, s.next, d.CmdArgs[0].Key))
	case "written":
		return s.show(s.p.Written(s.nowMS, wire.None, ""))
	case "failed":
		code := wire.KafkaStorageError
		if len(d.CmdArgs) > 0 {
			code = wire.FencedStateEpoch
		}
		return s.show(s.p.Written(s.nowMS, code, "no"))
	case "tick":
		s.nowMS += s.number(d, "ms", 0)
		return s.show(s.p.Tick(s.nowMS))
	case "log-start":
		return s.show(s.p.LogStartMoved(s.nowMS, wire.Offset(s.number(d, "at", 0))))
	case "abandon":
		var b strings.Builder
		for _, done := range s.p.Abandon() {
			fmt.Fprintf(&b, "#%d: %s\n", done.Handle, done.Code)
		}
		return b.String()
	}
	s.t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return ""
}

func TestPartitionTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/partition", func(t *testing.T, path string) {
		s := &partitionScript{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.run(d)
		})
	})
}
