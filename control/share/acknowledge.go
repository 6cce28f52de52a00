package share

import "github.com/ringmill/ringmill/wire"

// AcknowledgeType is what a member says of a record that it was given (org.apache.kafka.clients.consumer.AcknowledgeType,
// and 0).
type AcknowledgeType int8

// The types of acknowledgements.
const (
	Gap     AcknowledgeType = 0 // there is no record of this offset
	Accept  AcknowledgeType = 1
	Release AcknowledgeType = 2 // to be delivered again
	Reject  AcknowledgeType = 3 // not to be delivered again
)

// Acknowledgement is what a member says of a run of records: one type for all of them, or one for each.
type Acknowledgement struct {
	First, Last wire.Offset // both inclusive
	Types       []int8
}

// CheckAcknowledgements says whether acknowledgements of one partition are well formed: in the order of offsets, and with types
// that there are (KafkaApis.validateAcknowledgementBatches).
func CheckAcknowledgements(acks []Acknowledgement) bool {
	before := wire.NoOffset
	for _, a := range acks {
		switch {
		case a.First > a.Last, a.First < before, len(a.Types) == 0:
			return false
		case len(a.Types) > 1 && int64(a.Last-a.First) != int64(len(a.Types)-1):
			return false
		}
		for _, t := range a.Types {
			if t < int8(Gap) || t > int8(Reject) {
				return false
			}
		}
		before = a.Last
	}
	return true
}

// The messages of Apache Kafka 4.1.1's SharePartition.
const (
	unknownRecords  = "Batch record not found. The request batch offsets are not found in the cache."
	firstBeyond     = "Batch record not found. The first offset in request is past acquired records."
	lastBeyond      = "Batch record not found. The last offset in request is past acquired records."
	notAcquired     = "The batch cannot be acknowledged. The offset is not acquired."
	anothersRecords = "Member is not the owner of offset"
)

// Acknowledge takes what a member says of records that it has, in the form that CheckAcknowledgements lets through. All of it
// counts or none. Done follows when it is in the log.
func (p *Partition) Acknowledge(nowMS int64, h Handle, member string, acks []Acknowledgement) Effects {
	p.begin(nowMS)
	if code, message := p.mayAcknowledge(member, acks); code != wire.None {
		p.fx.Done = append(p.fx.Done, Done{h, code, message})
		return p.end()
	}
	changed := false
	for i := range acks {
		changed = p.acknowledge(&acks[i]) || changed
	}
	p.await(h, changed)
	return p.end()
}

// await answers h with the next write, or at once if there is nothing to be written.
func (p *Partition) await(h Handle, changed bool) {
	switch {
	case !changed:
		p.fx.Done = append(p.fx.Done, Done{Handle: h})
	default:
		p.acks = append(p.acks, h)
		p.unwritten = true
	}
}

// mayAcknowledge says whether a member has all the records that it acknowledges. Those below the start are of no interest.
func (p *Partition) mayAcknowledge(member string, acks []Acknowledgement) (wire.ErrorCode, string) {
	before := wire.NoOffset
	for i := range acks {
		a := &acks[i]
		if a.Last < p.start {
			continue
		}
		switch {
		case len(p.runs) == 0:
			return wire.InvalidRecordState, unknownRecords
		case a.First >= p.next:
			return wire.InvalidRequest, firstBeyond
		case a.Last >= p.next:
			return wire.InvalidRequest, lastBeyond
		case a.First == before:
			return wire.InvalidRecordState, notAcquired
		}
		before = a.Last
		for j := p.find(max(a.First, p.start)); j < len(p.runs) && p.runs[j].first <= a.Last; j++ {
			switch r := &p.runs[j]; {
			case !r.locked():
				return wire.InvalidRecordState, notAcquired
			case r.member != member:
				return wire.InvalidRecordState, anothersRecords
			}
		}
	}
	return wire.None, ""
}

// acknowledge does what an acknowledgement says; false if it is of nothing that is here.
func (p *Partition) acknowledge(a *Acknowledgement) (changed bool) {
	for first := max(a.First, p.start); first <= a.Last; {
		last := a.lastAlike(first)
		kind := a.typeOf(first)
		for i := p.find(first); i < len(p.runs) && p.runs[i].first <= last; i++ {
			i = p.isolate(i, max(p.runs[i].first, first), min(p.runs[i].last, last))
			p.settle(&p.runs[i], kind)
			changed = true
		}
		first = last + 1
	}
	return changed
}

func (a *Acknowledgement) typeOf(off wire.Offset) AcknowledgeType {
	if len(a.Types) == 1 {
		return AcknowledgeType(a.Types[0])
	}
	return AcknowledgeType(a.Types[off-a.First])
}

// lastAlike is the last record from off on that is acknowledged as off is.
func (a *Acknowledgement) lastAlike(off wire.Offset) wire.Offset {
	if len(a.Types) == 1 {
		return a.Last
	}
	for off < a.Last && a.typeOf(off+1) == a.typeOf(off) {
		off++
	}
	return off
}

// settle ends a lock as its member says; the state counts when it is in the log.
func (p *Partition) settle(r *run, kind AcknowledgeType) {
	to := Archived
	switch {
	case kind == Accept:
		to = Acknowledged
	case kind == Release && r.deliveries < p.cfg.MaxDeliveries:
		to = Available
	}
	p.suspend(r, to, r.deliveries)
}

// suspend changes a run for when the log has it.
func (p *Partition) suspend(r *run, to RecordState, deliveries int16) {
	r.pending, r.before = true, lock{r.member, r.untilMS, r.deliveries}
	r.change(to, deliveries)
	p.unwritten = true
}

// release ends a lock that is over: the records are to be delivered again or, after too many deliveries, given up. That counts
// at once; if it gets lost the records count as delivered less often.
func (p *Partition) release(r *run, deliveries int16) {
	to := Available
	if deliveries >= p.cfg.MaxDeliveries {
		to = Archived
	}
	r.change(to, deliveries)
	p.unwritten, p.fx.Woken = true, true
}

// Release gives back all records that a member has, as if they had not been delivered: its session has ended. Done follows
// when that is in the log.
func (p *Partition) Release(nowMS int64, h Handle, member string) Effects {
	p.begin(nowMS)
	changed := false
	for i := range p.runs {
		if r := &p.runs[i]; r.locked() && r.member == member {
			p.suspend(r, Available, r.deliveries-1)
			changed = true
		}
	}
	p.await(h, changed)
	return p.end()
}
