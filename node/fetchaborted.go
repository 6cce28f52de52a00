package node

import (
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// noneAborted is the list of a range without aborted transactions: readers of committed records get an empty one, not null.
var noneAborted = []wire.AbortedTransaction{}

// findAborted lists the aborted transactions of a part's range; false if the share is parked until a file is read. The list
// is of all that the plan's segment has below the bound: what the answer is cut to needs no more.
func (l *Loop) findAborted(s *fetchShare, p *fetchPart, plan segment.FetchPlan) bool {
	if p.file == nil || p.aborted == nil {
		return true
	}
	aborted := p.part.log().PlanAborted(plan.From, min(plan.Bound, plan.Segment.NextOffset()))
	if list, ok := aborted.Ready(); ok {
		p.tellAborted(list)
		return true
	}
	fs, part := p.part.dir().fs, p.part
	if len(part.swapping) > 0 { // planned again when that is done
		p.file.release()
		p.file, p.length = nil, 0
		part.parked = append(part.parked, s)
		return false
	}
	part.named++
	l.background(func() Message {
		list, err := aborted.Run(fs)
		return messageFunc(func(l *Loop) {
			part.named--
			if err != nil {
				l.node.log.throttled("aborted transactions cannot be read", "partition", p.part.name(), "error", err)
				p.file.release()
				p.file, p.length = nil, 0
				p.fail(wire.KafkaStorageError)
			} else {
				p.tellAborted(list)
			}
			s.planned() // not planned again: what was decided since is not in the list
			s.plan()
		})
	})
	return false
}

func (p *fetchPart) tellAborted(list []wire.AbortedTransaction) {
	if len(list) > 0 {
		p.aborted = list
	}
}
