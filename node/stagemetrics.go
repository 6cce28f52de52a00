package node

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// stageScrapes brings the loops' histograms to whoever wants to see them: each loop is asked for a copy.
type stageScrapes struct {
	mu sync.Mutex
	// loops are those that run, last the newest copies of them, by loop.
	loops []*Loop
	last  []*stageTimes
}

// scrapePatience is how long a loop may take to copy its histograms before the copy that it made last is shown once more.
const scrapePatience = time.Second

// begin says that the loops run, end that they are about to stop; it waits for who asks them.
func (s *stageScrapes) begin(loops []*Loop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loops, s.last = loops, make([]*stageTimes, len(loops))
}

func (s *stageScrapes) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loops = nil
}

// collect adds up the histograms of all loops.
func (s *stageScrapes) collect() *stageTimes {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := make([]<-chan *stageTimes, len(s.loops))
	for i, l := range s.loops {
		answers[i] = l.copyStages()
	}
	patience, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	for i, l := range s.loops {
		select {
		case s.last[i] = <-answers[i]:
		case <-l.stopped:
		case <-patience.Done():
		}
	}
	sum := newStageTimes()
	for _, t := range s.last {
		if t != nil {
			sum.add(t)
		}
	}
	return sum
}

// copyStages asks a running loop for a copy of its histograms. A loop whose mailbox is full is not waited for.
func (l *Loop) copyStages() <-chan *stageTimes {
	answer := make(chan *stageTimes, 1)
	_, wasEmpty := l.mailbox.put(messageFunc(func(l *Loop) {
		t := newStageTimes()
		t.add(l.stages)
		answer <- t
	}))
	if wasEmpty {
		l.engine.Wake()
	}
	return answer
}

// write writes the histograms in Prometheus' text format.
func (s *stageScrapes) write(w io.Writer) {
	t := s.collect()
	out := bufio.NewWriter(w)
	defer out.Flush()
	fmt.Fprint(out, "# HELP ringmill_request_stage_seconds how long requests spend in each stage of their way through the node\n# TYPE ringmill_request_stage_seconds histogram\n")
	for r, row := range t.rows {
		if row == nil {
			continue
		}
		r := stageRow(r)
		for i := range row {
			if s := stage(i); r.stages()&(1<<s) != 0 {
				row[s].write(out, "ringmill_request_stage_seconds", fmt.Sprintf("api=%q,stage=%q", r.name(), stageNames[s]))
			}
		}
	}
	fmt.Fprint(out, "# HELP ringmill_sync_round_seconds how long rounds of syncs take\n# TYPE ringmill_sync_round_seconds histogram\n")
	t.syncRounds.write(out, "ringmill_sync_round_seconds", "")
}

// write writes one histogram with its labels, of which there may be none.
func (h *stageHistogram) write(w *bufio.Writer, name, labels string) {
	comma, braced := ",", "{"+labels+"}"
	if labels == "" {
		comma, braced = "", ""
	}
	count := uint64(0)
	for i, n := range h.buckets {
		count += n
		le := "+Inf"
		if i < len(stageBounds) {
			le = strconv.FormatFloat(stageBounds[i].Seconds(), 'g', -1, 64)
		}
		fmt.Fprintf(w, "%s_bucket{%s%sle=%q} %d\n", name, labels, comma, le, count)
	}
	fmt.Fprintf(w, "%s_sum%s %s\n%s_count%s %d\n", name, braced, strconv.FormatFloat(h.sum.Seconds(), 'g', -1, 64), name, braced, count)
}
