package node

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// writtenRun is a partition's appends that reached the page cache this turn and wait for the journal.
type writtenRun struct {
	p     *partition
	plans []segment.AppendPlan
	bytes int
	// offered says that its batches were offered to the journal.
	offered bool
}

// flushAppends writes what the turn planned: each partition's run to its segment, then all runs once to the journal,
// and only then tells the state machines.
func (l *Loop) flushAppends() {
	for i := 0; i < len(l.dirty); i++ {
		p := l.dirty[i]
		p.dirty = false
		l.writePlans(p)
	}
	clear(l.dirty)
	l.dirty = l.dirty[:0]
	l.finishRuns()
}

// writePlans writes p's plans up to the first that must go to the ring or wait for a file.
func (l *Loop) writePlans(p *partition) {
	for len(p.plans) > 0 && len(p.writing) == 0 && p.stopped == wire.None {
		run, size := firstRun(p.plans)
		f := l.fileOf(p, run[0].Segment)
		if f == nil {
			return
		}
		if !p.dir().inlineAppends || size > l.inlineMax {
			l.writeOnRing(p, f, run)
			return
		}
		if err := l.writeInline(f, run); err != nil {
			l.writeFailed(p, err)
			return
		}
		l.runWritten(p, writtenRun{p: p, plans: run, bytes: size})
	}
}

// firstRun is the longest prefix of plans that lies in one segment, and its size in bytes.
func firstRun(plans []segment.AppendPlan) (run []segment.AppendPlan, size int) {
	n := 0
	for n < len(plans) && plans[n].Segment == plans[0].Segment && n < vectorsMax {
		size += len(plans[n].Bytes)
		n++
	}
	return plans[:n], size
}

// vectorsMax is IOV_MAX of Linux.
const vectorsMax = 1024

// writeInline writes a run with pwritev(2), going on after a short write.
func (l *Loop) writeInline(f *segmentFile, run []segment.AppendPlan) error {
	vectors := l.vectors[:0]
	for i := range run {
		vectors = append(vectors, run[i].Bytes)
	}
	l.vectors = vectors
	err := pwritevAll(f.fd, vectors, int64(run[0].Position))
	clear(l.vectors)
	return err
}

// pwritevAll writes all of vectors at offset; it consumes vectors.
func pwritevAll(fd int, vectors [][]byte, offset int64) error {
	for len(vectors) > 0 {
		n, err := iouring.Pwritev(fd, vectors, offset)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return unix.EIO
		}
		offset += int64(n)
		vectors = skipBytes(vectors, n)
	}
	return nil
}

// skipBytes drops the first n bytes of vectors.
func skipBytes(vectors [][]byte, n int) [][]byte {
	for len(vectors) > 0 && n >= len(vectors[0]) {
		n -= len(vectors[0])
		vectors = vectors[1:]
	}
	if n > 0 {
		vectors[0] = vectors[0][n:]
	}
	return vectors
}

// writeOnRing starts a run's write on the ring; one a partition, so that what is written stays a prefix.
func (l *Loop) writeOnRing(p *partition, f *segmentFile, run []segment.AppendPlan) {
	p.writing = append(p.writing[:0], run...)
	p.plans = p.plans[:copy(p.plans, p.plans[len(run):])]
	p.vectors = p.vectors[:0]
	for i := range run {
		p.vectors = append(p.vectors, p.writing[i].Bytes)
	}
	p.left, p.writeFile, p.writeAt = p.vectors, f.retain(), int64(p.writing[0].Position)
	l.engine.WriteAt(token(tokenPartWrite, p.generation, p.slot), f.fd, p.left, p.writeAt)
}

// ringWritten handles a ring write's completion: the rest of a short one is asked for again.
func (l *Loop) ringWritten(p *partition, res int32) {
	switch {
	case res > 0:
		p.writeAt += int64(res)
		p.left = skipBytes(p.left, int(res))
	case transientErrno(res):
	default:
		p.endRingWrite()
		p.plans = append(p.writing, p.plans...)
		p.writing = nil
		l.writeFailed(p, writeErrno(res))
		return
	}
	if len(p.left) > 0 {
		l.engine.WriteAt(token(tokenPartWrite, p.generation, p.slot), p.writeFile.fd, p.left, p.writeAt)
		return
	}
	run := p.writing
	p.writing = nil
	p.endRingWrite()
	if p.stopped != wire.None {
		l.stopReplica(p)
		return
	}
	_, size := firstRun(run)
	l.runs = append(l.runs, writtenRun{p: p, plans: run, bytes: size})
	l.markDirty(p) // what came in meanwhile
}

func (p *partition) endRingWrite() {
	p.writeFile.release()
	p.writeFile, p.left = nil, nil
	clear(p.vectors)
}

func writeErrno(res int32) error {
	if res == 0 {
		return unix.EIO
	}
	return unix.Errno(-res)
}

// runWritten moves an inline run from the plans to the turn's runs. The two arrays of a partition's plans take turns,
// since a run is still read when the next plans come in.
func (l *Loop) runWritten(p *partition, r writtenRun) {
	if rest := p.plans[len(r.plans):]; len(rest) == 0 {
		p.plans, p.plansSpare = p.plansSpare[:0], r.plans[:0]
	} else {
		p.plans = append([]segment.AppendPlan(nil), rest...)
	}
	l.runs = append(l.runs, r)
}

// writeFailed undoes everything planned. A full disk passes and is answered; after any other error the directory's
// state is unknown and it goes offline.
func (l *Loop) writeFailed(p *partition, err error) {
	plans := p.plans
	p.plans = nil
	if passes(err) {
		l.node.log.throttled("disk full: produce refused", "partition", p.name(), "directory", p.dir().path)
	} else {
		l.storageFault(p.dir(), "write "+p.name(), err)
	}
	if p.stopped != wire.None {
		l.stopReplica(p)
		return
	}
	p.replica.Failed(plans, wire.KafkaStorageError, &l.eff)
	l.apply(p)
	l.noRoom(p, err)
	l.fetchFailed(p)
	if p.rollWanted { // the segment may have room now
		p.rolling, p.rollWanted = false, false
		p.drainQueue()
	}
}

// passes says whether an error leaves what is on disk as it was: no room, or no descriptor. All others make it unknown.
func passes(err error) bool {
	return noRoom(err) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// finishRuns journals the turn's runs and tells the state machines that they are written.
func (l *Loop) finishRuns() {
	if len(l.runs) == 0 {
		return
	}
	l.sync.journalRuns(l, l.runs)
	l.readInstant()
	for i := range l.runs {
		run := &l.runs[i]
		p := run.p
		if p.failing() {
			continue
		}
		last := run.plans[len(run.plans)-1]
		l.metrics.appended(run.plans)
		if p.replica.Policy() == replicate.FlushCommit {
			l.sync.want(l, p)
		}
		p.stampWritten(last.LastOffset + 1)
		p.replica.Written(last.LastOffset+1, &l.eff)
		l.apply(p)
		l.fetchable(p)
		l.tryRoll(p)
		p.giveBack()
	}
	clear(l.runs)
	l.runs = l.runs[:0]
}
