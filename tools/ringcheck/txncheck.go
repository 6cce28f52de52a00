package main

import "fmt"

// TxnVerdict is the judgement over a transactional history.
type TxnVerdict struct {
	Committed  int         `json:"committed"` // transactions
	Aborted    int         `json:"aborted"`
	InDoubt    int         `json:"in_doubt"`
	Appeared   int         `json:"appeared"` // those in doubt that turned out to be committed
	Records    int         `json:"records"`  // in the final logs
	Read       int         `json:"read"`     // by all readers
	Processes  int         `json:"processes"`
	Partitions int         `json:"partitions"`
	Sources    int         `json:"sources"` // records that a loop has made others from
	Violations []Violation `json:"violations"`
	Dropped    int         `json:"dropped"` // violations beyond witnessesMax
}

// place is where a record is in the final logs.
type place struct {
	partition string
	offset    int64
}

// origin is the transaction and the plan that a record comes from.
type origin struct {
	transaction *Transaction
	planned     *Planned
}

// txnChecker judges one history.
type txnChecker struct {
	*TxnHistory
	verdict TxnVerdict
	count   map[string]int
	planned map[recordID]origin
	final   map[recordID]place
}

// CheckTxn judges every transaction, reader and loop of a history.
func CheckTxn(h *TxnHistory) TxnVerdict {
	c := txnChecker{TxnHistory: h, count: map[string]int{}, planned: map[recordID]origin{}, final: map[recordID]place{}}
	c.gatherPlans()
	for _, name := range h.names {
		c.checkLog(h.logs[name])
	}
	for _, p := range h.order {
		for _, t := range p.Transactions {
			c.checkTransaction(t)
		}
	}
	c.checkFencing()
	for _, key := range h.groupsIn {
		c.checkLoop(h.groups[key])
	}
	c.verdict.Processes, c.verdict.Partitions = len(h.order), len(h.names)
	return c.verdict
}

func (c *txnChecker) report(invariant, partition, format string, args ...any) {
	key := invariant + partition
	if c.count[key]++; c.count[key] > witnessesMax {
		c.verdict.Dropped++
		return
	}
	c.verdict.Violations = append(c.verdict.Violations, Violation{Invariant: invariant, Partition: partition, Witness: fmt.Sprintf(format, args...)})
}

func (c *txnChecker) gatherPlans() {
	for _, p := range c.order {
		for _, t := range p.Transactions {
			for i := range t.Records {
				c.planned[recordID{t.Process, t.Records[i].Counter}] = origin{t, &t.Records[i]}
			}
		}
	}
}

// checkLog judges one partition's final log and what readers saw of it on the way.
func (c *txnChecker) checkLog(p *TxnLog) {
	if !p.hasFinal {
		c.report("T1", p.Name, "no final log was read")
		return
	}
	if p.Stable != p.End {
		c.report("T10", p.Name, "the last stable offset is %d and the log ends at %d: a transaction was never decided", p.Stable, p.End)
	}
	c.verdict.Records += len(p.Final)
	c.checkFinal(p)
	for _, reader := range p.readers {
		c.checkReader(p, reader)
	}
}

// checkFinal is T2, T4, T5 and T9 in the final log; it notes where each record is.
func (c *txnChecker) checkFinal(p *TxnLog) {
	last := map[uint32]Record{}
	for i, r := range p.Final {
		id := recordID{r.Process, r.Counter}
		if i > 0 && r.Offset <= p.Final[i-1].Offset {
			c.report("T7", p.Name, "offset %d was read after offset %d", r.Offset, p.Final[i-1].Offset)
		}
		c.checkVisible(p, r, "the final log")
		if before, ok := c.final[id]; ok {
			c.report("T4", p.Name, "record %v at offset %d is also in %s at offset %d", id, r.Offset, before.partition, before.offset)
		}
		c.final[id] = place{p.Name, r.Offset}
		if before, ok := last[r.Process]; ok && before.Counter > r.Counter {
			c.report("T5", p.Name, "record %v at offset %d follows %d/%d at offset %d", id, r.Offset, before.Process, before.Counter, before.Offset)
		}
		last[r.Process] = r
	}
}

// checkVisible is T2 and T9: somebody with isolation read_committed saw r.
func (c *txnChecker) checkVisible(p *TxnLog, r Record, who string) {
	id := recordID{r.Process, r.Counter}
	from, ok := c.planned[id]
	switch {
	case !ok:
		c.report("T9", p.Name, "record %v at offset %d in %s was never sent", id, r.Offset, who)
	case from.planned.Partition != p.Name:
		c.report("T9", p.Name, "record %v at offset %d in %s was sent to %s", id, r.Offset, who, from.planned.Partition)
	case from.transaction.Ending == Aborted:
		c.report("T2", p.Name, "record %v at offset %d in %s is of the aborted transaction %d", id, r.Offset, who, from.transaction.Number)
	}
}

// checkReader is T2, T6 and T7 over all that one reader saw of a partition: a gapless beginning of the final log.
func (c *txnChecker) checkReader(p *TxnLog, reader uint32) {
	who := fmt.Sprintf("reader %d", reader)
	position, stable, seen := int64(-1), int64(-1), 0
	for _, read := range p.reads[reader] {
		if read.Stable >= 0 && read.Stable < stable {
			c.report("T7", p.Name, "%s was told the last stable offset %d after %d", who, read.Stable, stable)
		}
		if read.Stable > read.HighWatermark {
			c.report("T7", p.Name, "%s was told the last stable offset %d over the high watermark %d", who, read.Stable, read.HighWatermark)
		}
		stable = max(stable, read.Stable)
		for _, r := range read.Records {
			c.verdict.Read++
			c.checkVisible(p, r, who)
			if r.Offset <= position {
				c.report("T7", p.Name, "%s read offset %d after offset %d", who, r.Offset, position)
			}
			if read.Stable >= 0 && r.Offset >= read.Stable {
				c.report("T7", p.Name, "%s read offset %d at the last stable offset %d", who, r.Offset, read.Stable)
			}
			c.checkNextRead(p, who, r, seen)
			position, seen = max(position, r.Offset), seen+1
		}
	}
}

// checkNextRead is T6: the reader's n-th record is the final log's n-th.
func (c *txnChecker) checkNextRead(p *TxnLog, who string, r Record, n int) {
	if n >= len(p.Final) {
		c.report("T6", p.Name, "%s read %d/%d at offset %d; the final log has only %d records", who, r.Process, r.Counter, r.Offset, len(p.Final))
		return
	}
	if want := p.Final[n]; want != r {
		c.report("T6", p.Name, "%s read %d/%d at offset %d as its record %d, which in the final log is %d/%d at offset %d",
			who, r.Process, r.Counter, r.Offset, n, want.Process, want.Counter, want.Offset)
	}
}

// checkTransaction is T1 and T3.
func (c *txnChecker) checkTransaction(t *Transaction) {
	var there, missing []*Planned
	for i := range t.Records {
		r := &t.Records[i]
		if at, ok := c.final[recordID{t.Process, r.Counter}]; ok {
			there = append(there, r)
			if r.Offset >= 0 && at.offset != r.Offset && t.Ending != Aborted {
				c.report("T1", r.Partition, "record %d/%d was acknowledged at offset %d and is at %d", t.Process, r.Counter, r.Offset, at.offset)
			}
		} else {
			missing = append(missing, r)
		}
	}
	switch t.Ending {
	case Committed:
		c.verdict.Committed++
		for _, r := range missing {
			c.report("T1", r.Partition, "record %d/%d (acknowledged at offset %d) of the committed transaction %d is missing", t.Process, r.Counter, r.Offset, t.Number)
		}
	case Aborted:
		c.verdict.Aborted++ // T2 has looked
	case InDoubt:
		c.verdict.InDoubt++
		if len(there) > 0 {
			c.verdict.Appeared++
		}
		if len(there) > 0 && len(missing) > 0 {
			c.report("T3", missing[0].Partition, "transaction %d of process %d is half there: %d/%d is at %v, %d/%d is not",
				t.Number, t.Process, t.Process, there[0].Counter, c.final[recordID{t.Process, there[0].Counter}], t.Process, missing[0].Counter)
		}
	}
}

// checkFencing is T8: a transaction that began after another process had taken the transactional id over is not committed.
func (c *txnChecker) checkFencing() {
	byID := map[string][]*Process{}
	for _, p := range c.order {
		byID[p.TransactionalID] = append(byID[p.TransactionalID], p)
	}
	for _, p := range c.order {
		for _, t := range p.Transactions {
			if t.Ending == Committed {
				c.checkFenced(p, t, byID[p.TransactionalID])
			}
		}
	}
}

func (c *txnChecker) checkFenced(p *Process, t *Transaction, owners []*Process) {
	for _, o := range owners {
		for _, over := range o.Takeovers {
			if o != p && over.Asked > t.Owned && over.Known < t.Begin {
				c.report("T8", p.TransactionalID, "transaction %d of process %d began at %d and was committed; process %d had the id since %d",
					t.Number, p.Number, t.Begin, o.Number, over.Known)
				return
			}
		}
	}
}

// checkLoop is L1 to L4 for one source partition of a consume-transform-produce group.
func (c *txnChecker) checkLoop(g *groupOffsets) {
	for i := 1; i < len(g.offsets); i++ {
		if g.offsets[i] < g.offsets[i-1] {
			c.report("L2", g.source, "group %s had committed %d, then %d", g.group, g.offsets[i-1], g.offsets[i])
		}
	}
	committed := g.offsets[len(g.offsets)-1]
	made := c.madeFrom(g)
	for _, r := range c.log(g.source).Final {
		if r.Offset < committed && made[r.Offset] == 0 {
			c.report("L1", g.source, "offset %d is below the committed offset %d of group %s and nothing was made from it", r.Offset, committed, g.group)
		}
		delete(made, r.Offset)
	}
	for offset := range made {
		c.report("L3", g.source, "a record was made from offset %d, which holds no committed record", offset)
	}
}

// madeFrom counts the visible records that a group made from each offset of its source, and judges L1, L3 and L4 on the way.
func (c *txnChecker) madeFrom(g *groupOffsets) map[int64]int {
	committed := g.offsets[len(g.offsets)-1]
	made := map[int64]int{}
	for _, name := range c.names {
		last := int64(-1)
		for _, r := range c.logs[name].Final {
			from := c.planned[recordID{r.Process, r.Counter}]
			if from.planned == nil || from.planned.Source != g.source || from.transaction.Group != g.group {
				continue
			}
			offset := from.planned.SourceOffset
			c.verdict.Sources++
			if made[offset]++; made[offset] > 1 {
				c.report("L3", name, "offset %d holds another record made from %s offset %d", r.Offset, g.source, offset)
			}
			if offset >= committed {
				c.report("L1", name, "offset %d was made from %s offset %d; group %s has committed %d only", r.Offset, g.source, offset, g.group, committed)
			}
			if offset < last {
				c.report("L4", name, "offset %d was made from %s offset %d, after one made from %d", r.Offset, g.source, offset, last)
			}
			last = max(last, offset)
		}
	}
	return made
}
