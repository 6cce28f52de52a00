package node

import (
	"log/slog"
	"slices"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// truncation cuts a follower's log where its leader's goes on otherwise.
//
//	goroutine                     owner
//	hold ───────────────────────▶ nothing is appended, opened by name, flushed or rolled, and nothing of the log is on its way to the disk
//	                              plan
//	checkpoint files
//	     ───────────────────────▶ an entry in the journal, and its sync
//	cut the files
//	     ───────────────────────▶ the log is the shorter one; the replica fetches on
type truncation struct {
	node *Node
	p    *partition
	to   replicate.Truncation
	plan segment.TruncatePlan
	// needed says that plan has something to do.
	needed bool
}

// truncationsAtOnce bounds the logs that a node cuts at the same time: each waits for a handful of syncs.
const truncationsAtOnce = 16

// truncate begins to cut p's log.
func (l *Loop) truncate(p *partition, to replicate.Truncation) {
	t := &truncation{node: l.node, p: p, to: to}
	go t.run()
}

// truncationPause is how long a truncation waits before it looks again whether the log is still.
const truncationPause = time.Millisecond

func (t *truncation) run() {
	select {
	case t.node.truncations <- struct{}{}:
		defer func() { <-t.node.truncations }()
	case <-t.node.quit:
		return
	}
	for !t.attempt() {
		if !t.node.sleep(truncationPause) {
			return
		}
	}
}

// again tries to cut a log once more that a full disk kept from being cut. Others are cut meanwhile.
func (t *truncation) again() {
	if t.node.sleep(noRoomPause) {
		t.run()
	}
}

// attempt cuts the log, if it is still; false if it is to be tried again.
func (t *truncation) attempt() (over bool) {
	held := false
	t.p.loop.on(func(l *Loop) {
		if over = t.p.stopped != wire.None || t.node.hasStopped(); !over {
			held = l.holdForTruncation(t.p)
		}
	})
	if !held {
		return over || t.node.hasStopped()
	}
	t.p.loop.on(func(*Loop) { t.planned() })
	if !t.needed {
		t.end(nil)
		return true
	}
	journaled, err := t.prepare()
	if err == nil && !journaled { // the journal has no room before its next checkpoint
		t.p.loop.on(func(l *Loop) { l.unhold(t.p) })
		return false
	}
	if err == nil {
		var file segment.File
		if file, err = t.plan.Run(t.p.dir().fs); file != nil {
			_ = file.Close()
		}
	}
	t.end(err)
	return true
}

// holdForTruncation is hold for what changes the log's end: nothing that was appended may be on its way to the disk either, since that
// would be reported when it is not there any more.
func (l *Loop) holdForTruncation(p *partition) bool {
	inRound := func(s syncTarget) bool { return s.p == p }
	if !p.still() || p.syncing || p.syncingDirectly || l.sync.checking || slices.ContainsFunc(l.sync.round, inRound) {
		return false
	}
	return p.hold()
}

// planned plans the cut, if there is anything to be done.
func (t *truncation) planned() {
	if t.to.Whole {
		t.plan, t.needed = t.p.log().PlanTruncateFully(t.to.To), true
	} else {
		t.plan, t.needed = t.p.log().PlanTruncate(t.to.To)
	}
	t.p.cut = t.needed
}

// prepare makes sure that neither the checkpoint files nor the journal bring back, after a crash, what is cut; false if the journal is full.
func (t *truncation) prepare() (journaled bool, err error) {
	if err := t.node.writeDirCheckpoints(t.p.dir(), segment.RecoveryPointCheckpoint, segment.LogStartCheckpoint, segment.CleanerCheckpoint); err != nil {
		return false, err
	}
	return t.node.journalTruncation(t.p.loop, t.plan.JournalEntry(t.p.index)), nil
}

// journalTruncation puts an entry into a loop's journal and waits until it is on disk; false if the journal is full or the node ends.
func (n *Node) journalTruncation(loop *Loop, e segment.JournalEntry) (journaled bool) {
	synced := make(chan struct{})
	loop.on(func(l *Loop) {
		if journaled = l.sync.writeTruncation(l, e); journaled {
			l.sync.afterRound(func() { close(synced) })
		}
	})
	if !journaled {
		return false
	}
	select {
	case <-synced:
		return true
	case <-n.quit:
		return false
	}
}

// forgetJournaled makes void what the journal has of a partition that was taken away: if it comes back, it is another log of the same name
// and topic id, and a crash must not mix the two.
func (n *Node) forgetJournaled(p *partition) {
	e := segment.JournalTruncation(p.id, p.index, 0)
	for !n.journalTruncation(p.loop, e) {
		if !n.sleep(truncationPause) || n.broken.Load() || n.hasStopped() {
			return
		}
	}
}

// end gives the log back to its loop; err is why it could not be cut.
func (t *truncation) end(err error) {
	t.p.loop.on(func(l *Loop) {
		p := t.p
		if err != nil {
			l.unhold(p)
			l.truncationFailed(t, err)
			return
		}
		slog.Info("a replica's log was cut where its leader's goes on otherwise", "partition", p.name(), "leaderEpoch", int(p.replica.LeaderEpoch()),
			"from", int64(p.log().LogEndOffset()), "to", int64(t.to.To))
		for seg, f := range p.files {
			delete(p.files, seg)
			f.release()
		}
		if t.needed {
			p.log().Truncated(t.plan)
			p.cut = false
		}
		p.unjournaled = false
		l.metrics.truncations.Inc()
		if p.stopped == wire.None {
			p.replica.Truncated(t.needed, &l.eff)
			l.apply(p)
		}
		l.unhold(p)
		l.leadLater(p)
		l.fetchable(p)
	})
}

// truncationFailed: a full disk passes, and the cut is tried again; any other error makes the directory suspect.
func (l *Loop) truncationFailed(t *truncation, err error) {
	if passes(err) {
		l.node.log.throttled("a replica's log cannot be cut, and it is tried again", "partition", t.p.name(), "error", err)
		go t.again()
		return
	}
	l.storageFault(t.p.dir(), "truncate "+t.p.name(), err)
}
