package segment

import (
	"sort"
	"strconv"

	"github.com/ringmill/ringmill/wire"
)

// LeaderEpochCheckpoint is the name of the file in a partition's directory that holds its LeaderEpochCache.
const LeaderEpochCheckpoint = "leader-epoch-checkpoint"

// An EpochEntry says that a leader's reign began at an offset; it ends where the next entry begins.
type EpochEntry struct {
	Epoch wire.LeaderEpoch
	Start wire.Offset
}

// LeaderEpochCache knows which leader epoch each offset of a log was written under (Kafka's LeaderEpochFileCache, KIP-101):
// what followers and consumers compare to find where two logs part. The zero value is an empty cache.
//
// Invariant epochs-rise: from one entry to the next both the epoch and the start offset grow.
type LeaderEpochCache struct {
	entries []EpochEntry
}

// Assign notes that records from start on have the epoch, and reports whether that changed anything. Entries that would break
// epochs-rise go: those of the same or a later epoch, and those that start at start or after it. A batch without an epoch
// (-1) changes nothing.
func (c *LeaderEpochCache) Assign(epoch wire.LeaderEpoch, start wire.Offset) bool {
	if epoch < 0 {
		return false
	}
	if start < 0 {
		panic("BUG: leader epoch " + strconv.Itoa(int(epoch)) + " assigned to a negative offset")
	}
	if n := len(c.entries); n > 0 && c.entries[n-1].Epoch == epoch && c.entries[n-1].Start <= start {
		return false
	}
	keep := len(c.entries)
	for keep > 0 && (c.entries[keep-1].Epoch >= epoch || c.entries[keep-1].Start >= start) {
		keep--
	}
	c.entries = append(c.entries[:keep], EpochEntry{epoch, start})
	return true
}

// Latest gives the newest epoch, -1 if there is none.
func (c *LeaderEpochCache) Latest() wire.LeaderEpoch {
	if len(c.entries) == 0 {
		return wire.NoLeaderEpoch
	}
	return c.entries[len(c.entries)-1].Epoch
}

// Entries gives the cache's entries, oldest first: a view that is valid until the cache changes.
func (c *LeaderEpochCache) Entries() []EpochEntry { return c.entries }

// EpochAt gives the epoch that the record at off has or would have, -1 if off is below all entries or there is none.
func (c *LeaderEpochCache) EpochAt(off wire.Offset) wire.LeaderEpoch {
	i := sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Start > off })
	if i == 0 {
		return wire.NoLeaderEpoch
	}
	return c.entries[i-1].Epoch
}

// EndOffsetFor answers OffsetForLeaderEpoch: the largest epoch of this log that is not above the requested one, and where it
// ended. That is logEndOffset if the newest epoch was asked for; (-1, -1) for one above it, for -1 and for an empty cache; and
// for one below the oldest entry the requested epoch itself with the oldest entry's start, because what it wrote is gone.
func (c *LeaderEpochCache) EndOffsetFor(requested wire.LeaderEpoch, logEndOffset wire.Offset) (wire.LeaderEpoch, wire.Offset) {
	if requested < 0 || requested > c.Latest() {
		return wire.NoLeaderEpoch, wire.NoOffset
	}
	next := sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Epoch > requested })
	switch next {
	case len(c.entries):
		return requested, logEndOffset
	case 0:
		return requested, c.entries[0].Start
	}
	return c.entries[next-1].Epoch, c.entries[next].Start
}

// TruncateFromEnd removes the entries that start at end or after it: the log was cut there. It reports whether there were any.
func (c *LeaderEpochCache) TruncateFromEnd(end wire.Offset) bool {
	keep := sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Start >= end })
	changed := keep < len(c.entries)
	c.entries = c.entries[:keep]
	return changed
}

// TruncateFromStart removes the entries of epochs that ended before start, the log's new first offset; the one that start
// lies in then begins there. It reports whether that changed anything.
func (c *LeaderEpochCache) TruncateFromStart(start wire.Offset) bool {
	below := sort.Search(len(c.entries), func(i int) bool { return c.entries[i].Start > start })
	if below == 0 || below == 1 && c.entries[0].Start == start {
		return false
	}
	c.entries[below-1].Start = start
	c.entries = append(c.entries[:0], c.entries[below-1:]...)
	return true
}

// AppendTo appends the leader-epoch-checkpoint file: the version 0, the number of entries, and a line "epoch offset" each.
func (c *LeaderEpochCache) AppendTo(dst []byte) []byte {
	dst = appendCheckpointHead(dst, len(c.entries))
	for _, e := range c.entries {
		dst = strconv.AppendInt(dst, int64(e.Epoch), 10)
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, int64(e.Start), 10)
		dst = append(dst, '\n')
	}
	return dst
}

// ReadLeaderEpochCache reads the file that AppendTo makes. Entries that do not rise replace one another by Assign's rule, as in
// Kafka; a negative number is refused. The error is a *CheckpointError.
func ReadLeaderEpochCache(src []byte) (c LeaderEpochCache, err error) {
	err = readCheckpoint(src, func(fields []string) string {
		if len(fields) != 2 {
			return "want an epoch and an offset"
		}
		epoch, err := strconv.ParseInt(fields[0], 10, 32)
		if err != nil || epoch < 0 {
			return "the epoch is no number from 0 to 2147483647"
		}
		start, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil || start < 0 {
			return "the offset is no number from 0 on"
		}
		c.Assign(wire.LeaderEpoch(epoch), wire.Offset(start))
		return ""
	})
	if err != nil {
		return LeaderEpochCache{}, err
	}
	return c, nil
}
