package segment

import (
	"fmt"
	"math"

	"github.com/ringmill/ringmill/wire"
)

// ReplicatedError says why a batch of a leader cannot be the next of this log. The log is as it was.
type ReplicatedError struct {
	Dir          string
	BaseOffset   wire.Offset      // of the batch
	Epoch        wire.LeaderEpoch // of the batch
	LogEndOffset wire.Offset
	LastEpoch    wire.LeaderEpoch // of the log's last record
	Reason       string
}

// Error names the log, the batch and where the log ends.
func (e *ReplicatedError) Error() string {
	return fmt.Sprintf("segment: a batch of offset %d and leader epoch %d is not the next of %s, which ends at %d, epoch %d: %s",
		e.BaseOffset, e.Epoch, e.Dir, e.LogEndOffset, e.LastEpoch, e.Reason)
}

// CheckReplicated says whether b, whole and of a right checksum, can follow what the log has: nil or a *ReplicatedError. It is below
// the log's end if an answer came late (Kafka's UnexpectedAppendOffsetException), and of an earlier leader epoch than the log's
// last record if this log parts from the leader's and has not been truncated. An epoch that began at the log's end and never wrote a
// batch is no obstacle: this replica led in it, and another one that did not hear of it in time has led since. Gaps are no fault.
func (l *Log) CheckReplicated(b wire.RecordBatch) error {
	reason := l.replicatedFault(b)
	if reason == "" {
		return nil
	}
	return &ReplicatedError{
		Dir: l.dir, BaseOffset: b.BaseOffset(), Epoch: b.PartitionLeaderEpoch(), LogEndOffset: l.LogEndOffset(), LastEpoch: l.lastEpoch(),
		Reason: reason,
	}
}

func (l *Log) replicatedFault(b wire.RecordBatch) string {
	switch {
	case b.LastOffsetDelta() < 0 || b.BaseOffset() > math.MaxInt64-math.MaxInt32-1:
		return "it has no sensible offsets"
	case b.BaseOffset() < l.LogEndOffset():
		return "it is below the log's end"
	case l.fallsBack(b):
		return "its leader epoch is earlier"
	}
	return ""
}

// fallsBack reports whether b's leader epoch is earlier than that of the log's last record. A batch without one says nothing.
func (l *Log) fallsBack(b wire.RecordBatch) bool {
	return b.PartitionLeaderEpoch() >= 0 && b.PartitionLeaderEpoch() < l.lastEpoch()
}

// lastEpoch is the leader epoch of the log's last record; wire.NoLeaderEpoch if that is not known.
func (l *Log) lastEpoch() wire.LeaderEpoch { return l.EpochAt(l.LogEndOffset() - 1) }
