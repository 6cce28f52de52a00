package segment

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ringmill/ringmill/wire"
)

// Run cuts the log's files, finds again what was known of the rest (as OpenLog does after a crash: indexes, aborted transactions,
// the producers from the newest snapshot on), and makes all of it durable. It gives the active segment's .log, opened to write; the
// caller closes it. It blocks on files. After an error it may be run again; until it has succeeded the log takes no batch.
//
// Files go one after the other, the newest first and each durably, then the segment that holds the cut is cut, then come
// indexes, snapshots and leader epochs. So a crash at any point leaves a log without a hole that ends at the cut or after it.
func (p *TruncatePlan) Run(fsys FS) (File, error) {
	switch {
	case p.fully:
		if err := p.empty(fsys); err != nil {
			return nil, err
		}
	case p.cuts:
		if err := p.cut(fsys); err != nil {
			return nil, err
		}
	}
	if err := p.writeEpochs(fsys); err != nil {
		return nil, err
	}
	f, err := fsys.OpenFile(p.active, ReadWrite, 0)
	if err != nil {
		return nil, fmt.Errorf("segment: open %s: %w", p.active, err)
	}
	return f, nil
}

// opener gives what has the steps of OpenLog that a truncation takes as well.
func (p *TruncatePlan) opener(fsys FS) *opener {
	return &opener{fs: fsys, dir: p.dir, log: newLog(p.dir, p.config), opt: p.open}
}

func (p *TruncatePlan) cut(fsys FS) error {
	if err := p.syncRest(fsys); err != nil {
		return err
	}
	o := p.opener(fsys)
	gone := make([]*Segment, len(p.gone))
	for i, base := range p.gone {
		gone[i] = newSegment(p.dir, base)
	}
	if err := o.removeSegments(gone); err != nil {
		return err
	}
	s := newSegment(p.dir, p.base)
	s.size = p.size
	end, err := p.cutSegment(o, s)
	if err != nil {
		return err
	}
	if err := p.txns.run(fsys); err != nil {
		return err
	}
	opt := p.open
	opt.RecoveryPoint = end
	o = newOpener(fsys, p.dir, p.config, opt)
	producers := o.loadProducers
	if p.knows {
		producers = o.keepSnapshots
	}
	if p.rest, p.report, err = o.open(producers); err != nil {
		return err
	}
	p.active = p.rest.ActiveSegment().LogName()
	p.epochs.TruncateFromEnd(p.rest.LogEndOffset())
	return nil
}

// syncRest makes durable what stays, and what is known of the segment that is cut, so that little of it has to be read again. A file
// that is gone was dropped.
func (p *TruncatePlan) syncRest(fsys FS) error {
	for i := range p.sync.Files {
		if err := syncNamed(fsys, p.sync.Files[i].Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if p.sync.Dir != "" {
		if err := fsys.SyncDir(p.sync.Dir); err != nil {
			return fmt.Errorf("segment: sync directory %s: %w", p.sync.Dir, err)
		}
	}
	return writeIndexes(fsys, p.times, p.index)
}

// cutSegment cuts the .log of s before the first batch that reaches the plan's offset, durably, and gives the offset at which it ends.
func (p *TruncatePlan) cutSegment(o *opener, s *Segment) (end wire.Offset, err error) {
	name := s.LogName()
	f, err := o.fs.OpenFile(name, ReadWrite, 0)
	if err != nil {
		return 0, fmt.Errorf("segment: open %s: %w", name, err)
	}
	defer closeFile(f, &err)
	size, err := f.Size()
	if err != nil {
		return 0, fmt.Errorf("segment: size of %s: %w", name, err)
	}
	s.size = min(s.size, wire.Position(size)) // an earlier attempt has cut it
	position, end, err := p.findCut(o, s, f)
	if err != nil {
		return 0, err
	}
	if size > int64(position) {
		if err := f.Truncate(int64(position)); err != nil {
			return 0, fmt.Errorf("segment: cut %s to %d bytes: %w", name, position, err)
		}
	}
	return end, syncFile(f, name, true)
}

// findCut gives the position of the first batch that reaches the plan's offset, and where the batches before it end.
func (p *TruncatePlan) findCut(o *opener, s *Segment, f File) (position wire.Position, end wire.Offset, err error) {
	from, end, err := o.batchBelow(s, f, p.to)
	if err != nil {
		return 0, 0, err
	}
	w := &o.walker
	w.start(s.dir, s.baseOffset, f, s.size)
	w.position = from
	for {
		b, at, ok, err := w.next()
		switch {
		case err != nil:
			return 0, 0, err
		case !ok:
			return w.position, end, nil
		case b.LastOffset() >= p.to:
			return at, end, nil
		}
		end = b.NextOffset()
	}
}

// batchBelow gives the position and the base offset of a batch that ends below off, by the .index, or else the segment's start.
func (o *opener) batchBelow(s *Segment, f File, off wire.Offset) (position wire.Position, base wire.Offset, err error) {
	from, err := o.positionBefore(s, off-1)
	if err != nil || from == 0 {
		return 0, s.baseOffset, err
	}
	w := &o.walker
	w.start(s.dir, s.baseOffset, f, s.size)
	b, fault, err := w.read(from, false)
	if err != nil || fault != "" || b.BaseOffset() < s.baseOffset || b.LastOffset() >= off {
		return 0, s.baseOffset, err // an entry that was undone, and is still in the file
	}
	return from, b.BaseOffset(), nil
}

// empty removes every file of a segment and makes those of a new one.
func (p *TruncatePlan) empty(fsys FS) error {
	o := p.opener(fsys)
	if err := o.findSegments(); err != nil {
		return err
	}
	if err := o.removeSegments(o.log.segments); err != nil {
		return err
	}
	files, _, err := o.list()
	if err != nil {
		return err
	}
	for _, f := range files { // snapshots that are at no segment's base, and what is left of a cleaning
		if err := o.removeFile(f.name); err != nil {
			return err
		}
	}
	if err := fsys.SyncDir(p.dir); err != nil {
		return fmt.Errorf("segment: sync directory %s: %w", p.dir, err)
	}
	s := newSegment(p.dir, p.to)
	f, err := s.createFiles(fsys, true)
	if err != nil {
		return err
	}
	p.rest = newLog(p.dir, p.config)
	p.rest.segments = []*Segment{s}
	p.active = s.LogName()
	return f.Close()
}

// writeEpochs brings the leader-epoch-checkpoint up to date.
func (p *TruncatePlan) writeEpochs(fsys FS) error {
	name, want := p.dir+"/"+LeaderEpochCheckpoint, p.epochs.AppendTo(nil)
	have, err := fsys.ReadFile(name)
	if err == nil && bytes.Equal(have, want) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("segment: read %s: %w", name, err)
	}
	if err := fsys.WriteFileAtomic(name, want); err != nil {
		return fmt.Errorf("segment: write %s: %w", name, err)
	}
	return nil
}
