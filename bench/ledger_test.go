package bench

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// booked is a ledger of two producers and two partitions, whose first records all have each been acknowledged four times over: the records
// are stored as they were sent, by producer in turn.
func booked(t *testing.T) (*ledger, [2][]*kgo.Record) {
	t.Helper()
	l := newLedger(7, 2, 2)
	var logs [2][]*kgo.Record
	for sequence := range int64(4) {
		for producer := range 2 {
			for p := range int32(2) {
				value := make([]byte, 40)
				if got := l.next(producer, p, value); got != sequence {
					t.Fatalf("sequence %d, want %d", got, sequence)
				}
				l.ended(producer, p, sequence, acknowledged)
				logs[p] = append(logs[p], &kgo.Record{Partition: p, Offset: int64(len(logs[p])), Value: value})
			}
		}
	}
	return l, logs
}

// judge reads the logs and gives the faults and the verdict.
func judge(l *ledger, logs [2][]*kgo.Record) (faults []string, v *Verdict) {
	for _, log := range logs {
		for _, r := range log {
			l.read(r)
		}
	}
	v = l.verdict()
	for _, f := range v.Faults {
		faults = append(faults, f.String())
	}
	return faults, v
}

// Each kind of fault is found where it is, and nowhere else.
func TestLedger(t *testing.T) {
	for _, test := range []struct {
		name  string
		harm  func(l *ledger, logs *[2][]*kgo.Record)
		want  []string
		count func(*Verdict) int64
	}{
		{"nothing", func(*ledger, *[2][]*kgo.Record) {}, nil, func(v *Verdict) int64 { return v.Stored - 16 }},
		{"lost", func(_ *ledger, logs *[2][]*kgo.Record) { logs[1] = slices.Delete(logs[1], 3, 4) },
			[]string{"lost: partition 1, offset -1, producer 1, sequence 1"}, func(v *Verdict) int64 { return v.Lost - 1 }},
		{"doubled", func(_ *ledger, logs *[2][]*kgo.Record) { logs[0] = append(logs[0], logs[0][2]) },
			[]string{"doubled: partition 0, offset 2, producer 0, sequence 1"}, func(v *Verdict) int64 { return v.Doubled - 1 }},
		{"reordered", func(_ *ledger, logs *[2][]*kgo.Record) { logs[0][0], logs[0][2] = logs[0][2], logs[0][0] },
			[]string{"reordered: partition 0, offset 0, producer 0, sequence 0"}, func(v *Verdict) int64 { return v.Reordered - 1 }},
		{"corrupt", func(_ *ledger, logs *[2][]*kgo.Record) { logs[0][7].Value[39] ^= 1 },
			[]string{"corrupt: partition 0, offset 7, producer -1, sequence -1", "lost: partition 0, offset -1, producer 1, sequence 3"}, func(v *Verdict) int64 { return v.Corrupt - 1 }},
		{"of another partition", func(_ *ledger, logs *[2][]*kgo.Record) { logs[0][0].Partition = 1 },
			[]string{"corrupt: partition 1, offset 0, producer -1, sequence -1", "lost: partition 0, offset -1, producer 0, sequence 0"}, func(v *Verdict) int64 { return v.Corrupt - 1 }},
		{"never sent", func(_ *ledger, logs *[2][]*kgo.Record) {
			value := make([]byte, 40)
			other := newLedger(7, 2, 2)
			for range 5 {
				other.next(1, 1, value)
			}
			logs[1] = append(logs[1], &kgo.Record{Partition: 1, Offset: 8, Value: value})
		}, []string{"corrupt: partition 1, offset 8, producer 1, sequence 4"}, func(v *Verdict) int64 { return v.Corrupt - 1 }},
		{"aborted", func(l *ledger, logs *[2][]*kgo.Record) {
			value := make([]byte, 40)
			l.ended(0, 0, l.next(0, 0, value), aborted)
			logs[0] = append(logs[0], &kgo.Record{Partition: 0, Offset: 8, Value: value})
		}, []string{"aborted: partition 0, offset 8, producer 0, sequence 4"}, func(v *Verdict) int64 { return v.AbortedStored - 1 }},
		{"unknown and there", func(l *ledger, logs *[2][]*kgo.Record) {
			value := make([]byte, 40)
			l.next(0, 0, value)
			l.next(0, 1, make([]byte, 40))
			logs[0] = append(logs[0], &kgo.Record{Partition: 0, Offset: 8, Value: value})
		}, nil, func(v *Verdict) int64 { return v.Unknown - 1 - v.UnknownStored }},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, logs := booked(t)
			test.harm(l, &logs)
			faults, v := judge(l, logs)
			if fmt.Sprint(faults) != fmt.Sprint(test.want) || test.count(v) != 0 || v.Right() != (test.want == nil) {
				t.Errorf("%v, want %v; %+v", faults, test.want, v)
			}
		})
	}
}

// All faults are counted, and the first ones told.
func TestLedgerBounded(t *testing.T) {
	l, value := newLedger(1, 1, 1), make([]byte, 28)
	for range 1000 {
		l.ended(0, 0, l.next(0, 0, value), acknowledged)
	}
	if v := l.verdict(); v.Lost != 1000 || len(v.Faults) != faultsKept {
		t.Errorf("%d lost, %d told", v.Lost, len(v.Faults))
	}
}
