package node

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// syncer makes a loop's appends durable under the flush policy commit: group commit, one round in flight. A round
// covers everything that was written before it began, for all the loop's partitions:
//
//	turn's runs ─┬─ small: once more into the journal ─▶ one fdatasync of the journal  ─┬─▶ Synced for each partition
//	             └─ large, or the journal is full: ────▶ fdatasync of the segment files ┘
//
// A round waits for both kinds before it reports anything: a journalled batch behind one that went to its segment
// alone is worth nothing without it.
type syncer struct {
	journal *segment.Journal
	file    segment.File
	// pending are partitions with bytes that no round covers yet; round those of the round in flight.
	pending []*partition
	round   []syncTarget
	// roundSpare is the last round's array, for reuse.
	roundSpare []syncTarget
	// calls are to be made after the next round, roundCalls after the one in flight.
	calls, roundCalls []func()
	// inFlight counts the syncs of the round that are out.
	inFlight int
	// covers is the journal's sequence number that the sync in flight reaches.
	covers uint64
	// journaled are the partitions with batches in the journal that no flush has put on disk; the next checkpoint's.
	journaled []*partition
	entries   []segment.JournalEntry
	checking  bool
	rounds    syncRounds
	// runMax is the largest run in bytes that is journalled (ringmill.journal.run.bytes.max), delay how long a round waits
	// for more after the first append that wants it (ringmill.flush.commit.delay.us).
	runMax int
	delay  time.Duration
	// wanted is when the first of pending wanted its round; delayed ends the wait; refused says that the journal had no
	// room meanwhile.
	wanted  time.Duration
	delayed timer
	refused bool
}

// syncTarget is what a round reports when it ends.
type syncTarget struct {
	p   *partition
	end wire.Offset
}

func newSyncer(cfg *config.Config) syncer {
	return syncer{
		runMax: cfg.JournalRunBytesMax, delay: time.Duration(cfg.FlushCommitDelayUS) * time.Microsecond,
		delayed: timer{fire: func(*Loop) {}}, // the turn that it makes begins the round
	}
}

// want asks that p be part of the next round.
func (s *syncer) want(l *Loop, p *partition) {
	if !p.syncing {
		if len(s.pending) == 0 {
			s.wanted = l.instant
		}
		p.syncing = true
		s.pending = append(s.pending, p)
	}
}

// journalRuns appends the turn's runs to the journal, those that are under the commit policy and not too large. The
// segments of the others are noted for a sync of their own.
func (s *syncer) journalRuns(l *Loop, runs []writtenRun) {
	s.entries = s.entries[:0]
	for i := range runs {
		r := &runs[i]
		if r.p.replica.Policy() != replicate.FlushCommit {
			continue
		}
		if !s.takes(r) {
			r.p.unjournaled = true
			continue
		}
		r.offered = true
		for j := range r.plans {
			s.entries = append(s.entries, segment.JournalBatch(r.p.id, r.p.index, r.plans[j].Bytes))
		}
	}
	done := s.writeEntries(l, s.entries)
	s.noteJournaled(runs, done)
	clear(s.entries)
}

// takes says whether a run may go to the journal. One that no track holds would keep out those behind it.
func (s *syncer) takes(r *writtenRun) bool {
	return r.bytes <= min(s.runMax, s.journal.EntryMax()) && !r.p.unjournaled && !r.p.syncingDirectly
}

// writeEntries writes as many entries as the journal takes and returns how many that were; none once the node ends, as
// what the journal has behind a failed write is unknown.
func (s *syncer) writeEntries(l *Loop, entries []segment.JournalEntry) int {
	if l.node.broken.Load() {
		return 0
	}
	done := 0
	for done < len(entries) {
		plan, n := s.journal.PlanAppend(entries[done:])
		if n == 0 {
			l.metrics.journalFull.Inc()
			s.refused = true
			break
		}
		l.vectors = append(l.vectors[:0], plan.Bufs...)
		if err := pwritevAll(s.file.Fd(), l.vectors, int64(plan.Position)); err != nil {
			l.node.fatal(&storageError{"write the journal", l.node.journalName(l.index), err})
			return done
		}
		s.journal.Written(plan)
		done += n
	}
	return done
}

// noteJournaled tells each run of the turn whether the journal has it; what it has not must be synced in its segment.
func (s *syncer) noteJournaled(runs []writtenRun, done int) {
	for i := range runs {
		r := &runs[i]
		if !r.offered {
			continue
		}
		if done -= len(r.plans); done < 0 {
			r.p.unjournaled = true
			continue
		}
		if !r.p.journaled {
			r.p.journaled = true
			s.journaled = append(s.journaled, r.p)
		}
	}
}

// start begins a round if none is in flight and somebody waits for one.
func (s *syncer) start(l *Loop) {
	if s.journal == nil { // a node of a cluster runs its loops before it has recovered its logs
		return
	}
	s.checkpoint(l)
	if s.inFlight > 0 || len(s.pending)+len(s.calls) == 0 || s.delays(l) {
		return
	}
	s.refused = false
	s.roundCalls, s.calls = s.calls, nil
	for _, p := range s.pending {
		p.syncing = false
		s.round = append(s.round, syncTarget{p, p.replica.WrittenEnd()})
		s.syncDirectly(l, p)
	}
	clear(s.pending)
	s.pending = s.pending[:0]
	if s.journal.NeedsSync() {
		s.covers = s.journal.BeginSync()
		s.inFlight++
		l.engine.Datasync(token(tokenJournalSync, 0, 0), s.file.Fd())
	}
	s.rounds.begin(l.instant)
	if s.inFlight == 0 {
		s.finish(l)
	}
}

// delays says that the next round waits for more appends, and has the loop woken when that is over. Calls do not wait, of
// which each is for a round of its own, nor a journal that takes no more, nor clients of a node that ends.
func (s *syncer) delays(l *Loop) bool {
	due := s.wanted + s.delay
	if l.instant >= due || s.refused || len(s.calls) > 0 || l.node.stopping.Load() {
		return false
	}
	l.timers.set(&s.delayed, due)
	return true
}

// syncDirectly syncs the segment files of p in the background if they hold bytes that the journal does not cover.
func (s *syncer) syncDirectly(l *Loop, p *partition) {
	if !p.unjournaled || p.stopped != wire.None {
		return
	}
	p.unjournaled, p.syncingDirectly = false, true
	s.inFlight++
	l.startSync(p, func(l *Loop) {
		p.syncingDirectly = false
		l.sync.ended(l)
	})
}

// journalSynced handles the end of the journal's sync. A failed one is never repeated: what the disk has is unknown
// from then on, and a later success would say nothing about it.
func (s *syncer) journalSynced(l *Loop, res int32) {
	if res < 0 {
		l.node.fatal(&storageError{"sync the journal", l.node.journalName(l.index), unix.Errno(-res)})
		return
	}
	s.journal.Synced(s.covers)
	s.ended(l)
}

func (s *syncer) ended(l *Loop) {
	if s.inFlight--; s.inFlight == 0 {
		s.finish(l)
	}
}

// finish reports a round to the state machines.
func (s *syncer) finish(l *Loop) {
	l.metrics.syncRound(len(s.round))
	l.stages.syncRounds.observe(s.rounds.end(l.instant))
	round := s.round
	s.round = s.roundSpare[:0]
	for _, t := range round {
		if !t.p.failing() {
			t.p.replica.Synced(t.end, &l.eff)
			l.apply(t.p)
			l.fetchable(t.p)
		}
	}
	clear(round)
	s.roundSpare = round[:0]
	calls := s.roundCalls
	s.roundCalls = nil
	for _, f := range calls {
		f()
	}
}

// afterRound calls f on the loop when everything that the journal has now is on disk.
func (s *syncer) afterRound(f func()) { s.calls = append(s.calls, f) }

// writeTruncation journals that a log is about to be cut; false if the journal has no room before its next checkpoint.
func (s *syncer) writeTruncation(l *Loop, e segment.JournalEntry) bool {
	return s.writeEntries(l, []segment.JournalEntry{e}) == 1
}

// checkpoint puts the journalled batches on disk in their segments, in the background, so that the journal can be
// reused; it grows the journal too while that is called for.
func (s *syncer) checkpoint(l *Loop) {
	if s.journal.NeedsGrowth() {
		s.grow(l)
	}
	if s.checking || !s.journal.NeedsCheckpoint() || s.frozen() {
		return
	}
	s.beginCheckpoint(l)
}

// frozen says that the journal may hold what was acknowledged of a directory that failed, and its segments not. The
// journal is left for the next start then, and what does not fit in it is synced in its segments.
func (s *syncer) frozen() bool {
	return slices.ContainsFunc(s.journaled, func(p *partition) bool { return p.dir().offline.Load() })
}

func (s *syncer) beginCheckpoint(l *Loop) {
	s.checking = true
	plan := s.journal.PlanCheckpoint()
	syncs := s.takeSyncs()
	file := s.file
	l.spawn(func() Message {
		for i := range syncs {
			if err := syncs[i].run(); err != nil { // checking stays set: no checkpoint follows, see frozen
				return messageFunc(func(l *Loop) { l.storageFault(syncs[i].at, "sync "+syncs[i].p.name(), err) })
			}
		}
		err := plan.Run(file)
		return messageFunc(func(l *Loop) { l.sync.checkpointed(l, plan, syncs, err) })
	})
}

// takeSyncs plans the sync of every partition with journalled batches. A partition that is gone needs none.
func (s *syncer) takeSyncs() []logSync {
	var syncs []logSync
	for _, p := range s.journaled {
		p.journaled = false
		if p.stopped == wire.None {
			syncs = append(syncs, p.planSync())
		}
	}
	clear(s.journaled)
	s.journaled = s.journaled[:0]
	return syncs
}

func (s *syncer) checkpointed(l *Loop, plan segment.JournalCheckpoint, syncs []logSync, err error) {
	s.checking = false
	if err != nil {
		l.node.fatal(&storageError{"checkpoint the journal", l.node.journalName(l.index), err})
		return
	}
	for i := range syncs {
		syncs[i].done(l)
	}
	s.journal.Checkpointed(plan)
	l.metrics.checkpoints.Inc()
}

// grow adds a track to the journal in the background. A full disk only means that it stays as large as it is.
func (s *syncer) grow(l *Loop) {
	growth := s.journal.PlanGrowth()
	file := s.file
	l.spawn(func() Message {
		err := growth.Run(file)
		return messageFunc(func(l *Loop) {
			switch {
			case err == nil:
				l.sync.journal.Grown(growth)
			case errors.Is(err, segment.ErrNoGrowth):
				l.node.log.throttled("the journal cannot grow", "journal", l.node.journalName(l.index), "error", err)
				l.sync.journal.GrowthFailed()
			default:
				l.node.fatal(&storageError{"sync the journal", l.node.journalName(l.index), err})
			}
		})
	})
}
