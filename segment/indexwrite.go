package segment

import (
	"fmt"
	"io/fs"
)

// filePerm and dirPerm are the modes of what the room creates: the data of a log is its owner's alone to write.
const (
	filePerm fs.FileMode = 0o644
	dirPerm  fs.FileMode = 0o755
)

// indexWrite is the part of an index file that memory has and the file lacks. What the file holds after it is cut off: entries
// that were undone, or zeros that Kafka preallocated.
type indexWrite struct {
	name string
	at   int64 // bytes of the file that stand
	data []byte
}

// run writes and syncs it. A file that holds what it should has nothing to sync either: this is the only way that it is written.
func (w indexWrite) run(fsys FS) (err error) {
	f, err := fsys.OpenFile(w.name, ReadWrite|Create, filePerm)
	if err != nil {
		return fmt.Errorf("segment: open index %s: %w", w.name, err)
	}
	defer closeFile(f, &err)
	size, err := f.Size()
	if err != nil {
		return fmt.Errorf("segment: size of index %s: %w", w.name, err)
	}
	if size == w.at && len(w.data) == 0 {
		return nil
	}
	if len(w.data) > 0 {
		if _, err := f.WriteAt(w.data, w.at); err != nil {
			return fmt.Errorf("segment: write %d bytes at %d of %s: %w", len(w.data), w.at, w.name, err)
		}
	}
	if err := f.Truncate(w.at + int64(len(w.data))); err != nil {
		return fmt.Errorf("segment: cut %s to %d bytes: %w", w.name, w.at+int64(len(w.data)), err)
	}
	return syncFile(f, w.name, true)
}

// writeIndexes writes a segment's indexes, durably and in this order. Recovery resumes at the last entry of the .index and takes
// the greatest timestamp up to there from the .timeindex, so an entry of the former implies those of the latter.
func writeIndexes(fsys FS, times, offsets indexWrite) error {
	if err := times.run(fsys); err != nil {
		return err
	}
	return offsets.run(fsys)
}

func syncFile(f File, name string, sync bool) error {
	if !sync {
		return nil
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("segment: sync %s: %w", name, err)
	}
	return nil
}

// syncNamed makes the bytes of a file durable that somebody else has written.
func syncNamed(fsys FS, name string) (err error) {
	f, err := fsys.OpenFile(name, ReadWrite, 0)
	if err != nil {
		return fmt.Errorf("segment: open %s: %w", name, err)
	}
	defer closeFile(f, &err)
	return syncFile(f, name, true)
}

// writeNamed makes a file with these bytes.
func writeNamed(fsys FS, name string, data []byte, sync bool) (err error) {
	f, err := fsys.OpenFile(name, ReadWrite|Create|Truncate, filePerm)
	if err != nil {
		return fmt.Errorf("segment: create %s: %w", name, err)
	}
	defer closeFile(f, &err)
	if len(data) > 0 {
		if _, err := f.WriteAt(data, 0); err != nil {
			return fmt.Errorf("segment: write %d bytes of %s: %w", len(data), name, err)
		}
	}
	return syncFile(f, name, sync)
}

func closeFile(f File, err *error) {
	if e := f.Close(); e != nil && *err == nil {
		*err = e
	}
}

// planIndex gives what the .index lacks. The bytes are a copy, so that the plan can leave the owner's goroutine.
func (s *Segment) planIndex() indexWrite {
	return indexWrite{
		name: s.indexName(), at: int64(s.index.flushed) * offsetEntrySize,
		data: append([]byte(nil), s.index.unflushed()...),
	}
}

// planTimeIndex gives what the .timeindex lacks; with closing also the entry for the segment's greatest timestamp.
func (s *Segment) planTimeIndex(closing bool) indexWrite {
	w := indexWrite{name: s.timeIndexName(), at: int64(s.timeIndex.flushed) * timeEntrySize}
	if closing {
		w.data = s.timeIndex.closing(s.max)
	} else {
		w.data = append([]byte(nil), s.timeIndex.tail...)
	}
	return w
}
