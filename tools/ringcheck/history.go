package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrHistory marks input that can't be judged.
var ErrHistory = errors.New("ringcheck: unreadable history")

// Outcome of a send as its client saw it.
type Outcome uint8

const (
	Info Outcome = iota // unknown: it may be in the log
	OK
	Fail // definitely not in the log
)

// Record is one entry of a log as somebody read it.
type Record struct {
	Offset  int64
	Process uint32
	Counter uint32
}

// Send is one attempt to append a record.
type Send struct {
	Begin, End int64 // ns
	Offset     int64 // only if OK; -1: the client was not told
	Counter    uint32
	Process    uint32
	Outcome    Outcome
	Idempotent bool
}

// Poll is one answer to a reader: consecutive records from an offset on. Records lie in Partition.polled.
type Poll struct {
	Begin       int64
	From        int64
	first, last int // of Partition.polled
}

// Partition is everything that was seen of one partition's log.
type Partition struct {
	Name       string
	Sends      []Send
	Polls      []Poll
	polled     []Record
	Final      []Record // in the order they were read
	Start, End int64    // the final log's offsets; End is exclusive
	hasFinal   bool
	Leaders    []Leader
	Marks      []Mark
	Replicas   []Replica
}

// line is one line of a history.
type line struct {
	Op         string      `json:"op"`
	T0         int64       `json:"t0"`
	T1         int64       `json:"t1"`
	Proc       uint32      `json:"proc"`
	Res        string      `json:"res"`
	Topic      string      `json:"topic"`
	Part       int32       `json:"part"`
	Counter    uint32      `json:"counter"`
	Offset     int64       `json:"offset"`
	Idempotent bool        `json:"idempotent"`
	From       int64       `json:"from"`
	Start      int64       `json:"start"`
	End        int64       `json:"end"`
	Recs       [][3]uint64 `json:"recs"`
	Node       int32       `json:"node"`
	Epoch      int32       `json:"epoch"`
	High       int64       `json:"high"`
	Sum        string      `json:"sum"`
	Kind       string      `json:"kind"`
	Bit        bool        `json:"bit"`
	Key        string      `json:"key"`
	Value      string      `json:"value"`
}

// History is what all clients saw, by partition.
type History struct {
	partitions map[string]*Partition
	names      []string // in order of appearance, so that a run says the same twice
	Faults     []Fault
	Admin      []AdminOp
}

// NewHistory is empty.
func NewHistory() *History { return &History{partitions: map[string]*Partition{}} }

// Partitions in order of appearance.
func (h *History) Partitions() []*Partition {
	out := make([]*Partition, len(h.names))
	for i, name := range h.names {
		out[i] = h.partitions[name]
	}
	return out
}

func (h *History) partition(topic string, index int32) *Partition {
	name := fmt.Sprintf("%s-%d", topic, index)
	p := h.partitions[name]
	if p == nil {
		p = &Partition{Name: name}
		h.partitions[name] = p
		h.names = append(h.names, name)
	}
	return p
}

// Read adds one client's history. Errors wrap ErrHistory with the file's name and line; a last line without its line feed is
// what a killed client leaves and is dropped.
func (h *History) Read(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrHistory, name, err)
		}
		if err := h.add(raw); err != nil {
			return fmt.Errorf("%w: %s line %d: %w", ErrHistory, name, number, err)
		}
	}
}

func (h *History) add(raw []byte) error {
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	switch l.Op {
	case "fault":
		h.Faults = append(h.Faults, Fault{Kind: l.Kind, Bit: l.Bit})
		return nil
	case "admin":
		return h.addAdmin(l)
	}
	p := h.partition(l.Topic, l.Part)
	switch l.Op {
	case "send":
		return p.addSend(l)
	case "leader":
		p.Leaders = append(p.Leaders, Leader{Epoch: l.Epoch, Node: l.Node})
		return nil
	case "mark":
		p.Marks = append(p.Marks, Mark{Begin: l.T0, End: l.T1, High: l.High, Epoch: l.Epoch, Node: l.Node})
		return nil
	case "replica":
		p.Replicas = append(p.Replicas, Replica{Node: l.Node, End: l.End, Sum: l.Sum})
		return nil
	case "poll":
		first := len(p.polled)
		p.polled = appendRecords(p.polled, l.Recs)
		p.Polls = append(p.Polls, Poll{Begin: l.T0, From: l.From, first: first, last: len(p.polled)})
		return nil
	case "final":
		return p.addFinal(l)
	}
	return fmt.Errorf("unknown op %q", l.Op)
}

func (p *Partition) addSend(l line) error {
	s := Send{Begin: l.T0, End: l.T1, Offset: l.Offset, Counter: l.Counter, Process: l.Proc, Idempotent: l.Idempotent}
	switch l.Res {
	case "ok":
		s.Outcome = OK
	case "fail":
		s.Outcome = Fail
	case "info":
		s.Outcome = Info
	default:
		return fmt.Errorf("unknown outcome %q", l.Res)
	}
	p.Sends = append(p.Sends, s)
	return nil
}

// addFinal joins a range to the final log; ranges come in order.
func (p *Partition) addFinal(l line) error {
	if p.hasFinal && l.Start != p.End {
		return fmt.Errorf("final range starts at %d, the one before ended at %d", l.Start, p.End)
	}
	if !p.hasFinal {
		p.Start, p.hasFinal = l.Start, true
	}
	p.End = l.End
	p.Final = appendRecords(p.Final, l.Recs)
	return nil
}

func appendRecords(dst []Record, recs [][3]uint64) []Record {
	for _, r := range recs {
		dst = append(dst, Record{Offset: int64(r[0]), Process: uint32(r[1]), Counter: uint32(r[2])})
	}
	return dst
}

// polledBy are a poll's records.
func (p *Partition) polledBy(poll Poll) []Record { return p.polled[poll.first:poll.last] }
