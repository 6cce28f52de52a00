package segment

import "github.com/ringmill/ringmill/wire"

// EpochAt is the leader epoch under which the record at off was written; wire.NoLeaderEpoch if that is not known.
func (l *Log) EpochAt(off wire.Offset) wire.LeaderEpoch { return l.epochs.EpochAt(off) }

// LatestEpoch is the newest leader epoch that the log knows; wire.NoLeaderEpoch if it knows none.
func (l *Log) LatestEpoch() wire.LeaderEpoch { return l.epochs.Latest() }

// EndOffsetForEpoch answers OffsetForLeaderEpoch: the largest epoch at or below e, and where it ended (KIP-101, KIP-279).
func (l *Log) EndOffsetForEpoch(e wire.LeaderEpoch) (wire.LeaderEpoch, wire.Offset) {
	return l.epochs.EndOffsetFor(e, l.LogEndOffset())
}

// AssignEpoch notes that records from start on are written under e, and says whether that was news. The next PlanFlush writes
// it; until then recovery knows it from the batches.
func (l *Log) AssignEpoch(e wire.LeaderEpoch, start wire.Offset) (changed bool) {
	changed = l.epochs.Assign(e, start)
	l.epochsDirty = l.epochsDirty || changed
	return changed
}

// EpochCheckpoint is the content of the leader-epoch-checkpoint file.
func (l *Log) EpochCheckpoint() []byte { return l.epochs.AppendTo(nil) }
