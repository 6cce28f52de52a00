package node

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
)

// slowEpochs holds the first write of a leader-epoch-checkpoint until it is let go, and counts who writes one.
type slowEpochs struct {
	segment.FS
	held, letGo chan struct{}

	mu              sync.Mutex
	writes, at, all int // begun; under way; most at once
}

func (s *slowEpochs) WriteFileAtomic(name string, data []byte) error {
	if !strings.HasSuffix(name, "/topic-0/"+segment.LeaderEpochCheckpoint) {
		return s.FS.WriteFileAtomic(name, data)
	}
	s.mu.Lock()
	s.writes++
	s.at++
	s.all = max(s.all, s.at)
	first := s.writes == 2 // the one before makes the log
	s.mu.Unlock()
	if first {
		close(s.held)
		<-s.letGo
	}
	err := s.FS.WriteFileAtomic(name, data)
	s.mu.Lock()
	s.at--
	s.mu.Unlock()
	return err
}

// TestEpochsHaveOneWriter: leader epochs that follow each other while the first is written, a flush, and one that begins while the log's files are held: the
// file is written by one at a time, and has the newest in the end.
func TestEpochsHaveOneWriter(t *testing.T) {
	slow := &slowEpochs{held: make(chan struct{}), letGo: make(chan struct{})}
	tn := startNode(t, nodeOptions{seams: func(s *seams) { slow.FS, s.fs = s.fs, slow }})
	tn.createTopic("topic", 1)
	p := tn.partition("topic", 0)
	tn.dial().mustProduce("topic", 0, batch("v"))
	begin := func(l *Loop) {
		p.log().AssignEpoch(p.log().LatestEpoch()+1, p.log().LogEndOffset())
		l.writeEpochs(p)
	}
	p.loop.on(begin)
	<-slow.held
	p.loop.on(func(l *Loop) {
		begin(l)
		l.startFlush(p)
		if p.jobs != 1 {
			t.Errorf("%d are at the files, one of which writes leader epochs", p.jobs)
		}
	})
	close(slow.letGo)
	still := func() (still bool) {
		p.loop.on(func(*Loop) { still = p.jobs == 0 && p.log().RecoveryPoint() == p.log().LogEndOffset() })
		return still
	}
	await(t, "the flush", still)
	held := false
	await(t, "the files are held", func() bool {
		p.loop.on(func(*Loop) { held = p.hold() })
		return held
	})
	p.loop.on(func(l *Loop) {
		begin(l)
		if p.jobs != 1 {
			t.Errorf("%d are at files that are held", p.jobs)
		}
		l.unhold(p)
	})
	await(t, "the last write", still)
	var want []byte
	p.loop.on(func(*Loop) { want = p.log().EpochCheckpoint() })
	got, err := os.ReadFile(filepath.Join(tn.opts.dir, "logs", "topic-0", segment.LeaderEpochCheckpoint))
	if err != nil || string(got) != string(want) {
		t.Errorf("the file has %q (%v), want %q", got, err, want)
	}
	if slow.all != 1 {
		t.Errorf("%d wrote leader epochs at once", slow.all)
	}
}

// TestStopDuringTruncation: a node that is stopped while a log is being cut waits for that; one that could not be cut is left to the next start, which
// recovers it.
func TestStopDuringTruncation(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("topic", 1)
	for range 3 {
		tn.dial().mustProduce("topic", 0, batch("v"))
	}
	p := tn.partition("topic", 0)
	p.loop.on(func(*Loop) { (&truncation{p: p, to: replicate.Truncation{To: 1}}).planned() }) // its entry did not get into the journal before the node was to stop
	if err := tn.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(tn.opts.dir, "logs", segment.CleanShutdownFile)); err == nil {
		t.Error("the stop calls itself clean")
	}
	tn = tn.restart()
	if got := tn.dial().mustProduce("topic", 0, batch("v")); got != 3 {
		t.Errorf("the next record is at %d, want 3", got)
	}
}
