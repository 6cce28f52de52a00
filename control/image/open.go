package image

import (
	"errors"
	"io/fs"
	"path"

	"github.com/ringmill/ringmill/segment"
)

// readOrMake gives the log's bytes; a log that is not there is made, durably, and empty.
func (s *Store) readOrMake(logDir, stateDir string) ([]byte, error) {
	data, err := s.fs.ReadFile(s.name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	if err := s.fs.MkdirAll(logDir, 0o755); err != nil {
		return nil, err
	}
	// The file, then the names that lead to it, from the bottom up.
	if err := s.fs.WriteFileAtomic(s.name, nil); err != nil {
		return nil, err
	}
	return nil, errors.Join(s.fs.SyncDir(stateDir), s.fs.SyncDir(path.Dir(stateDir)))
}

// openFile opens the log for appending, compacted if that pays, and without what a crash cut short.
func (s *Store) openFile() (err error) {
	if live := appendLive(nil, s.image); worthCompacting(s.end, int64(len(live))) {
		if err := s.fs.WriteFileAtomic(s.name, live); err != nil {
			return err
		}
		s.end, s.report.Compacted = int64(len(live)), true
	}
	if s.file, err = s.fs.OpenFile(s.name, segment.ReadWrite, 0); err != nil {
		return err
	}
	if err = s.cutTail(); err != nil {
		s.file.Close()
	}
	return err
}

// cutTail removes what follows the last whole batch, durably: the next batch must not be followed by remains of another.
func (s *Store) cutTail() error {
	size, err := s.file.Size()
	if err != nil || size == s.end {
		return err
	}
	if err := s.file.Truncate(s.end); err != nil {
		return err
	}
	return s.file.Sync()
}
