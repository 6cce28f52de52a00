package node

import (
	"errors"
	"io/fs"

	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// noneAborted is the list of a range without aborted transactions: readers of committed records get an empty one, not null.
var noneAborted = []wire.AbortedTransaction{}

// findAborted lists the aborted transactions of a part's range; false if the share is parked until a file is read. As in Kafka the
// list is of what the part may be answered with, as near as the sparse index tells.
func (l *Loop) findAborted(s *fetchShare, p *fetchPart, plan segment.FetchPlan) bool {
	if p.file == nil || p.aborted == nil {
		return true
	}
	size := min(p.length, max(int64(p.ask.MaxBytes), int64(p.first)))
	aborted := p.part.log().PlanAborted(plan.From, plan.EndOffset(wire.Position(p.position+size)))
	if list, ok := aborted.Ready(); ok {
		p.tellAborted(list)
		return true
	}
	fsys, part := p.part.dir().fs, p.part
	if len(part.swapping) > 0 { // planned again when that is done
		p.dropFile()
		part.parked = append(part.parked, s)
		return false
	}
	part.named++
	l.background(func() Message {
		list, err := aborted.Run(fsys)
		return messageFunc(func(l *Loop) {
			part.named--
			l.foundAborted(s, p, list, err)
		})
	})
	return false
}

// abortedTries is how often a part is planned again because retention or compaction took a file since: more often they do not within
// the time of a request, so that the file is missing for another reason.
const abortedTries = 5

// foundAborted goes on with a share whose aborted transactions were read.
func (l *Loop) foundAborted(s *fetchShare, p *fetchPart, list []wire.AbortedTransaction, err error) {
	stale := errors.Is(err, fs.ErrNotExist) || errors.Is(err, segment.ErrTxnIndex)
	switch {
	case err == nil:
		p.tellAborted(list)
	case stale && s.tries < abortedTries:
		s.tries++
		p.dropFile()
		s.plan()
		return
	default:
		l.node.log.throttled("aborted transactions cannot be read", "partition", p.part.name(), "error", err)
		p.dropFile()
		p.fail(wire.KafkaStorageError)
	}
	s.planned() // not planned again: what was decided since is not in the list
	s.plan()
}

// dropFile lets go of a part's range.
func (p *fetchPart) dropFile() {
	p.file.release()
	p.file, p.length = nil, 0
}

func (p *fetchPart) tellAborted(list []wire.AbortedTransaction) {
	if len(list) > 0 {
		p.aborted = list
	}
}
