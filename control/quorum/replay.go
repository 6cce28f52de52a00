package quorum

import (
	"fmt"

	pb "go.etcd.io/raft/v3/raftpb"
)

// replay is what the batches of the log lead to.
type replay struct {
	state   walState
	reset   *position // the snapshot at which the log was emptied last, if it was
	entries []logEntry
}

// logEntry is an entry and where it is.
type logEntry struct {
	entry *pb.Entry
	at    batchAt
}

// visit applies a batch. What it refuses no member has written.
func (r *replay) visit(at batchAt, b walBatch) error {
	if b.state.term < r.state.term || b.state.commit < r.state.commit || b.state.snapshot < r.state.snapshot {
		return fmt.Errorf("%w: the state falls back", errFormat)
	}
	if b.state.term == r.state.term && r.state.vote != 0 && b.state.vote != r.state.vote {
		return fmt.Errorf("%w: two votes in term %d", errFormat, b.state.term)
	}
	r.state = b.state
	if b.reset != nil {
		r.reset, r.entries = b.reset, nil
	}
	for _, e := range b.entries {
		if err := r.add(logEntry{e, at}); err != nil {
			return err
		}
	}
	if r.state.commit > r.lastIndex() && len(r.entries) > 0 {
		return fmt.Errorf("%w: entry %d is committed and the last one is %d", errBehind, r.state.commit, r.lastIndex())
	}
	return nil
}

// add puts an entry behind those before it, and drops those that it replaces. The first one that is read may be any: those
// before it went with their segments.
func (r *replay) add(e logEntry) error {
	index := e.entry.GetIndex()
	due := r.lastIndex() + 1
	switch {
	case len(r.entries) == 0 && (r.reset == nil || index == due):
	case index > due || r.reset != nil && index <= r.reset.index:
		return fmt.Errorf("%w: entry %d where %d was due", errGap, index, due)
	case index <= r.entries[0].entry.GetIndex():
		r.entries = nil
	default:
		r.entries = r.entries[:index-r.entries[0].entry.GetIndex()]
	}
	if n := len(r.entries); n > 0 && r.entries[n-1].entry.GetTerm() > e.entry.GetTerm() {
		return fmt.Errorf("%w: entry %d of term %d follows one of term %d", errFormat, index, e.entry.GetTerm(), r.entries[n-1].entry.GetTerm())
	}
	r.entries = append(r.entries, e)
	return nil
}

func (r *replay) lastIndex() uint64 {
	if n := len(r.entries); n > 0 {
		return r.entries[n-1].entry.GetIndex()
	}
	if r.reset != nil {
		return r.reset.index
	}
	return 0
}

// above gives the entries above the snapshot, and before them those that the log still has below it. The log says nothing of
// a snapshot that a crash left before the log was emptied for it: settled is false, and no entry counts.
func (r *replay) above(snap position) (kept []logEntry, settled bool, err error) {
	if len(r.entries) == 0 {
		return nil, snap.index == 0 || r.reset != nil && *r.reset == snap, nil
	}
	first, last := r.entries[0].entry.GetIndex(), r.lastIndex()
	switch {
	case first > snap.index+1:
		return nil, false, fmt.Errorf("%w: the snapshot is at %d, and the log begins at %d", errGap, snap.index, first)
	case last < snap.index:
		return nil, false, nil
	case first == snap.index+1:
		return r.entries, r.reset == nil || *r.reset == snap, nil
	}
	at := r.entries[snap.index-first].entry
	return r.entries, at.GetTerm() == snap.term, nil
}
