package node

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// logSync makes what a partition has written durable.
type logSync struct {
	p    *partition
	at   *logDir // where the log lay when it was planned
	plan segment.SyncPlan
	// open are references to the plan's files, nil for those that are not open.
	open []*segmentFile
}

func (p *partition) planSync() logSync {
	s := logSync{p: p, at: p.dir(), plan: p.log().PlanSync(p.replica.WrittenEnd())}
	for _, f := range s.plan.Files {
		s.open = append(s.open, p.files[f.Segment].orNone())
	}
	return s
}

// run syncs the files. It touches nothing of the partition and blocks.
func (s *logSync) run() (failed error) {
	for i, file := range s.open {
		if failed == nil {
			failed = ignoreGone(syncOpen(s.at.fs, s.plan.Files[i].Name, file))
		}
		if file != nil {
			file.release()
		}
	}
	if failed == nil && s.plan.Dir != "" {
		failed = ignoreGone(s.at.fs.SyncDir(s.plan.Dir))
	}
	return failed
}

// ignoreGone passes over a file that is gone: with its segment, its topic or to another log directory.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// syncOpen syncs a file, by its descriptor if it is open, so that a sync needs none.
func syncOpen(fsys segment.FS, name string, file *segmentFile) error {
	if file == nil {
		return syncFile(fsys, name)
	}
	if err := file.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", name, err)
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
	s.p.log().Synced(s.plan.UpTo)
	s.p.replica.Synced(s.plan.UpTo, &l.eff)
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
