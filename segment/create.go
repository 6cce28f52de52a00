package segment

import (
	"fmt"
	"path"

	"github.com/ringmill/ringmill/wire"
)

// CreateLog makes a partition's directory with the files of an empty log that begins at start, all of it durable when it
// returns. It fails with fs.ErrExist if a log is there.
func CreateLog(fsys FS, dir string, cfg Config, topicID wire.TopicID, start wire.Offset) (*Log, error) {
	l := newLog(dir, cfg)
	l.topicID, l.start, l.recoveryPoint = topicID, start, start
	s := newSegment(dir, start)
	l.segments = []*Segment{s}
	if err := fsys.MkdirAll(dir, dirPerm); err != nil {
		return nil, fmt.Errorf("segment: create %s: %w", dir, err)
	}
	f, err := fsys.OpenFile(s.LogName(), ReadWrite|Create|Exclusive, filePerm)
	if err != nil {
		return nil, fmt.Errorf("segment: create log %s: %w", dir, err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("segment: create log %s: %w", dir, err)
	}
	if err := l.createRest(fsys); err != nil {
		return nil, err
	}
	return l, nil
}

// createRest makes the other files; the last of them sync the directory for all.
func (l *Log) createRest(fsys FS) error {
	s := l.ActiveSegment()
	for _, name := range []string{s.indexName(), s.timeIndexName()} {
		if err := writeNamed(fsys, name, nil, false); err != nil {
			return err
		}
	}
	name := l.dir + "/" + LeaderEpochCheckpoint
	if err := fsys.WriteFileAtomic(name, l.EpochCheckpoint()); err != nil {
		return fmt.Errorf("segment: write %s: %w", name, err)
	}
	name = l.dir + "/" + PartitionMetadataFile
	if !l.topicID.IsZero() { // else it is a log as Kafka had them before KIP-516
		if err := fsys.WriteFileAtomic(name, AppendPartitionMetadata(nil, l.topicID)); err != nil {
			return fmt.Errorf("segment: write %s: %w", name, err)
		}
	}
	if err := fsys.SyncDir(path.Dir(l.dir)); err != nil {
		return fmt.Errorf("segment: sync directory %s: %w", path.Dir(l.dir), err)
	}
	return nil
}
