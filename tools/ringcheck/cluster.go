package main

import (
	"cmp"
	"slices"
)

// Leader is what some node said: who leads in an epoch.
type Leader struct{ Epoch, Node int32 }

// Mark is an answer of a leader, in an epoch, to up to which offset records are safe.
type Mark struct {
	Begin, End  int64 // ns
	High        int64
	Epoch, Node int32
}

// Replica is what one node's files have of a partition in the end.
type Replica struct {
	Node int32
	End  int64
	Sum  string // of all its batches
}

// Fault is one that the run injected. One that did not bite leaves nothing to judge.
type Fault struct {
	Kind string
	Bit  bool
}

// checkLeaders is I8: whoever tells of an epoch, and whoever answers in it, is one and the same.
func (c *checker) checkLeaders() {
	leaders := map[int32]int32{}
	note := func(epoch, node int32, how string) {
		if known, ok := leaders[epoch]; ok && known != node {
			c.report("I8", "epoch %d has two leaders: %d, and %d %s", epoch, known, node, how)
			return
		}
		leaders[epoch] = node
	}
	for _, l := range c.Leaders {
		note(l.Epoch, l.Node, "by another node's metadata")
	}
	for _, m := range c.Marks {
		note(m.Epoch, m.Node, "which answered in it")
	}
}

// checkMarks is I7: swept by begin, no leader publishes less than one of its epoch or an older one had published before it was asked;
// and all that was published is there in the end. It leaves Marks sorted by begin.
func (c *checker) checkMarks() {
	c.verdict.Marks += len(c.Marks)
	byEnd := slices.SortedFunc(slices.Values(c.Marks), func(a, b Mark) int { return cmp.Compare(a.End, b.End) })
	slices.SortFunc(c.Marks, func(a, b Mark) int { return cmp.Compare(a.Begin, b.Begin) })
	highest, next := map[int32]Mark{}, 0 // by epoch, of what was answered so far
	for _, m := range c.Marks {
		for ; next < len(byEnd) && byEnd[next].End < m.Begin; next++ {
			if before := byEnd[next]; before.High >= highest[before.Epoch].High {
				highest[before.Epoch] = before
			}
		}
		for epoch, before := range highest {
			if epoch <= m.Epoch && before.High > m.High {
				c.report("I7", "node %d published high watermark %d in epoch %d at %d; node %d had published %d in epoch %d at %d",
					m.Node, m.High, m.Epoch, m.End, before.Node, before.High, before.Epoch, before.End)
			}
		}
		if c.hasFinal && m.High > c.Partition.End {
			c.report("I7", "node %d published high watermark %d in epoch %d; the log ends at %d", m.Node, m.High, m.Epoch, c.Partition.End)
		}
	}
}

// checkReplicas is I12: in the end all replicas have the same bytes, up to the end of the log.
func (c *checker) checkReplicas() {
	for _, r := range c.Replicas {
		first := c.Replicas[0]
		switch {
		case c.hasFinal && r.End != c.Partition.End:
			c.report("I12", "node %d has the log up to %d, it ends at %d", r.Node, r.End, c.Partition.End)
		case r.End != first.End || r.Sum != first.Sum:
			c.report("I12", "node %d has other bytes than node %d: %s up to %d, %s up to %d", r.Node, first.Node, r.Sum, r.End, first.Sum, first.End)
		}
	}
}
