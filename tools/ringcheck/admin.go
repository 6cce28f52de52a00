package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

// AdminOp is one operation on a topic's metadata.
type AdminOp struct {
	Begin, End int64 // ns; End is never where the outcome is unknown
	Process    uint32
	Kind       string // see adminKinds
	Topic      string
	Value      string // partitions, or the configuration's value; what a read found
	Outcome    string // "ok", "exists", "absent", "refused", "info"
	First      bool   // it is what a refused operation may have done before it was repeated
}

// topicState is a topic as metadata has it. The zero value is one that is not there.
type topicState struct {
	there      bool
	partitions int
	config     string // one property that the operations alter; "": its default
}

// String is what a read finds.
func (s topicState) String() string {
	if !s.there {
		return "absent"
	}
	return fmt.Sprintf("%d/%s", s.partitions, s.config)
}

// adminKinds say what an operation does to a topic, and which outcome that has.
var adminKinds = map[string]func(s topicState, value string) (outcome string, after topicState){
	"create": func(s topicState, value string) (string, topicState) {
		if s.there {
			return "exists", s
		}
		return "ok", topicState{there: true, partitions: count(value)}
	},
	"delete": func(s topicState, _ string) (string, topicState) {
		if !s.there {
			return "absent", s
		}
		return "ok", topicState{}
	},
	"grow": func(s topicState, value string) (string, topicState) {
		switch n := count(value); {
		case !s.there:
			return "absent", s
		case n <= s.partitions:
			return "refused", s
		default:
			s.partitions = n
			return "ok", s
		}
	},
	"alter": func(s topicState, value string) (string, topicState) {
		if !s.there {
			return "absent", s
		}
		s.config = value
		return "ok", s
	},
	"read": func(s topicState, value string) (string, topicState) {
		if s.String() != value {
			return "another value", s
		}
		return "ok", s
	},
}

func count(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		panic("BUG: addAdmin let the count " + value + " through")
	}
	return n
}

func (h *History) addAdmin(l line) error {
	if adminKinds[l.Kind] == nil {
		return fmt.Errorf("unknown kind of operation %q", l.Kind)
	}
	if l.Kind == "create" || l.Kind == "grow" {
		if _, err := strconv.Atoi(l.Value); err != nil {
			return fmt.Errorf("%s: %w", l.Kind, err)
		}
	}
	op := AdminOp{Begin: l.T0, End: l.T1, Process: l.Proc, Kind: l.Kind, Topic: l.Key, Value: l.Value, Outcome: l.Res}
	if op.Outcome == "info" {
		op.End = math.MaxInt64
	}
	h.Admin = append(h.Admin, op)
	return nil
}

// topicModel is what one topic does under adminKinds. An operation without an answer may have had its effect, at any time, or none.
var topicModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{topicState{}} },
	Step: func(state, input, _ any) []any {
		op := input.(AdminOp)
		outcome, after := adminKinds[op.Kind](state.(topicState), op.Value)
		switch {
		case op.Outcome == "info" || op.First:
			return []any{state, after}
		case op.Outcome == outcome:
			return []any{after}
		}
		return nil
	},
}).ToModel()

// linearizeWithin bounds the search for an order of one topic's operations.
const linearizeWithin = time.Minute

// checkAdmin is I13: for each topic there is one order of its operations, each between its begin and its end, in which all had the
// outcomes that they had. A node that forwards an operation to the controller repeats it where their connection ends, as Apache Kafka's do: one
// that was refused may have had its effect before, within its time.
func (h *History) checkAdmin(v *Verdict) {
	v.Admin = len(h.Admin)
	topics := map[string][]porcupine.Operation{}
	var names []string
	for _, op := range h.Admin {
		if topics[op.Topic] == nil {
			names = append(names, op.Topic)
		}
		topics[op.Topic] = append(topics[op.Topic], porcupine.Operation{ClientId: int(op.Process), Input: op, Call: op.Begin, Return: op.End})
		if op.Outcome == "exists" || op.Outcome == "absent" || op.Outcome == "refused" {
			op.First = true
			topics[op.Topic] = append(topics[op.Topic], porcupine.Operation{ClientId: int(op.Process), Input: op, Call: op.Begin, Return: op.End})
		}
	}
	for _, topic := range names {
		result, info := porcupine.CheckOperationsVerbose(topicModel, topics[topic], linearizeWithin)
		switch result {
		case porcupine.Illegal:
			v.Violations = append(v.Violations, Violation{Invariant: "I13", Partition: topic, Witness: witness(topics[topic], info)})
		case porcupine.Unknown:
			v.Idle = append(v.Idle, "no order of the operations on "+topic+" was found in time")
		}
	}
}

// witnessOps is how many operations before it a witness shows.
const witnessOps = 4

// witness is an operation that the longest order found can't take in, with the end of that order.
func witness(ops []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, partial := range slices.Concat(info.PartialLinearizationsOperations()...) {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	ordered := map[AdminOp]bool{}
	text := fmt.Sprintf("%d of %d operations have an order, at its end", len(longest), len(ops))
	for i, op := range longest {
		ordered[op.Input.(AdminOp)] = true
		if i >= len(longest)-witnessOps {
			text += "; " + op.Input.(AdminOp).String()
		}
	}
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	for _, op := range ops {
		if !ordered[op.Input.(AdminOp)] {
			return text + "; and then not " + op.Input.(AdminOp).String()
		}
	}
	return text
}

// String tells what was asked, what was answered, and when.
func (op AdminOp) String() string {
	text := op.Kind
	if op.First {
		text = "(repeated) " + text
	}
	if op.Value != "" {
		text += " " + op.Value
	}
	return fmt.Sprintf("%s: %s (process %d, %d to %d)", text, op.Outcome, op.Process, op.Begin, op.End)
}
