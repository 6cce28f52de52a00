package segment

import (
	"errors"
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// ErrNoBatch is returned by FindBatch when no batch in the range reaches the target: a reader goes on with the next segment
// (Segment.NextOffset), as it must where compaction left a gap at a segment's end.
var ErrNoBatch = errors.New("segment: no batch at or after the offset in the range")

// ErrTopicID is returned by ReadPartitionMetadata for a partition.metadata file that is not Kafka's version 0.
var ErrTopicID = errors.New("segment: malformed partition.metadata")

// ErrSnapshot is returned by ReadProducerSnapshot for bytes that are not a producer snapshot of version 1 with a matching
// checksum. Recovery treats such a file as absent, as Kafka does.
var ErrSnapshot = errors.New("segment: malformed producer snapshot")

// ErrIndex is returned when an index file is not what the log's bookkeeping says it is.
var ErrIndex = errors.New("segment: index file does not match")

// CorruptionError says where a log is damaged: bytes that were durable once, below the recovery point, and that are no good
// batch now. They are kept as they are; what to do about them (fetch them again from another replica, refuse to lead, go
// offline) is decided above.
type CorruptionError struct {
	Dir      string        // the partition's directory; "" if the reader was not told
	Segment  wire.Offset   // base offset of the segment
	Position wire.Position // first bad byte in its .log
	End      wire.Position // where the next good batch begins, or the file's size
	Offset   wire.Offset   // the offset that was expected at Position
	Reason   string        // for people
	Err      error         // cause; may be nil
}

// Error names the file, the range and the offset.
func (e *CorruptionError) Error() string {
	where := "the .log"
	if e.Dir != "" {
		where = logName(e.Dir, e.Segment)
	}
	s := fmt.Sprintf("segment: %s is damaged at bytes %d to %d, offset %d: %s", where, e.Position, e.End, e.Offset, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *CorruptionError) Unwrap() error { return e.Err }
