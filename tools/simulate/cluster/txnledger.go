package cluster

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// txnLedger is what became of a run's transactions, as their producers know it.
type txnLedger struct {
	cluster  *Cluster
	attempts []*attempt
	byValue  map[value]*attempt
	made     map[value]value // of loops: from what they read
}

// attempt is one transaction of an instance.
type attempt struct {
	ledger     *txnLedger
	number     int
	name       string // for reports
	values     []value
	refused    map[value]bool // what was definitely not taken
	commitSent bool           // once it was, the outcome is the coordinator's
	outcome    txnOutcome
}

// txnOutcome is what the producer was told of its transaction's end.
type txnOutcome uint8

const (
	txnUnknown txnOutcome = iota
	txnCommitted
	txnAborted
)

func newTxnLedger(c *Cluster) *txnLedger {
	return &txnLedger{cluster: c, byValue: map[value]*attempt{}, made: map[value]value{}}
}

func (l *txnLedger) begin(in *instance) *attempt {
	a := &attempt{ledger: l, number: len(l.attempts), refused: map[value]bool{}}
	a.name = fmt.Sprintf("transaction %d (%s, producer %d epoch %d)", a.number, in.process.Name(), in.producerID, in.epoch)
	l.attempts = append(l.attempts, a)
	l.cluster.world.Tracef("begin     %s", a.name)
	return a
}

func (a *attempt) send(values []value) {
	a.values = append(a.values, values...)
	for _, v := range values {
		a.ledger.byValue[v] = a
	}
}

func (a *attempt) refuse(values []value) {
	for _, v := range values {
		a.refused[v] = true
	}
}

// ended notes what the producer was told.
func (a *attempt) ended(commit bool) {
	if a.outcome = txnAborted; commit {
		a.outcome = txnCommitted
		a.ledger.cluster.stats.transactions++
	}
}

// visible judges what a read_committed consumer sees (I3).
func (l *txnLedger) visible(who string, partition int, off wire.Offset, v value) {
	a := l.byValue[v]
	fail := func(why string) {
		l.cluster.ledgers[partition].fail("I3", "%s sees %v at offset %d, of %s, which %s", who, v, off, a.name, why)
	}
	switch {
	case a == nil: // a producer without transactions
	case !a.commitSent:
		fail("was never to be committed")
	case a.outcome == txnAborted:
		fail("was aborted")
	case a.refused[v]:
		fail("was refused this record")
	}
}

// judge holds I11 and I3 of what is left: a transaction is there as a whole or not at all. visible is what committed readers of all
// partitions see in the end, written what any log has.
func (l *txnLedger) judge(visible, written map[value]bool) {
	for _, a := range l.attempts {
		seen := 0
		for _, v := range a.values {
			if visible[v] {
				seen++
			}
			if written[v] && a.refused[v] {
				l.cluster.world.Fail("I3", "%v of %s is in a log, and was refused", v, a.name)
			}
		}
		switch {
		case a.outcome == txnCommitted && seen < len(a.values):
			l.cluster.world.Fail("I11", "%s was committed, and %d of its %d records are visible", a.name, seen, len(a.values))
		case seen > 0 && !a.commitSent:
			l.cluster.world.Fail("I3", "%s was never to be committed, and %d of its records are visible", a.name, seen)
		case seen > 0 && seen < len(a.values):
			l.cluster.world.Fail("I11", "%d of %d records of %s are visible", seen, len(a.values), a.name)
		}
	}
}

// judgeLoops holds I11 of loops: of each record that a producer without transactions has written there is, once all has been read, one
// visible record that was made of it by each group of loops.
func (l *txnLedger) judgeLoops(visible map[value]bool) {
	for _, g := range l.cluster.groups {
		if !g.loops {
			continue
		}
		madeOf := map[value]value{}
		for _, a := range l.attempts {
			for _, v := range a.values {
				input, made := l.made[v]
				if !made || !visible[v] {
					continue
				}
				if other, twice := madeOf[input]; twice {
					g.fail("I11", "%v and %v are both made of %v, the latter by %s", other, v, input, a.name)
				}
				madeOf[input] = v
			}
		}
		for i := range l.cluster.opt.Partitions {
			for off, e := range l.cluster.ledgers[i].committed {
				if e.value == 0 || e.value.producer() >= looseProducers {
					continue
				}
				if _, made := madeOf[e.value]; !made {
					g.fail("I11", "nothing is made of %v at offset %d of partition %d, committed is %d", e.value, off, i, g.least[i])
				}
			}
		}
	}
}
