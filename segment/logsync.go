package segment

import "github.com/ringmill/ringmill/wire"

// SyncPlan names the files that make a log durable up to an offset under the journal: the .log files from the recovery point on, and
// what was made with them. Indexes are no part of it; recovery makes those entries again that a file lacks. The owner syncs them, by
// descriptors that it has open where it can, and then calls Synced with UpTo. A file that is gone by then was dropped, and owes nothing.
type SyncPlan struct {
	Files []SyncFile
	UpTo  wire.Offset
	Dir   string // synced after the files, since names in it are new; "" if none is
}

// SyncFile is a file of a SyncPlan.
type SyncFile struct {
	Name    string
	Segment *Segment // whose .log it is; nil for any other file
}

// PlanSync plans to make durable what was written, which ends at written.
func (l *Log) PlanSync(written wire.Offset) SyncPlan {
	p := SyncPlan{UpTo: written}
	if l.truncating {
		p.UpTo = l.recoveryPoint // files that the truncation cuts or removes: what is below the cut is synced all the same
	}
	for _, s := range l.segments {
		if s.nextOffset < l.recoveryPoint || s.baseOffset > written {
			continue
		}
		p.Files = append(p.Files, SyncFile{Name: s.LogName(), Segment: s})
		if s.baseOffset >= l.recoveryPoint {
			p.Files = append(p.Files, SyncFile{Name: fileName(s.dir, s.baseOffset, snapshotSuffix)})
			p.Dir = l.dir
		}
	}
	return p
}
