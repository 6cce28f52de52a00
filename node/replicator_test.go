package node

import (
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// replicated is a batch of one record as a leader's log has it.
func replicated(at wire.Offset, epoch wire.LeaderEpoch) wire.RecordBatch {
	b := wire.RecordBatch(batchOf(wire.BatchHeader{}, "a record"))
	b.SetBaseOffset(at)
	b.SetPartitionLeaderEpoch(epoch)
	return b
}

// followNobody has a replica follow a leader that is never asked.
func (l *Loop) followNobody(p *partition, epoch wire.LeaderEpoch) {
	p.replica.Follow(replicate.FollowerState{Leader: 9, Metadata: replicate.Metadata{Version: 99, Epoch: epoch, PartitionEpoch: 9, Ref: p}}, &l.eff)
	l.apply(p)
}

// TestFetchedBehindAWideGap: a compacted log may have gaps that relative offsets do not reach over. The follower goes on in a segment that begins
// at the batch, whether its own has records or is empty, and may be told to lead or to follow another while it makes it.
func TestFetchedBehindAWideGap(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	p := tn.partition("a", 0)
	const epoch, gap = 7, wire.Offset(3) << 31
	p.loop.on(func(l *Loop) {
		l.followNobody(p, epoch)
		l.appendFetched(p, append(replicated(gap, epoch), replicated(2*gap, epoch)...))
	})
	await(t, "both are appended", func() bool { return p.published.logEnd.Load() == int64(2*gap)+1 })
	var bases []wire.Offset
	p.loop.on(func(l *Loop) {
		for _, s := range p.log().Segments() {
			bases = append(bases, s.BaseOffset())
		}
		// a roll that is wanted for a batch which is dropped before it begins
		p.flushing = true
		l.appendFetched(p, replicated(3*gap, epoch))
		l.dropFetched(p)
		p.flushing = false
		l.tryRoll(p)
		if p.rollWanted {
			t.Error("a roll waits for nothing")
		}
	})
	if len(bases) < 2 || bases[len(bases)-1] != 2*gap {
		t.Errorf("segments begin at %v, want the last at %d", bases, 2*gap)
	}
}

// fullFS has no room for one file while it is full, and tells when somebody found that out.
type fullFS struct {
	segment.FS
	file string
	full *atomic.Bool
	met  chan time.Time
}

func (f fullFS) WriteFileAtomic(name string, data []byte) error {
	if filepath.Base(name) != f.file || !f.full.Load() {
		return f.FS.WriteFileAtomic(name, data)
	}
	select {
	case f.met <- time.Now():
	default:
	}
	return &fs.PathError{Op: "write", Path: name, Err: unix.ENOSPC}
}

// TestLogThatCannotBeCut: a full disk passes. The cut is tried again, and the disk has rest meanwhile.
func TestLogThatCannotBeCut(t *testing.T) {
	var full atomic.Bool
	attempts := make(chan time.Time, 2)
	tn := startNode(t, nodeOptions{seams: func(s *seams) { s.fs = fullFS{s.fs, segment.RecoveryPointCheckpoint, &full, attempts} }})
	tn.createTopic("a", 1)
	c := tn.dial()
	c.mustProduce("a", 0, batch("kept"))
	c.mustProduce("a", 0, batch("cut"))
	p := tn.partition("a", 0)
	full.Store(true)
	p.loop.on(func(l *Loop) {
		const epoch = 7
		l.followNobody(p, epoch)
		p.replica.FetchedFrom(replicate.Fetched{Epoch: epoch, Position: p.replica.Position(), Diverging: wire.EpochEndOffset{Set: true, Epoch: 0, EndOffset: 1}}, &l.eff)
		l.apply(p)
	})
	first, second := <-attempts, <-attempts
	if pause := second.Sub(first); pause < noRoomPause {
		t.Errorf("tried again after %v", pause)
	}
	p.loop.on(func(l *Loop) { l.stop(p, wire.UnknownTopicOrPartition) })
	full.Store(false)
}

// TestLeadersThatHaveNotHeardYet: a topic that is new, or whose leader has just changed, is not known to each node at once. It is told of if it
// lasts, and anything else at once.
func TestLeadersThatHaveNotHeardYet(t *testing.T) {
	for _, c := range []struct {
		failed replicate.FetchAction
		told   bool
	}{
		{replicate.FetchAction{Code: wire.UnknownTopicID}, false},
		{replicate.FetchAction{Code: wire.NotLeaderOrFollower}, false},
		{replicate.FetchAction{Code: wire.UnknownLeaderEpoch, Lasting: true}, true},
		{replicate.FetchAction{Code: wire.KafkaStorageError}, true},
	} {
		if got := toldOf(&c.failed); got != c.told {
			t.Errorf("%s, lasting %v: told of is %v", c.failed.Code, c.failed.Lasting, got)
		}
	}
}
