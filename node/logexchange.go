package node

import (
	"errors"
	"time"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// holdTries is how often an exchange looks whether what was appended is written, at holdPause: a disk that is slower than that is
// given the time without keeping produces waiting.
const (
	holdTries = 1000
	holdPause = 100 * time.Microsecond
)

// hold keeps everything away from the log's files. If that takes long it gives up, and nothing is held.
func (m *logMove) hold() (held bool) {
	begun := false
	m.p.loop.on(func(*Loop) { begun = m.p.hold() })
	for try := 0; begun && !held && try < holdTries; try++ {
		if try > 0 {
			time.Sleep(holdPause)
		}
		m.p.loop.on(func(*Loop) { held = m.p.still() })
	}
	if begun && !held {
		m.p.loop.on(func(l *Loop) { l.unhold(m.p) })
	}
	return held
}

// hold begins to hold the partition's files, unless somebody is at them.
func (p *partition) hold() bool {
	if p.stopped != wire.None || p.rolling || p.rollWanted || p.flushing || p.named > 0 || p.jobs > 0 || len(p.opening) > 0 || len(p.swapping) > 0 {
		return false
	}
	p.held = true
	p.swapping = p.log().Segments()
	p.jobs++
	return true
}

// still says that all that was appended is written, so that nothing changes the files of a held partition any more.
func (p *partition) still() bool {
	return p.stopped == wire.None && len(p.plans)+len(p.writing) == 0 && p.replica.WrittenEnd() == p.log().LogEndOffset()
}

// unhold lets everything go on that waits for a held partition.
func (l *Loop) unhold(p *partition) {
	p.held, p.swapping = false, nil
	p.jobs--
	l.tryEpochs(p)
	p.drainQueue()
	l.resumeParked(p)
}

// exchange completes the copy and puts it in the log's place. Everything is held.
func (m *logMove) exchange() error {
	aside, err := m.takePlace()
	var fault *segment.TakePlaceError
	taken := err == nil || errors.As(err, &fault) && fault.Taken
	from := m.p.dir()
	m.p.loop.on(func(l *Loop) {
		if taken {
			l.moved(m.p, m.to, m.future.Dir())
		}
		if fault != nil && !passes(err) {
			l.storageFault(m.node.dirNamed(fault.LogDir), "move "+m.p.name(), err)
		}
		l.unhold(m.p)
	})
	if !taken {
		return err
	}
	m.tidy(from, aside)
	return nil
}

func (m *logMove) takePlace() (aside string, err error) {
	var plan segment.CopyPlan
	if err := m.ask(func(*Loop) { plan = m.p.planCopy(true) }); err != nil {
		return "", err
	}
	for {
		c, err := m.future.Open(&plan)
		if err != nil {
			return "", err
		}
		if c == nil {
			break
		}
		if err := c.Run(func(int) error { return nil }); err != nil {
			return "", err
		}
	}
	if err := m.future.Finish(&plan); err != nil {
		return "", err
	}
	return m.future.TakePlace(plan.Dir())
}

// moved puts the log in the directory that has it now. All that it holds is on disk there.
func (l *Loop) moved(p *partition, to *logDir, dir string) {
	for seg, f := range p.files {
		delete(p.files, seg)
		f.release()
	}
	p.log().Moved(dir)
	p.dir().partitions.Add(-1)
	p.lies.Store(to)
	p.movingTo = nil
	if !p.failing() {
		p.replica.Synced(p.replica.WrittenEnd(), &l.eff)
		l.apply(p)
	}
}

// tidy removes what the log was, after a while, and what the checkpoint files say of it there.
func (m *logMove) tidy(from *logDir, aside string) {
	n := m.node
	for _, d := range []*logDir{m.to, from} {
		if d.offline.Load() {
			continue
		}
		if err := n.writeDirCheckpoints(d, segment.RecoveryPointCheckpoint, segment.HighWatermarkCheckpoint, segment.LogStartCheckpoint, segment.CleanerCheckpoint); err != nil {
			n.log.throttled("checkpoint files cannot be written", "directory", d.path, "error", err)
		}
	}
	delay := time.Duration(0)
	if t := n.topics.identified(m.p.id); t != nil {
		delay = time.Duration(t.config.FileDeleteDelayMS) * time.Millisecond
	}
	n.removeLater(from, aside, delay)
}
