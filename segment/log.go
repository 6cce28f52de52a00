package segment

import (
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// Config holds the properties of a topic that its logs need, under their Kafka names.
type Config struct {
	SegmentBytes         int64              // segment.bytes
	SegmentMS            int64              // segment.ms
	SegmentJitterMS      int64              // segment.jitter.ms
	IndexBytes           int                // segment.index.bytes
	IndexIntervalBytes   int                // index.interval.bytes
	RetentionMS          int64              // retention.ms; -1: no bound
	RetentionBytes       int64              // retention.bytes; -1: no bound
	DeleteRetentionMS    int64              // delete.retention.ms
	MinCleanableRatio    float64            // min.cleanable.dirty.ratio
	MinCompactionLagMS   int64              // min.compaction.lag.ms
	MaxCompactionLagMS   int64              // max.compaction.lag.ms
	MessageTimestampType wire.TimestampType // message.timestamp.type
	TimestampBeforeMaxMS int64              // message.timestamp.before.max.ms
	TimestampAfterMaxMS  int64              // message.timestamp.after.max.ms
	ProducerExpirationMS int64              // producer.id.expiration.ms
	Compact, Delete      bool               // cleanup.policy
	FlushMessages        int64              // flush.messages
	FlushMS              int64              // flush.ms
}

// DefaultConfig has Kafka's defaults.
func DefaultConfig() Config {
	const week = 7 * 24 * 3600 * 1000
	const never = 1<<63 - 1
	return Config{
		SegmentBytes: 1 << 30, SegmentMS: week, IndexBytes: 10 << 20, IndexIntervalBytes: 4096,
		RetentionMS: week, RetentionBytes: -1,
		DeleteRetentionMS: 24 * 3600 * 1000, MinCleanableRatio: 0.5, MaxCompactionLagMS: never,
		TimestampBeforeMaxMS: never, TimestampAfterMaxMS: 3600 * 1000,
		ProducerExpirationMS: 24 * 3600 * 1000, Delete: true, FlushMessages: never, FlushMS: never,
	}
}

// Log is the bookkeeping of one partition's log. It does no I/O: its owner asks it for plans and tells it what became of
// them. See doc.go for the life of a batch and the invariants.
type Log struct {
	dir           string
	topicID       wire.TopicID
	config        Config
	segments      []*Segment // in the order of base offsets; never empty; the last one is active
	start         wire.Offset
	recoveryPoint wire.Offset // all below it is on disk, indexes too
	size          int64       // bytes of all segments
	recent        recentBatches
	producers     ProducerStateTable
	unreplicated  []endedTxn // transactions that ended, until ReleaseBelow passes their markers; in the order of these
	epochs        LeaderEpochCache
	epochsDirty   bool             // the leader-epoch-checkpoint file lacks a change
	snapshot      wire.Offset      // offset of the newest producer snapshot file; NoOffset if there is none
	cleaned       wire.Offset      // where the last cleaning ended; NoOffset if there was none
	rolling       bool             // between PlanRoll and Rolled or RollAbandoned
	swapping      bool             // between PlanSwap and Cleaned or SwapAbandoned
	damage        *CorruptionError // see Damage
	replicated    bool             // see SetReplicated
	steps         producerSteps    // what the newest batches have changed, if it is replicated
	behind        bool             // the journal has batches that the log cannot take
	truncating    bool             // between PlanTruncate or PlanTruncateFully and Truncated
	cutTo         wire.Offset      // where the plan that is out may have cut the files already
	emptying      bool             // it empties the log
}

func newLog(dir string, cfg Config) *Log {
	return &Log{dir: dir, config: cfg, snapshot: wire.NoOffset, cleaned: wire.NoOffset}
}

// LogStartOffset is the least offset that may be read.
func (l *Log) LogStartOffset() wire.Offset { return l.start }

// LogEndOffset is the offset of the next record.
func (l *Log) LogEndOffset() wire.Offset { return l.ActiveSegment().nextOffset }

// RecoveryPoint is the offset below which everything is on disk; recovery scans from it on.
func (l *Log) RecoveryPoint() wire.Offset { return l.recoveryPoint }

// ActiveSegment is the segment that is appended to.
func (l *Log) ActiveSegment() *Segment { return l.segments[len(l.segments)-1] }

// Segments gives all segments, oldest first: a view that is valid until the next call that changes the log.
func (l *Log) Segments() []*Segment { return l.segments }

// Size is the number of bytes of all .log files.
func (l *Log) Size() int64 { return l.size }

// Dir is the partition's directory.
func (l *Log) Dir() string { return l.dir }

// TopicID is what partition.metadata says; zero if it was not there.
func (l *Log) TopicID() wire.TopicID { return l.topicID }

// Damage is the first damage that is known of the log, or nil: what OpenLog found below the recovery point, or batches that are missing
// before those that the journal has. Records from its Offset on may be missing, and the log may have gone on behind them. Where
// no other replica has the log that is all there is. Where one has, it is to be truncated at that offset (PlanTruncate) before
// anything is fetched or read, and does not lead before it has caught up.
func (l *Log) Damage() *CorruptionError { return l.damage }

// Config gives the log's configuration; change it with SetConfig.
func (l *Log) Config() *Config { return &l.config }

// SetConfig replaces the configuration; it holds from the next call on.
func (l *Log) SetConfig(c Config) { l.config = c }

// segmentAt gives the segment that holds off or would: the last one whose base offset is not above it.
func (l *Log) segmentAt(off wire.Offset) int {
	n := len(l.segments)
	if off >= l.segments[n-1].baseOffset { // most reads are near the end
		return n - 1
	}
	return max(0, sort.Search(n, func(i int) bool { return l.segments[i].baseOffset > off })-1)
}

// ReleaseMemory drops what an idle log can do without, and says how many bytes that were: the positions of batches below the
// offset given to ReleaseBelow, and index entries that are in files. Later fetches may answer FetchNeedIndex.
func (l *Log) ReleaseMemory() int {
	n := l.recent.shrink()
	if len(l.steps.list) == 0 {
		l.steps.list = nil
	}
	for _, s := range l.segments {
		n += s.index.release() + s.txn.release(l.recent.visible)
	}
	return n
}
