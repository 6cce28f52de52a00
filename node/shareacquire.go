package node

import (
	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/wire"
)

// gather says what is to be read. If that is nothing it waits for all its partitions. What a member whose session is over acquired
// would be nobody's until the locks end.
func (f *shareFetch) gather() (reads []*shareRead) {
	s := f.service
	if f.final = f.final || f.session.Ended(); f.session.Ended() {
		return nil
	}
	for _, a := range f.parts {
		if a.part == nil {
			continue
		}
		if a.part.gone.Load() {
			if a.code = wire.UnknownTopicOrPartition; a.part.dir().offline.Load() {
				a.code = wire.KafkaStorageError
			}
			a.part = nil
			continue
		}
		if !a.part.leads.Load() {
			a.part, a.code, f.final = nil, wire.NotLeaderOrFollower, true
			continue
		}
		sp := s.partOf(share.Key{Group: f.key.Group, Topic: a.Topic, Partition: a.Partition}, a.part)
		if sp.machine == nil {
			continue
		}
		logStart, highWatermark, lastStable := partitionView{a.part}.Offsets()
		s.apply(sp, sp.machine.LogStartMoved(s.node.nowMS(), logStart))
		bound := highWatermark
		if f.committed {
			bound = lastStable
		}
		if sp.held > 0 && s.held > shareHeldMax { // the member asks again
			continue
		}
		from, ok := sp.machine.BeginFetch()
		switch {
		case !ok:
		case from >= bound:
			sp.machine.EndFetch()
			s.watch(sp, highWatermark)
		default:
			reads = append(reads, &shareRead{part: sp, from: from, committed: f.committed})
		}
	}
	if len(reads) == 0 && !f.final {
		f.join(false)
	}
	return reads
}

// join puts the fetch at the end of the line of each of its partitions. A patient one has seen what there is, and it was too
// little: it waits for more.
func (f *shareFetch) join(patient bool) {
	for _, a := range f.parts {
		key := share.Key{Group: f.key.Group, Topic: a.Topic, Partition: a.Partition}
		if sp := f.service.parts[key]; a.part != nil && sp != nil {
			if patient {
				sp.patient = append(sp.patient, f)
			} else {
				sp.waiters = append(sp.waiters, f)
			}
			f.lines = append(f.lines, sp)
		}
	}
}

// read reads what was gathered, each partition's even share of the bytes. The first batch of all is read however long it is.
func (f *shareFetch) read(reads []*shareRead) {
	left := f.maxRecords
	whole := true
	for _, r := range reads {
		if left <= 0 {
			return
		}
		r.maxBytes, r.maxRecords, r.whole = f.maxBytes/len(reads), left, whole
		r.run(f.service.node)
		f.owe(r)
		if n := len(r.batches); n > 0 {
			left -= int64(r.batches[n-1].Last - max(r.from, r.batches[0].Base) + 1)
			whole = false
		}
	}
}

// owe counts what a first batch has more than was borrowed: nobody waits for that, but those who come after.
func (f *shareFetch) owe(r *shareRead) {
	if over := len(r.records) - f.borrowed; over > 0 {
		f.service.reads.add(over)
		f.borrowed += over
	}
}

// acquire gives the member what was read. done says that it is an answer, again that there may be more to read now.
func (f *shareFetch) acquire(reads []*shareRead) (done, again bool) {
	f.final = f.final || f.session.Ended()
	enough := (f.final || f.bytesOf(reads) >= f.minBytes) && !f.session.Ended()
	left := f.maxRecords
	for _, r := range reads {
		a := f.answerOf(r.part.key)
		switch {
		case r.part.dropped: // by a deletion, or because its state is another's
			again = again || !f.final
			continue
		case r.code != wire.None:
			a.code, done = r.code, true
		case enough && len(r.batches) > 0 && left > 0:
			left -= f.acquirePart(a, r, left)
			done = done || len(a.acquired) > 0
		}
		r.part.machine.EndFetch()
		again = f.service.cover(r, enough) || again
	}
	if done || again {
		return done, again && !done
	}
	if !f.final {
		f.join(!enough)
	}
	return false, false
}

func (f *shareFetch) bytesOf(reads []*shareRead) (bytes int) {
	for _, r := range reads {
		bytes += len(r.records)
	}
	return bytes
}

func (f *shareFetch) answerOf(key share.Key) *shareAnswer {
	if a := f.answers[share.TopicIDPartition{Topic: key.Topic, Partition: key.Partition}]; a != nil {
		return a
	}
	panic("BUG: a share fetch was not asked for a partition that it has to do with: " + key.String())
}

// acquirePart acquires records of one partition and says how many.
func (f *shareFetch) acquirePart(a *shareAnswer, r *shareRead, left int64) (taken int64) {
	fx := r.part.machine.Acquire(f.service.node.nowMS(), share.Acquisition{
		Member: f.member, LockMS: f.lockMS, From: r.from, Batches: r.batches, MaxRecords: left, BatchSize: f.batchSize,
	})
	f.service.apply(r.part, fx)
	if len(fx.Acquired) == 0 {
		return 0
	}
	a.acquired, a.records = fx.Acquired, r.slice(fx.Acquired)
	for _, rng := range fx.Acquired {
		taken += int64(rng.Last - rng.First + 1)
	}
	return taken
}

// cover sees to it that whoever waits for a share partition that was read hears of more: at once if there is something to
// read other than what was, else when the high watermark moves. again says that the reader itself may look once more.
func (s *shareService) cover(r *shareRead, enough bool) (again bool) {
	sp := r.part
	if sp.dropped {
		return false
	}
	from, ok := sp.machine.BeginFetch()
	if !ok { // until a lock ends, or an acknowledgement makes room
		return false
	}
	sp.machine.EndFetch()
	_, highWatermark, lastStable := partitionView{sp.part}.Offsets()
	if r.committed {
		highWatermark = min(highWatermark, lastStable)
	}
	more := from < highWatermark && (from != r.from || highWatermark > r.seen)
	if more || !enough { // what was too little for one may do for another
		s.wake(sp)
	}
	if more && enough {
		return true
	}
	s.watch(sp, r.seen)
	return false
}
