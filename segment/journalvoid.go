package segment

import "github.com/ringmill/ringmill/wire"

// journalPartition is whose an entry is.
type journalPartition struct {
	topic     wire.TopicID
	partition wire.PartitionIndex
}

// journalVoid is a truncation in the journal.
type journalVoid struct {
	sequence uint64
	from     wire.Offset
}

// journalVoids are the truncations of a journal by partition, each in the order of the journal.
type journalVoids map[journalPartition][]journalVoid

// findVoids reads the journal once for its truncations. Those below the floor do not matter: neither do entries before them.
func (jr *JournalReader) findVoids() (journalVoids, error) {
	runs := jr.runs
	if err := jr.start(); err != nil {
		return nil, err
	}
	voids := journalVoids{}
	for rec, ok := jr.step(); ok; rec, ok = jr.step() {
		if e := &rec.entry; e.Truncation {
			at := journalPartition{e.TopicID, e.Partition}
			voids[at] = append(voids[at], journalVoid{rec.sequence, e.BaseOffset})
		}
	}
	jr.runs, jr.at = runs, 0
	return voids, jr.err
}

// has reports whether a later truncation has cut off the batch.
func (v journalVoids) has(rec *journalRecord) bool {
	e := &rec.entry
	if len(v) == 0 || e.Truncation {
		return false
	}
	last := e.BaseOffset
	if len(e.Batch) >= wire.RecordBatchOverhead {
		last += wire.Offset(e.Batch.LastOffsetDelta())
	}
	for _, t := range v[journalPartition{e.TopicID, e.Partition}] {
		if t.sequence > rec.sequence && last >= t.from {
			return true
		}
	}
	return false
}
