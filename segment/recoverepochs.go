package segment

import (
	"slices"
	"sort"

	"github.com/ringmill/ringmill/wire"
)

// epochCheckBytes is what is read at once to look at a batch's header and its neighbour's: an index interval holds both, as a rule.
const epochCheckBytes = 8 << 10

// epochReadAll is the size of a log up to which all headers are read at once, which is cheaper than to look for each reign's first batch.
const epochReadAll = 64 << 10

// checkEpochs holds leader-epoch-checkpoint against the batches, each of which has its epoch. Kafka's file has no checksum: a digit of it that has
// changed on disk would have replicas cut their logs where these are the same, again and again. Where the two differ the batches are right.
// A log of one epoch is not looked at beyond what the scan for its end has read: that costs nothing, and most logs are such.
func (o *opener) checkEpochs() error {
	entries := o.log.epochs.entries
	switch {
	case o.doubted:
	case len(entries) == 0 || len(entries) == 1 && entries[0].Start <= o.log.start:
		return nil
	case o.log.size > epochReadAll:
		if hold, err := o.epochsHold(entries); hold || err != nil {
			return err
		}
	}
	return o.readEpochs()
}

func (o *opener) epochsHold(entries []EpochEntry) (hold bool, err error) {
	hold = true
	for i := 0; hold && err == nil && i < len(entries); i++ {
		hold, err = o.epochHolds(entries, i)
	}
	return hold, err
}

// epochHolds says whether entry i begins at a batch of its epoch, behind a batch of an earlier one. Batches may be missing on both sides, by
// retention and compaction, and those without an epoch say nothing. Where the log's start lies in a reign, the entry begins there.
func (o *opener) epochHolds(entries []EpochEntry, i int) (bool, error) {
	at := entries[i]
	before, first, from, found := wire.NoLeaderEpoch, wire.NoLeaderEpoch, wire.NoOffset, false
	n := o.log.segmentAt(at.Start)
	if n > 0 && o.log.segments[n].baseOffset == at.Start {
		n--
	}
	for _, s := range o.log.segments[n:] {
		visit := func(b wire.RecordBatch) bool {
			if found = b.LastOffset() >= at.Start; found {
				first, from = b.PartitionLeaderEpoch(), b.BaseOffset()
			} else {
				before = b.PartitionLeaderEpoch()
			}
			return !found
		}
		damage, err := o.walkWhile(s, o.positionNear(s, at.Start-1), epochCheckBytes, visit)
		if damage != nil { // perhaps it is the index that is damaged
			found = false
			before = wire.NoLeaderEpoch
			err = o.walkFrom(s, 0, func(b wire.RecordBatch) { found = found || !visit(b) })
		}
		if err != nil {
			return false, err
		}
		if found {
			break
		}
	}
	cut := i == 0 && at.Start == o.log.start // a reign that began below the log's start
	switch {
	case before >= at.Epoch && !cut:
		return false, nil
	case !found || first < 0:
		return true, nil
	case i+1 < len(entries) && from >= entries[i+1].Start:
		return true, nil // nothing is left of the reign
	}
	return first == at.Epoch && (from >= at.Start || cut), nil
}

// positionNear gives the position of the last batch with an index entry whose last offset is not above off, 0 if there is none. It reads the
// entries that a binary search asks for, and trusts them.
func (o *opener) positionNear(s *Segment, off wire.Offset) wire.Position {
	f, size, err := o.openFile(fileName("", s.baseOffset, indexSuffix)[1:])
	if err != nil {
		return 0
	}
	defer f.Close()
	entry := func(i int) OffsetEntry {
		var e [offsetEntrySize]byte
		if n, _ := f.ReadAt(e[:], int64(i)*offsetEntrySize); n < len(e) {
			return OffsetEntry{Offset: keepAll}
		}
		return readOffsetEntry(s.baseOffset, e[:], 0)
	}
	above := sort.Search(int(size)/offsetEntrySize, func(i int) bool {
		e := entry(i)
		return e.Offset > off || e.Position <= 0 // Kafka preallocates zeros
	})
	if above == 0 {
		return 0
	}
	return entry(above - 1).Position
}

// readEpochs takes the epochs that the headers of all batches have.
func (o *opener) readEpochs() error {
	l := o.log
	var epochs LeaderEpochCache
	for _, s := range l.segments {
		err := o.walkFrom(s, 0, func(b wire.RecordBatch) {
			if e := b.PartitionLeaderEpoch(); e > epochs.Latest() {
				epochs.Assign(e, b.BaseOffset())
			}
		})
		if err != nil {
			return err
		}
	}
	epochs.TruncateFromStart(l.start)
	if slices.Equal(epochs.entries, l.epochs.entries) {
		return nil
	}
	l.epochs, o.uncut = epochs, true
	o.report.RebuiltIndexes = append(o.report.RebuiltIndexes, LeaderEpochCheckpoint)
	return nil
}
