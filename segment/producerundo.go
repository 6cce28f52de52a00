package segment

import "github.com/ringmill/ringmill/wire"

// producerStepsMax is how many batches of producers a replica can take back without reading the log: more than what is usually on its
// way to the other replicas. They take 200 bytes each.
const producerStepsMax = 256

// producerStep is what a batch has changed in the table of producers.
type producerStep struct {
	last wire.Offset // of the batch
	undo producerUndo
}

// producerSteps are the newest changes of a replica's table of producers, oldest first: a truncation takes them back. A log without
// other replicas is never truncated, and keeps none.
type producerSteps struct {
	list []producerStep
	from wire.Offset // batches that end at or above it are in the list, if they have a producer
}

// push notes a change; the oldest one goes if there are too many.
func (s *producerSteps) push(last wire.Offset, u *producerUndo) {
	if len(s.list) == producerStepsMax {
		s.drop(producerStepsMax / 4)
	}
	s.list = append(s.list, producerStep{last: last, undo: *u})
}

// drop forgets the oldest n.
func (s *producerSteps) drop(n int) {
	if n == 0 {
		return
	}
	s.from = s.list[n-1].last + 1
	s.list = s.list[:copy(s.list, s.list[n:])]
}

// pop forgets the change of the newest batch, which ends at last: it was undone.
func (s *producerSteps) pop(last wire.Offset) {
	if n := len(s.list); n > 0 && s.list[n-1].last == last {
		s.list = s.list[:n-1]
	}
}

// release forgets changes of batches that are replicated; memory that an idle replica does not need goes with the last of them.
func (s *producerSteps) release(below wire.Offset) {
	n := 0
	for n < len(s.list) && s.list[n].last < below {
		n++
	}
	s.drop(n)
}

// takeBack undoes what batches that reach an offset have changed.
func (s *producerSteps) takeBack(t *ProducerStateTable, from wire.Offset) {
	for n := len(s.list); n > 0 && s.list[n-1].last >= from; n-- {
		t.undo(&s.list[n-1].undo)
		s.list = s.list[:n-1]
	}
}

// SetReplicated says whether other replicas have the log too. Then it keeps in memory what the newest batches have changed, so that
// taking them back (PlanTruncate) does not mean to read the log, and what it lacks of the journal's batches is no error (Replay).
func (l *Log) SetReplicated(on bool) {
	if on != l.replicated {
		l.replicated, l.steps = on, producerSteps{from: l.LogEndOffset()}
	}
}
