package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Violation is one broken invariant with its shortest witness.
type Violation struct {
	Invariant string `json:"invariant"`
	Partition string `json:"partition"`
	Witness   string `json:"witness"`
}

// witnessesMax bounds what one broken invariant prints a partition: the first few tell the story.
const witnessesMax = 5

// Verdict is the judgement over a history.
type Verdict struct {
	Acked      int         `json:"acked"`   // sends with outcome ok
	Unknown    int         `json:"unknown"` // with outcome info
	Failed     int         `json:"failed"`
	Records    int         `json:"records"` // in the final logs
	Retried    int         `json:"retried"` // duplicates of producers that are not idempotent: counted, no violation
	Partitions int         `json:"partitions"`
	Marks      int         `json:"marks"`  // answers of leaders to who they are and what is safe
	Faults     int         `json:"faults"` // that the run injected
	Idle       []string    `json:"idle"`   // faults that changed nothing, and what could not be judged in time
	Admin      int         `json:"admin"`  // operations on the metadata
	Violations []Violation `json:"violations"`
	Dropped    int         `json:"dropped"` // violations beyond witnessesMax
}

// Check judges every partition of a history. It consumes the history: sends and records are sorted in place.
func Check(h *History) Verdict {
	v := Verdict{Faults: len(h.Faults)}
	for _, p := range h.Partitions() {
		c := checker{Partition: p, verdict: &v, count: map[string]int{}}
		c.checkLeaders()
		c.checkMarks()
		c.checkReplicas()
		c.check()
	}
	for _, f := range h.Faults {
		if !f.Bit {
			v.Idle = append(v.Idle, "a fault did not bite: "+f.Kind)
		}
	}
	h.checkAdmin(&v)
	return v
}

// checker judges one partition.
type checker struct {
	*Partition
	verdict *Verdict
	count   map[string]int
}

func (c *checker) report(invariant, format string, args ...any) {
	if c.count[invariant]++; c.count[invariant] > witnessesMax {
		c.verdict.Dropped++
		return
	}
	c.verdict.Violations = append(c.verdict.Violations,
		Violation{Invariant: invariant, Partition: c.Name, Witness: fmt.Sprintf(format, args...)})
}

func (c *checker) check() {
	c.tally()
	if !c.hasFinal {
		if len(c.Sends) > 0 {
			c.report("I1", "no final log was read, %d sends can't be found in it", len(c.Sends))
		}
		return
	}
	c.checkFinalShape() // first: the others search Final by offset
	c.checkPlaceless()
	c.checkAcknowledged()
	c.checkTwice()
	c.checkFailed()
	c.checkOrder()
	c.checkPolls()
	c.checkSendTimes()
	c.checkPollTimes()
}

func (c *checker) tally() {
	c.verdict.Partitions++
	c.verdict.Records += len(c.Final)
	for _, s := range c.Sends {
		switch s.Outcome {
		case OK:
			c.verdict.Acked++
		case Info:
			c.verdict.Unknown++
		case Fail:
			c.verdict.Failed++
		}
	}
}

// checkFinalShape is G: every offset from Start to End once, in order. It leaves Final sorted by offset.
func (c *checker) checkFinalShape() {
	next := c.Start
	for _, r := range c.Final {
		switch {
		case r.Offset > next:
			c.report("G", "offsets %d to %d are missing: the log was read from %d to %d", next, r.Offset-1, c.Start, c.End)
		case r.Offset < next:
			c.report("G", "offset %d was read after offset %d", r.Offset, next-1)
		}
		next = r.Offset + 1
	}
	if next < c.End {
		c.report("G", "offsets %d to %d are missing at the end", next, c.End-1)
	}
	slices.SortStableFunc(c.Final, func(a, b Record) int { return cmp.Compare(a.Offset, b.Offset) })
}

// at finds the final record at an offset.
func (c *checker) at(offset int64) (Record, bool) {
	i := sort.Search(len(c.Final), func(i int) bool { return c.Final[i].Offset >= offset })
	if i == len(c.Final) || c.Final[i].Offset != offset {
		return Record{}, false
	}
	return c.Final[i], true
}

// checkPlaceless is I1 for records that were acknowledged without an offset. Each gets the offset at which it is, so that the rest is judged as
// of the others; what is not there is judged no further, and proves nothing if some of the log was removed by retention.
func (c *checker) checkPlaceless() {
	if !slices.ContainsFunc(c.Sends, placeless) {
		return
	}
	type name struct{ process, counter uint32 }
	places := make(map[name]int64, len(c.Final))
	for _, r := range c.Final {
		places[name{r.Process, r.Counter}] = r.Offset
	}
	for i, s := range c.Sends {
		if !placeless(s) {
			continue
		}
		place, ok := places[name{s.Process, s.Counter}]
		if c.Sends[i].Offset = place; ok {
			continue
		}
		c.Sends[i].Outcome = Info
		if c.Start == 0 {
			c.report("I1", "record %d/%d was acknowledged without an offset (t1 %d) and is nowhere", s.Process, s.Counter, s.End)
		}
	}
}

// placeless tells of a record that was acknowledged without an offset.
func placeless(s Send) bool { return s.Outcome == OK && s.Offset < 0 }

// checkAcknowledged is I1. Offsets below Start were removed by retention and prove nothing.
func (c *checker) checkAcknowledged() {
	for _, s := range c.Sends {
		if s.Outcome != OK || s.Offset < c.Start {
			continue
		}
		r, ok := c.at(s.Offset)
		switch {
		case !ok:
			c.report("I1", "record %d/%d was acknowledged at offset %d (t1 %d); the log ends at %d and has nothing there",
				s.Process, s.Counter, s.Offset, s.End, c.End)
		case r.Process != s.Process || r.Counter != s.Counter:
			c.report("I1", "record %d/%d was acknowledged at offset %d, which holds %d/%d",
				s.Process, s.Counter, s.Offset, r.Process, r.Counter)
		}
	}
}

// checkTwice is I2.
func (c *checker) checkTwice() {
	idempotent, present := senders{}, senders{}
	for _, s := range c.Sends {
		if s.Idempotent {
			idempotent.add(s.Process, s.Counter)
		}
	}
	for _, r := range c.Final {
		if !present.has(r.Process, r.Counter) {
			present.add(r.Process, r.Counter)
			continue
		}
		if idempotent.has(r.Process, r.Counter) {
			c.report("I2", "record %d/%d is there again at offset %d", r.Process, r.Counter, r.Offset)
			continue
		}
		c.verdict.Retried++
	}
}

// checkFailed is I3, and that nobody's record is there.
func (c *checker) checkFailed() {
	failed, sent := senders{}, senders{}
	for _, s := range c.Sends {
		sent.add(s.Process, s.Counter)
		if s.Outcome == Fail {
			failed.add(s.Process, s.Counter)
		}
	}
	for _, r := range c.Final {
		if failed.has(r.Process, r.Counter) {
			c.report("I3", "record %d/%d at offset %d was refused when it was sent", r.Process, r.Counter, r.Offset)
		}
		if !sent.has(r.Process, r.Counter) {
			c.report("I3", "record %d/%d at offset %d was never sent", r.Process, r.Counter, r.Offset)
		}
	}
}

// checkOrder is I4.
func (c *checker) checkOrder() {
	idempotent := map[uint32]bool{}
	for _, s := range c.Sends {
		idempotent[s.Process] = idempotent[s.Process] || s.Idempotent
	}
	last := map[uint32]Record{}
	for _, r := range c.Final {
		if before, ok := last[r.Process]; ok && idempotent[r.Process] && r.Counter < before.Counter {
			c.report("I4", "record %d/%d at offset %d follows %d/%d at offset %d",
				r.Process, r.Counter, r.Offset, before.Process, before.Counter, before.Offset)
		}
		last[r.Process] = r
	}
}

// checkPolls is I5: what was read once at an offset is there for good.
func (c *checker) checkPolls() {
	for _, r := range c.polled {
		if r.Offset < c.Start {
			continue
		}
		final, ok := c.at(r.Offset)
		switch {
		case !ok:
			c.report("I5", "offset %d was read as %d/%d and is not in the log any more", r.Offset, r.Process, r.Counter)
		case final != r:
			c.report("I5", "offset %d was read as %d/%d and later as %d/%d", r.Offset, r.Process, r.Counter, final.Process, final.Counter)
		}
	}
}

// checkSendTimes is I6 for sends: swept by begin, each offset is above all that were acknowledged before it began. It leaves
// Sends sorted by begin; the other order is an index, for the sends are most of the memory.
func (c *checker) checkSendTimes() {
	slices.SortFunc(c.Sends, func(a, b Send) int { return cmp.Compare(a.Begin, b.Begin) })
	byEnd := make([]int32, 0, len(c.Sends))
	for i, s := range c.Sends {
		if s.Outcome == OK {
			byEnd = append(byEnd, int32(i))
		}
	}
	slices.SortFunc(byEnd, func(a, b int32) int { return cmp.Compare(c.Sends[a].End, c.Sends[b].End) })
	highest, next := Send{Offset: -1}, 0
	for _, s := range c.Sends {
		if s.Outcome != OK {
			continue
		}
		for ; next < len(byEnd) && c.Sends[byEnd[next]].End < s.Begin; next++ {
			if acked := c.Sends[byEnd[next]]; acked.Offset > highest.Offset {
				highest = acked
			}
		}
		if s.Offset <= highest.Offset {
			c.report("I6", "record %d/%d began at %d and got offset %d, after %d/%d was acknowledged at %d with offset %d",
				s.Process, s.Counter, s.Begin, s.Offset, highest.Process, highest.Counter, highest.End, highest.Offset)
		}
	}
}

// checkPollTimes is I6 for polls: within what a poll covers there is no hole where a record had been acknowledged before.
func (c *checker) checkPollTimes() {
	acked := make(map[int64]int64, 0) // offset → end, only offsets that a poll skipped
	for _, poll := range c.Polls {
		for _, offset := range skipped(poll.From, c.polledBy(poll)) {
			acked[offset] = -1
		}
	}
	if len(acked) == 0 {
		return
	}
	for _, s := range c.Sends {
		if _, ok := acked[s.Offset]; ok && s.Outcome == OK {
			acked[s.Offset] = s.End
		}
	}
	for _, poll := range c.Polls {
		for _, offset := range skipped(poll.From, c.polledBy(poll)) {
			if end := acked[offset]; end >= 0 && end < poll.Begin {
				c.report("I6", "a poll from %d that began at %d left out offset %d, acknowledged at %d", poll.From, poll.Begin, offset, end)
			}
		}
	}
}

// skipped are the offsets between where a poll began and its last record that it did not return, the first few.
func skipped(from int64, records []Record) (offsets []int64) {
	next := from
	for _, r := range records {
		for ; next < r.Offset && len(offsets) < witnessesMax; next++ {
			offsets = append(offsets, next)
		}
		next = r.Offset + 1
	}
	return offsets
}
