package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// recordID names a record for good: a process never gives a counter twice, whatever the topic and partition.
type recordID struct{ Process, Counter uint32 }

func (id recordID) String() string { return fmt.Sprintf("%d/%d", id.Process, id.Counter) }

// Planned is a record that a transaction set out to write.
type Planned struct {
	Partition string // of the topic that it was sent to
	Counter   uint32
	// Offset is where it was acknowledged, -1 if it was not.
	Offset int64
	// Source is the partition whose record at SourceOffset it was made from; empty outside a loop.
	Source       string
	SourceOffset int64
}

// Ending is what became of a transaction, as far as its process knows.
type Ending uint8

const (
	// Aborted: its commit was never asked for, or was definitely refused.
	Aborted Ending = iota
	// Committed was answered without an error.
	Committed
	// InDoubt: its commit was asked for and the answer is missing.
	InDoubt
)

// Transaction is one begin of one process with what followed.
type Transaction struct {
	Process, Number uint32
	Group           string // that its sources' offsets were committed in; empty outside a loop
	Records         []Planned
	Owned           int64 // ns; when its process was told that it has the transactional id
	Begin           int64 // ns
	Ending          Ending
}

// Process is one incarnation of a producer: a restarted one has another number and may have the same transactional id.
type Process struct {
	Number          uint32
	TransactionalID string
	Takeovers       []Takeover
	Transactions    []*Transaction // in the order in which they began
	byNumber        map[uint32]*Transaction
	nextCounter     int64
}

// Takeover is an InitProducerId that was answered: from Known on the process owns its transactional id.
type Takeover struct{ Asked, Known int64 } // ns

// TxnRead is one answer to a reader: records of one partition, and the offsets that came with them.
type TxnRead struct {
	Records               []Record
	Stable, HighWatermark int64 // -1: not told
}

// TxnLog is everything that was read of one partition with isolation read_committed.
type TxnLog struct {
	Name  string
	Final []Record
	// Stable and End of the final log, once all clients are gone and all transactions decided.
	Stable, End int64
	hasFinal    bool
	reads       map[uint32][]TxnRead // by reader, in order
	readers     []uint32
}

// groupOffsets are the offsets that one group had committed for one partition, as they were asked for over time.
type groupOffsets struct {
	group, source string
	offsets       []int64
}

// TxnHistory is what transactional producers, loops and readers saw.
type TxnHistory struct {
	processes map[uint32]*Process
	order     []*Process
	logs      map[string]*TxnLog
	names     []string
	groups    map[string]*groupOffsets
	groupsIn  []string
}

// NewTxnHistory is empty.
func NewTxnHistory() *TxnHistory {
	return &TxnHistory{processes: map[uint32]*Process{}, logs: map[string]*TxnLog{}, groups: map[string]*groupOffsets{}}
}

// txnLine is one line of a transactional history; doc.go shows each op.
type txnLine struct {
	Op     string    `json:"op"`
	T0     int64     `json:"t0"`
	T1     int64     `json:"t1"`
	Proc   uint32    `json:"proc"`
	Txn    uint32    `json:"txn"`
	ID     string    `json:"id"`
	Res    string    `json:"res"`
	Commit bool      `json:"commit"`
	Topic  string    `json:"topic"`
	Part   int32     `json:"part"`
	Group  string    `json:"group"`
	From   string    `json:"from"`
	Offset int64     `json:"offset"`
	Stable *int64    `json:"stable"`
	High   *int64    `json:"high"`
	End    int64     `json:"end"`
	Recs   [][]int64 `json:"recs"`
}

// Read adds one process's history. Errors wrap ErrHistory; a last line without its line feed is what a kill leaves.
func (h *TxnHistory) Read(name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = h.add(raw)
		}
		if err != nil {
			return fmt.Errorf("%w: %s line %d: %w", ErrHistory, name, number, err)
		}
	}
}

func (h *TxnHistory) add(raw []byte) error {
	var l txnLine
	if err := json.Unmarshal(raw, &l); err != nil {
		return err
	}
	switch l.Op {
	case "init":
		return h.addInit(l)
	case "begin":
		return h.addBegin(l)
	case "end":
		return h.addEnd(l)
	case "ended":
		return h.addEnded(l)
	case "read":
		return h.addRead(l)
	case "committed":
		h.offsetsOf(l.Group, partitionName(l.Topic, l.Part)).add(l.Offset)
		return nil
	case "final":
		return h.addFinal(l)
	}
	return fmt.Errorf("unknown op %q", l.Op)
}

func partitionName(topic string, part int32) string { return fmt.Sprintf("%s-%d", topic, part) }

func (h *TxnHistory) process(number uint32) *Process {
	p := h.processes[number]
	if p == nil {
		p = &Process{Number: number, byNumber: map[uint32]*Transaction{}}
		h.processes[number] = p
		h.order = append(h.order, p)
	}
	return p
}

func (h *TxnHistory) log(name string) *TxnLog {
	p := h.logs[name]
	if p == nil {
		p = &TxnLog{Name: name, reads: map[uint32][]TxnRead{}}
		h.logs[name] = p
		h.names = append(h.names, name)
	}
	return p
}

func (h *TxnHistory) offsetsOf(group, source string) *groupOffsets {
	key := group + " " + source
	g := h.groups[key]
	if g == nil {
		g = &groupOffsets{group: group, source: source}
		h.groups[key] = g
		h.groupsIn = append(h.groupsIn, key)
	}
	return g
}

func (g *groupOffsets) add(offset int64) { g.offsets = append(g.offsets, offset) }

func (h *TxnHistory) addInit(l txnLine) error {
	p := h.process(l.Proc)
	if len(p.Takeovers) > 0 && l.ID != p.TransactionalID {
		return fmt.Errorf("process %d has two transactional ids, %s and %s", l.Proc, p.TransactionalID, l.ID)
	}
	p.TransactionalID = l.ID
	p.Takeovers = append(p.Takeovers, Takeover{Asked: l.T0, Known: l.T1})
	return nil
}

func (h *TxnHistory) addBegin(l txnLine) error {
	p := h.process(l.Proc)
	if len(p.Takeovers) == 0 {
		return fmt.Errorf("process %d begins a transaction without a transactional id", l.Proc)
	}
	if p.byNumber[l.Txn] != nil {
		return fmt.Errorf("process %d begins transaction %d twice", l.Proc, l.Txn)
	}
	t := &Transaction{Process: l.Proc, Number: l.Txn, Group: l.Group, Owned: p.Takeovers[len(p.Takeovers)-1].Known, Begin: l.T0}
	for _, r := range l.Recs {
		if len(r) != 2 && len(r) != 4 {
			return fmt.Errorf("a planned record has %d numbers, want 2 or 4", len(r))
		}
		planned := Planned{Partition: partitionName(l.Topic, int32(r[0])), Counter: uint32(r[1]), Offset: -1}
		if len(r) == 4 {
			planned.Source, planned.SourceOffset = partitionName(l.From, int32(r[2])), r[3]
		}
		if err := p.count(planned.Counter); err != nil {
			return err
		}
		t.Records = append(t.Records, planned)
	}
	p.byNumber[l.Txn] = t
	p.Transactions = append(p.Transactions, t)
	return nil
}

// count holds a process to counters that only grow: records are told apart by them.
func (p *Process) count(counter uint32) error {
	if int64(counter) < p.nextCounter {
		return fmt.Errorf("process %d plans counter %d after %d", p.Number, counter, p.nextCounter-1)
	}
	p.nextCounter = int64(counter) + 1
	return nil
}

func (h *TxnHistory) transaction(l txnLine) (*Transaction, error) {
	t := h.process(l.Proc).byNumber[l.Txn]
	if t == nil {
		return nil, fmt.Errorf("process %d ends transaction %d, which it has not begun", l.Proc, l.Txn)
	}
	return t, nil
}

// addEnd notes what is asked for before it is asked: a process that is killed leaves this line and no "ended".
func (h *TxnHistory) addEnd(l txnLine) error {
	t, err := h.transaction(l)
	if err != nil {
		return err
	}
	if l.Commit {
		t.Ending = InDoubt
	}
	acknowledged := map[uint32]int64{}
	for _, r := range l.Recs {
		if len(r) != 2 {
			return fmt.Errorf("an acknowledged record has %d numbers, want 2", len(r))
		}
		acknowledged[uint32(r[0])] = r[1]
	}
	for i := range t.Records {
		if offset, ok := acknowledged[t.Records[i].Counter]; ok {
			t.Records[i].Offset = offset
		}
	}
	return nil
}

func (h *TxnHistory) addEnded(l txnLine) error {
	t, err := h.transaction(l)
	if err != nil {
		return err
	}
	switch {
	case l.Res == "info":
	case l.Res == "fail":
		t.Ending = Aborted
	case l.Res == "ok" && t.Ending == InDoubt:
		t.Ending = Committed
	case l.Res == "ok":
	default:
		return fmt.Errorf("unknown outcome %q", l.Res)
	}
	return nil
}

func (h *TxnHistory) addRead(l txnLine) error {
	p := h.log(partitionName(l.Topic, l.Part))
	recs, err := txnRecords(l.Recs)
	if err != nil {
		return err
	}
	if p.reads[l.Proc] == nil {
		p.readers = append(p.readers, l.Proc)
	}
	p.reads[l.Proc] = append(p.reads[l.Proc], TxnRead{Records: recs, Stable: told(l.Stable), HighWatermark: told(l.High)})
	return nil
}

func told(offset *int64) int64 {
	if offset == nil {
		return -1
	}
	return *offset
}

func (h *TxnHistory) addFinal(l txnLine) error {
	p := h.log(partitionName(l.Topic, l.Part))
	if p.hasFinal {
		return fmt.Errorf("two final logs of %s", p.Name)
	}
	recs, err := txnRecords(l.Recs)
	p.Final, p.Stable, p.End, p.hasFinal = recs, told(l.Stable), l.End, true
	return err
}

func txnRecords(recs [][]int64) ([]Record, error) {
	out := make([]Record, len(recs))
	for i, r := range recs {
		if len(r) != 3 {
			return nil, fmt.Errorf("a record that was read has %d numbers, want 3", len(r))
		}
		out[i] = Record{Offset: r[0], Process: uint32(r[1]), Counter: uint32(r[2])}
	}
	return out, nil
}
