package node

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// logSync makes what a partition has written durable: its .log files from the recovery point on, and their names.
// Indexes are not part of it; recovery makes those entries again that a file lacks.
type logSync struct {
	p     *partition
	at    *logDir // where the log lay when it was planned
	dir   string
	files []syncTargetFile
	// upTo is the end of what the page cache had when it was planned.
	upTo wire.Offset
	// fresh says that a segment was made since the recovery point, so that the directory is synced too.
	fresh bool
}

func (p *partition) planSync() logSync {
	log := p.log()
	s := logSync{p: p, at: p.dir(), dir: log.Dir(), upTo: p.replica.WrittenEnd()}
	recovery := log.RecoveryPoint()
	for _, seg := range log.Segments() {
		if seg.NextOffset() >= recovery && seg.BaseOffset() <= s.upTo {
			s.files = append(s.files, syncTargetFile{seg.LogName(), p.files[seg].orNone()})
			if seg.BaseOffset() >= recovery {
				s.fresh = true
				s.files = append(s.files, syncTargetFile{name: strings.TrimSuffix(seg.LogName(), ".log") + ".snapshot"})
			}
		}
	}
	return s
}

// run syncs the files. It touches nothing of the partition and blocks. A file that is gone was dropped by retention or
// with its topic since the plan, and owes nothing.
func (s *logSync) run() (failed error) {
	for _, target := range s.files {
		if failed == nil {
			if err := target.sync(s.at.fs); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = err
			}
		}
		if target.file != nil {
			target.file.release()
		}
	}
	if failed != nil {
		return failed
	}
	if s.fresh {
		if err := s.at.fs.SyncDir(s.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncTargetFile is a file to sync: with a reference to it if it is open, so that a sync needs no descriptor.
type syncTargetFile struct {
	name string
	file *segmentFile
}

func (t syncTargetFile) sync(fsys segment.FS) error {
	if t.file == nil {
		return syncFile(fsys, t.name)
	}
	if err := t.file.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", t.name, err)
	}
	return nil
}

// descriptorPatience is how long a sync waits for a free descriptor: the lack of one says nothing about the disk, and
// nothing is acknowledged meanwhile.
const descriptorPatience = 30 * time.Second

func syncFile(fsys segment.FS, name string) error {
	f, err := fsys.OpenFile(name, segment.ReadWrite, 0)
	for deadline := time.Now().Add(descriptorPatience); outOfDescriptors(err) && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
		f, err = fsys.OpenFile(name, segment.ReadWrite, 0)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	err = f.Sync()
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
	}
	return nil
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// done raises the partition's recovery point and, under the commit policy, its high watermark.
func (s *logSync) done(l *Loop) {
	if s.p.failing() {
		return
	}
	s.p.log().Synced(s.upTo)
	s.p.replica.Synced(s.upTo, &l.eff)
	l.apply(s.p)
}

// startSync syncs a partition in the background; then, if not nil, runs on the loop when it is done or has failed.
func (l *Loop) startSync(p *partition, then func(l *Loop)) {
	s := p.planSync()
	l.background(func() Message {
		err := s.run()
		return messageFunc(func(l *Loop) {
			switch {
			case p.stopped != wire.None:
			case err != nil:
				l.storageFault(s.at, "sync "+p.name(), err)
			default:
				s.done(l)
			}
			if then != nil {
				then(l)
			}
		})
	})
}
