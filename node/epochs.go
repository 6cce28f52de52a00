package node

import (
	"errors"
	"io/fs"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// writeEpochs puts the leader epochs' start offsets on disk, as soon as nobody else writes them. A crash before that is mended by recovery,
// which finds the epochs in the batches.
func (l *Loop) writeEpochs(p *partition) {
	p.epochsMoved = true
	l.tryEpochs(p)
}

// tryEpochs begins the write of the leader-epoch-checkpoint that is wanted once nothing is in its way: an earlier one, a flush, which writes the
// file too, or who holds the partition's files. So the file has one writer at a time, and in the end what is newest: goroutines
// that write it side by side end in any order.
func (l *Loop) tryEpochs(p *partition) {
	if !p.epochsMoved || p.writingEpochs || p.flushing || p.held || p.stopped != wire.None {
		return
	}
	p.epochsMoved, p.writingEpochs = false, true
	text, fsys, name := p.log().EpochCheckpoint(), p.dir().fs, p.log().Dir()+"/"+segment.LeaderEpochCheckpoint
	l.backgroundOf(p, func() Message {
		if err := fsys.WriteFileAtomic(name, text); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.node.log.throttled("leader epochs cannot be written", "file", name, "error", err)
		}
		return messageFunc(func(l *Loop) { l.epochsWritten(p) })
	})
}

// epochsWritten begins what waits for the leader-epoch-checkpoint.
func (l *Loop) epochsWritten(p *partition) {
	p.writingEpochs = false
	if p.flushWanted {
		p.flushWanted = false
		l.startFlush(p)
	}
	l.tryEpochs(p)
}
