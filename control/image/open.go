package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/ringmill/ringmill/segment"
)

// OpenStore opens the metadata log below dir, a node's state directory, and replays it. dir is made if it is not there; the
// directory above it must be durable. A batch at the end that a crash cut short is removed: nobody was told that it is
// durable. Anything else that is wrong is a *CorruptionError and leaves the file as it is. A file that has grown beyond twice
// its live records is rewritten (compact.go). When OpenStore returns, all that its Image says is durable.
func OpenStore(fs segment.FS, dir string) (*Store, error) {
	s := &Store{fs: fs, name: path.Join(dir, LogName)}
	data, err := s.readOrMakeDir(dir)
	if err != nil {
		return nil, fmt.Errorf("image: open %s: %w", s.name, err)
	}
	r, err := replay(s.name, data)
	if err != nil {
		return nil, err
	}
	s.image, s.end = r.image, r.whole
	s.report = OpenReport{Records: r.records, TruncatedBytes: int64(len(data)) - r.whole}
	if err := s.settle(data, r); err != nil {
		return nil, fmt.Errorf("image: open %s: %w", s.name, err)
	}
	s.report.Bytes = s.end
	return s, nil
}

// readOrMakeDir gives the log's bytes. If there is no log its directory is made, durably; the log itself comes with its
// first batch.
func (s *Store) readOrMakeDir(stateDir string) ([]byte, error) {
	data, err := s.fs.ReadFile(s.name)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	if err := s.fs.MkdirAll(path.Dir(s.name), 0o755); err != nil {
		return nil, err
	}
	return nil, errors.Join(s.fs.SyncDir(stateDir), s.fs.SyncDir(path.Dir(stateDir)))
}

// settle makes the file hold exactly what was replayed, durably, and opens it.
func (s *Store) settle(data []byte, r replayed) error {
	if r.whole == 0 {
		return nil // no file, or an empty one: the first batch makes it
	}
	if live := s.compacted(); live != nil {
		if err := s.fs.WriteFileAtomic(s.name, live); err != nil {
			return err
		}
		s.end, s.report.Compacted = int64(len(live)), true
		return s.openFile()
	}
	if err := s.openFile(); err != nil {
		return err
	}
	if err := s.secure(data[r.lastAt:r.whole], r.lastAt); err != nil {
		s.file.Close()
		return err
	}
	return nil
}

func (s *Store) openFile() (err error) {
	s.file, err = s.fs.OpenFile(s.name, segment.ReadWrite, 0)
	return err
}

// secure cuts off what follows the last whole batch, and writes and syncs that batch once more. It may stand in the page
// cache alone: the process that wrote it may have died before its fsync, or been told that the fsync failed, after which
// Linux calls the pages clean (fsync(2), Linux 4.13 and later). Its predecessors were durable before it was written.
func (s *Store) secure(last []byte, at int64) error {
	if err := s.file.Truncate(s.end); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(last, at); err != nil {
		return err
	}
	return errors.Join(s.file.Sync(), s.fs.SyncDir(path.Dir(s.name)))
}
