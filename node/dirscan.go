package node

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// foundPartition is a partition's directory.
type foundPartition struct {
	dir  *logDir
	path string
	tp   wire.TopicPartition
}

// setAside is a partition's directory with another name: a log that was deleted or is being moved.
type setAside struct {
	tp     wire.TopicPartition
	id     wire.TopicID
	suffix string
}

// dirScan is what the log directories hold when a node starts.
type dirScan struct {
	logs map[wire.TopicPartition]foundPartition
	// futures are copies of logs that are being moved; aside are all that have such a name.
	futures []foundFuture
	aside   map[setAside]bool
	// strays are the names of logs that were set aside since no topic had them.
	strays map[*logDir][]string
}

// foundFuture is the directory of a copy.
type foundFuture struct {
	foundPartition
	id wire.TopicID
}

// scanDirs lists the partitions of all log directories, and ends the moves that a crash has caught between their two names. A
// partition in two of them is a start error: which one counts is not for a node to guess.
func (n *Node) scanDirs() error {
	s := &dirScan{logs: make(map[wire.TopicPartition]foundPartition), aside: make(map[setAside]bool), strays: make(map[*logDir][]string)}
	for _, d := range n.dirs {
		if err := s.read(d); err != nil {
			return err
		}
	}
	n.scan = s
	return s.endMoves()
}

func (s *dirScan) read(d *logDir) error {
	entries, err := d.fs.ReadDir(d.path)
	if err != nil {
		return startError(d.path, err)
	}
	for _, e := range entries {
		if !e.IsDir {
			continue
		}
		path := filepath.Join(d.path, e.Name)
		if strings.HasSuffix(e.Name, segment.StrayDirSuffix) { // of a long name, which is cut, too
			s.strays[d] = append(s.strays[d], e.Name)
			continue
		}
		if tp, id, suffix, ok := segment.ParseSetAside(e.Name); ok {
			s.aside[setAside{tp, id, suffix}] = true
			if suffix == segment.FutureDirSuffix {
				s.futures = append(s.futures, foundFuture{foundPartition{d, path, tp}, id})
			}
			continue
		}
		tp, ok := segment.ParsePartitionDir(e.Name)
		if !ok || tp.Topic == image.ClusterMetadataTopic {
			continue
		}
		if other, twice := s.logs[tp]; twice {
			return inTwoPlaces(foundPartition{d, path, tp}, other)
		}
		s.logs[tp] = foundPartition{d, path, tp}
	}
	return nil
}

// inTwoPlaces says of a partition that is in two directories which of them has more, as where one was begun anew while the other was away.
func inTwoPlaces(one, other foundPartition) error {
	mine, err := one.logBytes()
	if err != nil {
		return startError(one.path, err)
	}
	its, err := other.logBytes()
	if err != nil {
		return startError(other.path, err)
	}
	cure := "move one of the two away, and keep it: it may have records that the other has not"
	switch {
	case its == 0 && mine > 0:
		cure = "move " + other.path + " away: it has no records"
	case mine == 0:
		cure = "move " + one.path + " away: it has no records"
	}
	return &StartError{Path: one.path, Problem: fmt.Sprintf("the partition is in %s too, which has %d bytes of records, this directory %d", other.path, its, mine), Cure: cure}
}

// logBytes are the bytes of a partition's segments.
func (f foundPartition) logBytes() (bytes int64, err error) {
	entries, err := f.dir.fs.ReadDir(f.path)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name, ".log") {
			size, err := f.dir.fs.Stat(filepath.Join(f.path, e.Name))
			if err != nil {
				return 0, err
			}
			bytes += size
		}
	}
	return bytes, nil
}

// inOrder gives the logs by topic and partition.
func (s *dirScan) inOrder() []foundPartition {
	return slices.SortedFunc(maps.Values(s.logs), func(a, b foundPartition) int {
		return cmp.Or(cmp.Compare(a.tp.Topic, b.tp.Topic), cmp.Compare(a.tp.Partition, b.tp.Partition))
	})
}

// endMoves gives the log's name to each copy that was about to get it: there is no log of that name any more, and what it was
// renamed to has the copy's uuid (segment.FutureLog.TakePlace).
func (s *dirScan) endMoves() error {
	left := s.futures[:0]
	for _, f := range s.futures {
		_, there := s.logs[f.tp]
		if there || !s.aside[setAside{f.tp, f.id, segment.DeleteDirSuffix}] {
			left = append(left, f)
			continue
		}
		path := filepath.Join(f.dir.path, segment.PartitionDir(f.tp))
		if err := f.dir.fs.Rename(f.path, path); err != nil {
			return startError(f.path, err)
		}
		if err := f.dir.fs.SyncDir(f.dir.path); err != nil {
			return startError(f.dir.path, err)
		}
		slog.Info("move of a log ended after a crash", "partition", segment.PartitionDir(f.tp), "directory", f.dir.path)
		s.logs[f.tp] = foundPartition{f.dir, path, f.tp}
	}
	s.futures = left
	return nil
}

// takeFutures sorts the copies that are left: those of logs that are there are gone on with, those of no topic are removed.
func (n *Node) takeFutures() error {
	taken := make(map[wire.TopicPartition]bool)
	for _, f := range n.scan.futures {
		t := n.Image().ByName(f.tp.Topic)
		known := t != nil && f.tp.Partition < wire.PartitionIndex(t.Partitions) && readTopicID(f.dir.fs, f.path) == t.ID
		log, there := n.scan.logs[f.tp]
		switch {
		case known && !there:
			return &StartError{Path: f.path, Problem: fmt.Sprintf("partition %s has no log, only this unfinished copy of it", segment.PartitionDir(f.tp)),
				Cure: "bring back the log directory that has the log, or rename this one to " + segment.PartitionDir(f.tp) + " to go on with what was copied"}
		case known && !taken[f.tp] && log.dir != f.dir:
			taken[f.tp] = true
			n.resumed = append(n.resumed, f)
			continue
		}
		slog.Info("copy of a log removed: it is not needed any more", "directory", f.path)
		if err := f.dir.fs.RemoveAll(f.path); err != nil {
			n.log.throttled("copy of a log stays", "directory", f.path, "error", err)
		}
	}
	return nil
}

// resumeMoves goes on with the moves of an earlier run.
func (n *Node) resumeMoves() {
	for _, f := range n.resumed {
		if t := n.topics.named([]byte(f.tp.Topic)); t != nil && t.part(f.tp.Partition) != nil {
			n.beginMove(t.part(f.tp.Partition), f.dir, f.path)
		}
	}
	n.resumed = nil
}
