package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ringmill/ringmill/segment"
)

// logMove is the way of a partition's log to another log directory (KIP-113): a goroutine copies its files while it is served, and
// then exchanges the two.
//
//	goroutine              owner
//	catchUp ─────────────▶ planCopy, again and again, until what is appended meanwhile is little
//	hold ────────────────▶ nothing is appended, opened by name, flushed or rolled any more: produces queue, cold fetches park
//	exchange               the last bytes, durably; the directories change names
//	     ────────────────▶ moved: the log goes on in the other directory
type logMove struct {
	node   *Node
	p      *partition
	to     *logDir
	future *segment.FutureLog
	// cancelled is closed when the move is not wanted any more, ended when its goroutine is done.
	cancelled, ended chan struct{}
	// size and end are the copy's bytes and where its batches end, for DescribeLogDirs.
	size, end atomic.Int64
}

var (
	// errMoveStops ends a move when the node stops, or one of the two directories fails: the next start goes on with it.
	errMoveStops = errors.New("the node or a log directory stops")
	// errMoveCancelled ends a move that is not wanted any more, or whose partition is gone.
	errMoveCancelled = errors.New("the move was cancelled")
)

// run waits for its turn and moves the log.
func (m *logMove) run() {
	defer m.node.moves.finished(m)
	began := time.Now()
	if err := m.turn(); err != nil {
		m.stopped(err)
		return
	}
	defer func() { <-m.node.moves.turns }()
	from := m.p.dir()
	pause, err := m.move()
	if err != nil {
		m.stopped(err)
		return
	}
	m.node.moves.metrics.moved.Inc()
	slog.Info("log moved", "partition", m.p.name(), "from", from.path, "to", m.to.path, "bytes", m.future.Size(),
		"duration", time.Since(began).Round(time.Millisecond), "pause", pause.Round(time.Microsecond))
}

// turn waits until the move may begin (num.replica.alter.log.dirs.threads).
func (m *logMove) turn() error {
	select {
	case m.node.moves.turns <- struct{}{}:
		return nil
	case <-m.cancelled:
		return errMoveCancelled
	case <-m.node.quit:
		return errMoveStops
	}
}

// move copies until the two can be exchanged; pause is how long appends waited then.
func (m *logMove) move() (pause time.Duration, err error) {
	for {
		if err := m.catchUp(); err != nil {
			return 0, err
		}
		if err := m.announce(); err != nil {
			return 0, err
		}
		began := time.Now()
		if m.hold() {
			err := m.exchange()
			return time.Since(began), err
		}
		m.pause(moveRetryPause)
		if err := m.lapsed(); err != nil {
			return 0, err
		}
	}
}

// moveRetryPause is how long a move waits that found no moment for the exchange: readers of old segments or a flush are under way.
const moveRetryPause = 10 * time.Millisecond

// catchUpBytes is how little of the log may be missing for the exchange, so that appends wait for no more than it takes to copy
// and sync so much.
const catchUpBytes = 1 << 20

// catchUp copies the log up to what was appended during the last copy.
func (m *logMove) catchUp() error {
	for {
		plan, c, err := m.openNext()
		behind := m.future.Behind(&plan)
		if err == nil && c != nil {
			err = c.Run(m.step)
		}
		var target *segment.FutureLogError
		switch lapsed := m.lapsed(); {
		case lapsed != nil:
			return lapsed
		case errors.Is(err, fs.ErrNotExist) && !errors.As(err, &target): // retention took it since the plan
			m.pause(moveRetryPause)
		case err != nil:
			return err
		case c == nil || behind <= catchUpBytes && c.Last():
			return m.future.Finish(&plan)
		}
	}
}

// openNext opens the first segment of which the copy lacks something, nil if it lacks nothing of plan.
func (m *logMove) openNext() (plan segment.CopyPlan, c *segment.SegmentCopy, err error) {
	planned := false
	release := m.p.holdNames(func() { plan, planned = m.p.planCopy(false), true })
	defer release()
	if !planned {
		return plan, nil, errMoveStops
	}
	c, err = m.future.Open(&plan)
	return plan, c, err
}

// planCopy plans to copy what of the log is in the page cache.
func (p *partition) planCopy(still bool) segment.CopyPlan {
	written := p.log().ActiveSegment().Size()
	if len(p.writing) > 0 {
		written = p.writing[0].Position
	} else if len(p.plans) > 0 {
		written = p.plans[0].Position
	}
	return p.log().PlanCopy(written, p.replica.WrittenEnd(), still)
}

// announce sees to it that the checkpoint files of the other directory say of the log what they must, from here on.
func (m *logMove) announce() error {
	if err := m.ask(func(*Loop) { m.p.movingTo = m.to }); err != nil {
		return err
	}
	err := m.node.writeDirCheckpoints(m.to, segment.RecoveryPointCheckpoint, segment.LogStartCheckpoint, segment.CleanerCheckpoint)
	if err != nil {
		return &segment.FutureLogError{Err: err}
	}
	return nil
}

// ask runs f on the partition's loop; an error says that the loop is no more.
func (m *logMove) ask(f func(l *Loop)) error {
	err := errMoveStops
	m.p.loop.on(func(l *Loop) {
		f(l)
		err = nil
	})
	return err
}

// lapsed says why the move is to end; nil if it is not.
func (m *logMove) lapsed() error {
	select {
	case <-m.cancelled:
		return errMoveCancelled
	default:
	}
	switch {
	case m.node.hasStopped() || m.p.dir().offline.Load() || m.to.offline.Load():
		return errMoveStops
	case m.p.gone.Load():
		return errMoveCancelled
	}
	return nil
}

// step is called with bytes that were copied: it publishes them, keeps the rate, and ends the move when that is called for.
func (m *logMove) step(bytes int) error {
	m.size.Store(m.future.Size())
	m.end.Store(int64(m.future.EndOffset()))
	if wait := m.node.moves.pace(bytes, m.node.Config().MoveBytesPerSecondMax()); wait > cleanerPauseMin {
		m.pause(wait)
	}
	return m.lapsed()
}

// pause waits, but no longer than the move is wanted.
func (m *logMove) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.cancelled:
	case <-m.node.quit:
	}
}

// stopped says what becomes of a move that did not end well. The log stays where it is.
func (m *logMove) stopped(err error) {
	m.p.loop.on(func(*Loop) { m.p.movingTo = nil })
	switch {
	case errors.Is(err, errMoveStops):
	case errors.Is(err, errMoveCancelled):
		m.node.moves.metrics.cancelled.Inc()
		slog.Info("move of a log cancelled", "partition", m.p.name(), "to", m.to.path)
		m.giveUp()
	default:
		m.node.moves.metrics.failed.Inc()
		m.failed(err)
	}
}

func (m *logMove) failed(err error) {
	var target *segment.FutureLogError
	var between *segment.TakePlaceError
	switch {
	case errors.As(err, &between): // the names may say that the copy is the log
		slog.Error("move of a log failed", "partition", m.p.name(), "to", m.to.path, "error", err)
	case errors.As(err, &target) && !passes(err):
		m.p.loop.on(func(l *Loop) { l.storageFault(m.to, "move "+m.p.name(), err) })
	default:
		slog.Error("move of a log given up: it stays where it is", "partition", m.p.name(), "directory", m.p.dir().path, "to", m.to.path, "error", err)
		m.giveUp()
	}
}

// giveUp removes the copy.
func (m *logMove) giveUp() {
	m.to.partitions.Add(-1)
	if err := m.future.Remove(); err != nil {
		m.node.log.throttled("copy of a log stays", "directory", m.future.Dir(), "error", err)
	}
}
