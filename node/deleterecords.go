package node

import (
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// toHighWatermark asks for all records to be deleted that consumers can see (DeleteRecordsRequest.HIGH_WATERMARK).
const toHighWatermark wire.Offset = -1

// DeleteRecords raises log start offsets, durably: log-start-offset-checkpoint is written before it returns. Segments that lie
// below go then.
func (n *Node) DeleteRecords(upTo map[wire.TopicPartition]wire.Offset) map[wire.TopicPartition]api.DeletedRecords {
	out := make(map[wire.TopicPartition]api.DeletedRecords, len(upTo))
	wanted := make(map[wire.TopicPartition]startRaise, len(upTo))
	for tp, off := range upTo {
		p, code := n.deletable(tp)
		if code != wire.None {
			out[tp] = api.DeletedRecords{Code: code, LowWatermark: wire.NoOffset}
			continue
		}
		wanted[tp] = startRaise{p, off}
	}
	n.raiseStarts(wanted, out)
	return out
}

// startRaise is a partition whose log is to start at an offset.
type startRaise struct {
	part *partition
	to   wire.Offset
}

// raiseStarts raises log start offsets, durably, and says in out what became of each.
func (n *Node) raiseStarts(wanted map[wire.TopicPartition]startRaise, out map[wire.TopicPartition]api.DeletedRecords) {
	raised := make(map[*logDir]map[wire.TopicPartition]*partition)
	for tp, w := range wanted {
		p := w.part
		d := api.DeletedRecords{Code: wire.KafkaStorageError, LowWatermark: wire.NoOffset} // unless the loop runs this
		var dirs []*logDir
		p.loop.on(func(*Loop) { d, dirs = p.raiseStart(w.to), p.checkpointDirs() })
		if out[tp] = d; d.Code != wire.None {
			continue
		}
		for _, dir := range dirs {
			if raised[dir] == nil {
				raised[dir] = make(map[wire.TopicPartition]*partition)
			}
			raised[dir][tp] = p
		}
	}
	for d, parts := range raised {
		err := n.writeDirCheckpoints(d, segment.LogStartCheckpoint)
		if err != nil {
			n.log.throttled("log start offsets cannot be written", "directory", d.path, "error", err)
		}
		for tp, p := range parts {
			if err != nil {
				out[tp] = api.DeletedRecords{Code: wire.KafkaStorageError, LowWatermark: wire.NoOffset}
				continue
			}
			p.loop.on(func(l *Loop) { l.retain(p) })
		}
	}
}

// checkpointDirs are the log directories whose checkpoint files have the partition: the one that it lies in, and the one that it is
// about to be moved to.
func (p *partition) checkpointDirs() []*logDir {
	if p.movingTo != nil {
		return []*logDir{p.dir(), p.movingTo}
	}
	return []*logDir{p.dir()}
}

// deletable finds a partition of a topic whose records a client may delete.
func (n *Node) deletable(tp wire.TopicPartition) (*partition, wire.ErrorCode) {
	t := n.topics.named([]byte(tp.Topic))
	p, code := t.leaderOf(tp.Partition)
	if code == wire.None && t.internal {
		return nil, wire.InvalidTopicException
	}
	return p, code
}

// raiseStart deletes the records below off from the readers' view (Partition.deleteRecordsOnLeader).
func (p *partition) raiseStart(off wire.Offset) api.DeletedRecords {
	refused := api.DeletedRecords{LowWatermark: wire.NoOffset}
	highWatermark := p.replica.HighWatermark()
	if off == toHighWatermark {
		off = highWatermark
	}
	switch {
	case p.stopped != wire.None:
		refused.Code = p.stopped
	case !p.log().Config().Delete:
		refused.Code = wire.PolicyViolation
	case off < 0 || off > highWatermark:
		refused.Code = wire.OffsetOutOfRange
	default:
		p.log().AdvanceStart(off)
		p.publish()
		return api.DeletedRecords{LowWatermark: p.log().LogStartOffset()}
	}
	return refused
}
