package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// scrubber reads every log again and checks it: disks lose bits that nobody reads, and a replica that was never looked at is no
// replica. One goroutine, a segment at a time, within ringmill.scrub.bytes.per.second.max; a pass over all logs begins every
// ringmill.scrub.interval.ms. What a fetch or another node suspects goes first. Loops only plan, and take note of what was found.
//
//	pass, or suspicion ─▶ PlanScrub ─▶ Run: read, check, pace ─▶ Scrubbed ─▶ damage: Lack, and the replica is mended (lacking.go)
//
// What it reads and was not in the page cache is dropped from there again, so that it displaces nothing that fetches need.
type scrubber struct {
	node  *Node
	pacer pacer
	// suspects are segments to look at soon; mu guards them. wake has an entry when there are some.
	mu       sync.Mutex
	suspects map[suspicion]bool
	wake     chan struct{}
}

// suspicion is of a partition's segment that an offset lies in.
type suspicion struct {
	p    *partition
	from wire.Offset
}

const (
	// suspectsMax bounds what is suspected at once: a disk that is rotten all over is found by the pass.
	suspectsMax = 1024
	// scrubPause is how long the scrubber waits before it looks again whether it has something to do.
	scrubPause = time.Second
)

// errScrubberStops ends a scrub when the node stops, or when its partition is gone.
var errScrubberStops = errors.New("the scrubber stops")

func newScrubber(n *Node) *scrubber {
	return &scrubber{node: n, suspects: make(map[suspicion]bool), wake: make(chan struct{}, 1)}
}

// suspect has the segment of an offset looked at soon; from any goroutine.
func (s *scrubber) suspect(p *partition, from wire.Offset) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.suspects) < suspectsMax {
		s.suspects[suspicion{p, from}] = true
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *scrubber) takeSuspects() map[suspicion]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	some := s.suspects
	s.suspects = make(map[suspicion]bool)
	return some
}

// run is the goroutine; it ends when the node stops.
func (s *scrubber) run() {
	next := time.Now().Add(time.Duration(s.node.Config().InitialTaskDelayMS) * time.Millisecond)
	for !s.node.hasStopped() {
		s.lookAtSuspects()
		if interval := time.Duration(s.node.Config().ScrubIntervalMS) * time.Millisecond; interval > 0 && !time.Now().Before(next) {
			next = time.Now().Add(interval)
			s.pass()
		}
		s.rest(scrubPause)
	}
}

// rest waits, or until something is suspected.
func (s *scrubber) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
	case <-s.node.quit:
	}
}

func (s *scrubber) lookAtSuspects() {
	for some := range s.takeSuspects() {
		s.segment(some.p, some.from, false)
	}
}

// pass looks at all that the node has.
func (s *scrubber) pass() {
	var all []*partition
	s.node.eachPartition(func(_ *Loop, p *partition) { all = append(all, p) })
	for _, p := range all {
		for from, more := wire.Offset(0), true; more && !s.node.hasStopped(); {
			s.lookAtSuspects()
			from, more = s.segment(p, from, true)
		}
	}
	if !s.node.hasStopped() {
		s.node.metrics.scrubPasses.Inc()
	}
}

// segment checks one segment of p, from an offset on. next is where the one after it begins; more is false behind the last one, and where
// it makes no sense to go on.
func (s *scrubber) segment(p *partition, from wire.Offset, paced bool) (next wire.Offset, more bool) {
	var plan segment.ScrubPlan
	var fsys segment.FS
	release := p.holdNames(func() {
		if p.stopped == wire.None && p.log().Damage() == nil {
			plan, more = p.log().PlanScrub(from)
			fsys = p.dir().fs
		}
	})
	release = sync.OnceFunc(release)
	defer release()
	if !more {
		return 0, false
	}
	report, err := plan.Run(scrubFS{fsys}, func(bytes int) error {
		release() // its file is open
		return s.step(p, bytes, paced)
	})
	s.node.metrics.scrubbedBytes.Add(int(report.Bytes))
	return plan.UpTo, s.judge(p, plan, err)
}

// step keeps the rate, and ends what is of no use any more.
func (s *scrubber) step(p *partition, bytes int, paced bool) error {
	if s.node.hasStopped() || p.dir().offline.Load() || p.gone.Load() {
		return errScrubberStops
	}
	if ahead := s.pacer.take(bytes, float64(s.node.Config().ScrubBytesPerSecondMax)); paced && ahead > cleanerPauseMin {
		s.node.sleep(ahead)
	}
	return nil
}

// judge takes note of what a scrub has found; false if the rest of the log need not be looked at. An error of the disk takes the
// directory with it, as everywhere.
func (s *scrubber) judge(p *partition, plan segment.ScrubPlan, err error) (more bool) {
	var found *segment.CorruptionError
	var disk unix.Errno
	switch {
	case err == nil:
		return true
	case errors.As(err, &found):
		p.loop.on(func(l *Loop) {
			if p.stopped == wire.None && p.log().Scrubbed(plan, found) {
				l.damaged(p, found)
			}
		})
	case errors.Is(err, errScrubberStops), errors.Is(err, fs.ErrNotExist), p.gone.Load():
	case passes(err):
		s.node.log.throttled("a log cannot be scrubbed now", "partition", p.name(), "error", err)
	case errors.As(err, &disk):
		p.loop.on(func(l *Loop) { l.storageFault(p.dir(), "scrub "+p.name(), err) })
	default:
		s.node.log.throttled("a log cannot be scrubbed", "partition", p.name(), "error", err)
	}
	return false
}

// damaged tells of damage that is the log's from now on, and has the replica mended if there are others.
func (l *Loop) damaged(p *partition, found *segment.CorruptionError) {
	slog.Error("damage found in a log: its bytes are kept", "partition", p.name(), "damage", found)
	l.metrics.node.damagedLogs.Inc()
	l.lack(p)
}

// scrubFS opens files for the scrubber: what it brings into the page cache does not stay there.
type scrubFS struct{ segment.FS }

func (f scrubFS) OpenFile(name string, flag segment.OpenFlag, perm fs.FileMode) (segment.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	if fd := file.Fd(); fd >= 0 {
		_ = unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM) // no read-ahead: it would look like what others have read
	}
	return scrubFile{file}, nil
}

type scrubFile struct{ segment.File }

func (f scrubFile) ReadAt(b []byte, off int64) (int, error) {
	fd := f.Fd()
	cached, total, err := iouring.Cachestat(fd, off, int64(len(b)))
	n, readErr := f.File.ReadAt(b, off)
	if err == nil && cached < total && n > 0 {
		_ = unix.Fadvise(fd, off, int64(n), unix.FADV_DONTNEED)
	}
	return n, readErr
}

// suspicionTimeout bounds how long a leader is waited for that is told of a suspicion.
const suspicionTimeout = time.Second

// tellLeader has the leader of p look at what it sent last: it came damaged.
func (l *Loop) tellLeader(p *partition) {
	n, leader := l.node, p.replicator.leader
	s := suspectRequest{n.cluster.clusterID(), p.id, p.index, p.log().LogEndOffset()}
	l.background(func() Message {
		addr, err := n.peerAddress(leader)
		if err == nil {
			_, err = n.cluster.peers.callRaw(addr, wire.RequestHeader{Key: wire.KeySuspect}, s.appendTo(nil), suspicionTimeout)
		}
		if err != nil {
			n.log.throttled("a leader cannot be told of a damaged batch", "leader", int(leader), "error", err)
		}
		return nil
	})
}

// suspected takes up what a follower suspects.
func (n *Node) suspected(body []byte) peerRefusal {
	s, err := readSuspect(body)
	if err != nil {
		return peerRefusal{code: wire.InvalidRequest, message: err.Error()}
	}
	t := n.topics.identified(s.topic)
	if t == nil || t.part(s.index) == nil {
		return peerRefusal{code: wire.UnknownTopicOrPartition}
	}
	n.scrubber.suspect(t.part(s.index), s.offset)
	return peerRefusal{}
}
