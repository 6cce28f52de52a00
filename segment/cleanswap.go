package segment

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ringmill/ringmill/wire"
)

// SwapPlan puts a cleaned segment in the place of those it was made of.
type SwapPlan struct {
	group CleanedGroup
	bases []wire.Offset // of the segments that go
}

// Sources are the segments that Cleaned takes out of the log. Until then no file of theirs may be opened by name: it may be the
// new one already. Those that are open stay good.
func (p *SwapPlan) Sources() []*Segment { return p.group.sources }

// PlanSwap plans to put g in place. ok is false if retention or a truncation has taken one of its segments meanwhile: then Discard it. Until
// Cleaned or SwapAbandoned nothing of the log is retained away, and no other swap begins.
func (l *Log) PlanSwap(g CleanedGroup) (p SwapPlan, ok bool) {
	if l.swapping {
		panic("BUG: a swap begins while another is under way")
	}
	if l.truncating {
		return p, false
	}
	first := l.segmentAt(g.next.baseOffset)
	for i, s := range g.sources {
		if first+i >= len(l.segments)-1 || l.segments[first+i] != s {
			return p, false
		}
		p.bases = append(p.bases, s.baseOffset)
	}
	p.group = g
	l.swapping = true
	return p, true
}

// Run renames and removes, so that a crash at any point leaves the old segments or the new one (Kafka's LocalLog.replaceSegments):
//
//	.cleaned → .swap    from here on recovery finishes the swap (leftovers.go)
//	the others go       so that no two files have the same offsets
//	.swap → its name    the .log first: while it is a .swap, recovery takes what else has its offset for old
//
// each of them durable before the next. After an error the directory is between two states; only recovery may go on.
func (p *SwapPlan) Run(fsys FS) error {
	g := &p.group
	if err := g.rename(fsys, cleanedSuffixes[:], cleanedSuffix, swapSuffix); err != nil {
		return err
	}
	for _, base := range p.bases[1:] {
		for _, suffix := range segmentSuffixes {
			name := fileName(g.dir, base, suffix)
			if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("segment: remove %s: %w", name, err)
			}
		}
	}
	if len(p.bases) > 1 {
		if err := fsys.SyncDir(g.dir); err != nil {
			return fmt.Errorf("segment: sync directory %s: %w", g.dir, err)
		}
	}
	if err := g.rename(fsys, cleanedSuffixes[:1], swapSuffix, ""); err != nil {
		return err
	}
	return g.rename(fsys, cleanedSuffixes[1:], swapSuffix, "")
}

// rename gives files of the group another suffix, durably.
func (g *CleanedGroup) rename(fsys FS, suffixes []string, from, to string) error {
	for _, suffix := range suffixes {
		if suffix == txnIndexSuffix && !g.indexed {
			continue
		}
		name := fileName(g.dir, g.next.baseOffset, suffix)
		if err := fsys.Rename(name+from, name+to); err != nil {
			return fmt.Errorf("segment: rename %s%s: %w", name, from, err)
		}
	}
	if err := fsys.SyncDir(g.dir); err != nil {
		return fmt.Errorf("segment: sync directory %s: %w", g.dir, err)
	}
	return nil
}

// Cleaned says that the plan has run: the new segment is in the log, and those it was made of are not.
func (l *Log) Cleaned(p SwapPlan) *Segment {
	g := &p.group
	i := l.segmentAt(g.next.baseOffset)
	if !l.swapping || l.segments[i] != g.sources[0] {
		panic("BUG: cleaned without a swap")
	}
	l.swapping = false
	segments := make([]*Segment, 0, len(l.segments)-len(g.sources)+1)
	segments = append(append(segments, l.segments[:i]...), g.next)
	segments = append(segments, l.segments[i+len(g.sources):]...)
	for _, s := range g.sources {
		l.size -= int64(s.size)
	}
	l.size += int64(g.next.size)
	l.segments = segments
	l.recent.drop(g.next.nextOffset)
	return g.next
}

// SwapAbandoned says that the plan will not be run.
func (l *Log) SwapAbandoned(SwapPlan) { l.swapping = false }

// CleanDone says that all groups of a job are swapped in or discarded, and that the log is clean below off, the job's Through.
func (l *Log) CleanDone(off wire.Offset) { l.cleaned = off }
