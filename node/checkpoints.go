package node

import (
	"maps"
	"path/filepath"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// offsetCheckpoints are the contents of a directory's checkpoint files, by name.
type offsetCheckpoints map[string]map[wire.TopicPartition]wire.Offset

// offsetsOf collects the recovery points, high watermarks, log start offsets and ends of cleanings of a directory's
// partitions, and of those that are about to be moved there. A log start offset is written only where the first segment's name does not say it, as Kafka does.
func (n *Node) offsetsOf(d *logDir) offsetCheckpoints {
	recovery := make(map[wire.TopicPartition]wire.Offset)
	watermarks, starts, cleaned := maps.Clone(recovery), maps.Clone(recovery), maps.Clone(recovery)
	n.eachPartition(func(_ *Loop, p *partition) {
		if p.dir() != d && p.movingTo != d {
			return
		}
		tp := wire.TopicPartition{Topic: p.topic, Partition: p.index}
		recovery[tp] = p.log().RecoveryPoint()
		watermarks[tp] = p.replica.HighWatermark()
		if start := p.log().LogStartOffset(); start > p.log().Segments()[0].BaseOffset() {
			starts[tp] = start
		}
		if off := p.log().CleanerOffset(); off > 0 {
			cleaned[tp] = off
		}
	})
	return offsetCheckpoints{
		segment.RecoveryPointCheckpoint: recovery, segment.HighWatermarkCheckpoint: watermarks, segment.LogStartCheckpoint: starts,
		segment.CleanerCheckpoint: cleaned,
	}
}

// checkpointOffsets flushes what is behind and writes the recovery points and high watermarks.
func (n *Node) checkpointOffsets() {
	n.eachPartition(func(l *Loop, p *partition) {
		if p.log().RecoveryPoint() < p.replica.WrittenEnd() {
			l.startFlush(p)
		}
	})
	n.writeCheckpoints(segment.RecoveryPointCheckpoint, segment.HighWatermarkCheckpoint)
}

// checkpointStarts writes the log start offsets.
func (n *Node) checkpointStarts() { n.writeCheckpoints(segment.LogStartCheckpoint) }

// writeCheckpoints writes checkpoint files in every directory that is online, and says whether all were written.
func (n *Node) writeCheckpoints(names ...string) bool {
	ok := true
	for _, d := range n.dirs {
		if d.offline.Load() {
			continue
		}
		if err := n.writeDirCheckpoints(d, names...); err != nil {
			n.log.throttled("checkpoint files cannot be written", "directory", d.path, "error", err)
			ok = false
		}
	}
	return ok
}

func (n *Node) writeDirCheckpoints(d *logDir, names ...string) error {
	d.checkpointMu.Lock()
	defer d.checkpointMu.Unlock()
	offsets := n.offsetsOf(d)
	for _, name := range names {
		if err := d.fs.WriteFileAtomic(filepath.Join(d.path, name), segment.AppendOffsetCheckpoint(nil, offsets[name])); err != nil {
			return err
		}
		switch name {
		case segment.RecoveryPointCheckpoint:
			d.recovery = offsets[name]
		case segment.HighWatermarkCheckpoint:
			d.watermarks = offsets[name]
		case segment.LogStartCheckpoint:
			d.starts = offsets[name]
		case segment.CleanerCheckpoint:
			d.cleaned = offsets[name]
		}
	}
	return nil
}

// watermark is a partition's high watermark as the checkpoint file has it, 0 if it has none.
func (d *logDir) watermark(tp wire.TopicPartition) wire.Offset {
	d.checkpointMu.Lock()
	defer d.checkpointMu.Unlock()
	return d.watermarks[tp]
}

// forgetCheckpoints sees to it that the checkpoint files say nothing of a partition that is about to be made: one of
// that name may have been deleted, and its recovery point would make the new log look damaged after a crash, its high watermark show
// what no other replica has.
func (n *Node) forgetCheckpoints(d *logDir, tp wire.TopicPartition) error {
	d.checkpointMu.Lock()
	_, recovery := d.recovery[tp]
	_, start := d.starts[tp]
	_, cleaned := d.cleaned[tp]
	_, watermark := d.watermarks[tp]
	d.checkpointMu.Unlock()
	if !recovery && !start && !cleaned && !watermark {
		return nil
	}
	return n.writeDirCheckpoints(d, segment.RecoveryPointCheckpoint, segment.HighWatermarkCheckpoint, segment.LogStartCheckpoint, segment.CleanerCheckpoint)
}
