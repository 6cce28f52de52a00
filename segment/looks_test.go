package segment

import "github.com/ringmill/ringmill/wire"

// What tests look at and nobody else asks for.

// FirstUndecidedOffset is the first offset of the oldest open transaction; ok is false if none is open.
func (l *Log) FirstUndecidedOffset() (first wire.Offset, ok bool) {
	if len(l.producers.open) == 0 {
		return 0, false
	}
	return l.producers.open[0].first, true
}

// IndexMemory is the bytes that the indexes of all segments take in memory.
func (l *Log) IndexMemory() int {
	n := 0
	for _, s := range l.segments {
		n += len(s.index.entries) + len(s.timeIndex.tail)
	}
	return n
}

// Full reports that nothing more goes in until a checkpoint is done.
func (j *Journal) Full() bool { return !j.Fits(0) }

// SyncedUpTo is the sequence number up to which all entries are on disk.
func (j *Journal) SyncedUpTo() uint64 { return j.synced }
