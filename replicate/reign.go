package replicate

import (
	"slices"
	"time"

	"github.com/ringmill/ringmill/wire"
)

// reign is a leader's knowledge of its partition's other replicas, from Lead to the next change of the leader epoch.
type reign struct {
	self        wire.NodeID
	brokerEpoch wire.BrokerEpoch
	// start is the log's end at the beginning: who has less is not in sync, whatever the high watermark says, since that may be
	// older than what the leader before had acknowledged.
	start wire.Offset
	// now is the newest time that an event has told.
	now    time.Duration
	minISR int
	lagMax time.Duration
	// others are in the order of the assignment.
	others []progress
	// proposal is in flight if inFlight says so, and waits for the controller's answer or for newer metadata.
	proposal ISRProposal
	inFlight bool
}

func newReign(now time.Duration, s *LeaderState, start wire.Offset) *reign {
	r := &reign{self: s.Self, start: start}
	r.update(now, s, start)
	return r
}

// update takes the metadata's word over a proposal in flight: it is its outcome, or has made it void.
func (r *reign) update(now time.Duration, s *LeaderState, end wire.Offset) {
	r.now, r.brokerEpoch, r.minISR, r.lagMax = max(now, r.now), s.Registered, s.MinISR, s.LagMax
	others := make([]progress, 0, max(len(s.Replicas)-1, 0))
	for _, id := range s.Replicas {
		if id == r.self {
			continue
		}
		if known := r.other(id); known != nil {
			others = append(others, *known)
		} else {
			others = append(others, newProgress(id))
		}
	}
	r.others = others
	r.commit(s.ISR)
}

// commit makes isr the committed ISR, and ends the proposal in flight. A replica that comes in is given time to catch up.
func (r *reign) commit(isr []wire.NodeID) {
	r.inFlight, r.proposal = false, ISRProposal{}
	for i := range r.others {
		f := &r.others[i]
		f.proposed = false
		switch in := slices.Contains(isr, f.id); {
		case in && !f.inSync:
			f.inSync, f.caughtUp = true, max(f.caughtUp, r.now)
		case !in && f.inSync:
			f.leaveISR()
		}
	}
}

// other finds a replica; nil if there is none of that id.
func (r *reign) other(id wire.NodeID) *progress {
	for i := range r.others {
		if r.others[i].id == id {
			return &r.others[i]
		}
	}
	return nil
}

// isrSize counts the committed ISR.
func (r *reign) isrSize() int {
	n := 1
	for i := range r.others {
		if r.others[i].inSync {
			n++
		}
	}
	return n
}

// underMinISR says whether too few replicas are in sync to promise anything (KIP-966). No more are asked for than there are.
func (r *reign) underMinISR() bool { return r.isrSize() < min(r.minISR, 1+len(r.others)) }

// safeEnd is the end of what every replica of the maximal ISR keeps, and of what those have that are about to join it: they could
// never, if it ran ahead of them. It stands still while too few are in sync.
func (r *reign) safeEnd(p *Partition) wire.Offset {
	if r.underMinISR() {
		return p.highWatermark
	}
	safe := p.SafeEnd()
	for i := range r.others {
		if f := &r.others[i]; f.logEnd < safe && (f.inSync || f.proposed || r.joins(f, p.written)) {
			safe = f.logEnd
		}
	}
	return safe
}

// joins says whether a replica that is not in the ISR is on its way there.
func (r *reign) joins(f *progress, end wire.Offset) bool {
	return f.eligible && !f.lags(r.now, r.lagMax, end)
}

// LowWatermark is the offset below which neither this leader nor a replica that is in sync, or about to be, has records any more: what
// DeleteRecords waits for. For a replica that does not lead it is its own log's start.
func (p *Partition) LowWatermark() wire.Offset {
	low := p.log.LogStartOffset()
	if p.reign == nil {
		return low
	}
	for i := range p.reign.others {
		if f := &p.reign.others[i]; f.inSync || f.eligible {
			low = min(low, f.logStart)
		}
	}
	return low
}

// ReplicaView is what a leader knows of a replica, itself included.
type ReplicaView struct {
	ID wire.NodeID
	// LogEnd and LogStart are wire.NoOffset until it has fetched in this epoch.
	LogEnd, LogStart wire.Offset
	InSync           bool
	// Behind is for how long it has not been caught up; 0 if it has been at its last fetch.
	Behind time.Duration
}

// AppendReplicas appends what a leader knows of the replicas to dst, itself first: from this a replica for a consumer to read from is
// selected (KIP-392), and under-replicated partitions are told. Nothing if the replica has no others or does not lead.
func (p *Partition) AppendReplicas(dst []ReplicaView, now time.Duration) []ReplicaView {
	r := p.reign
	if r == nil {
		return dst
	}
	dst = append(dst, ReplicaView{ID: r.self, LogEnd: p.log.LogEndOffset(), LogStart: p.log.LogStartOffset(), InSync: true})
	for i := range r.others {
		f := &r.others[i]
		v := ReplicaView{ID: f.id, LogEnd: f.logEnd, LogStart: f.logStart, InSync: f.inSync}
		if f.lags(now, 0, p.written) {
			v.Behind = min(now-f.caughtUp, now) // of what it had before this node began, nothing is known
		}
		dst = append(dst, v)
	}
	return dst
}

// WatermarkIsOld says that a new leader's high watermark may be lower than what the leader before has shown: ListOffsets answers a
// consumer that asks for the latest offset, or for one beyond it, OFFSET_NOT_AVAILABLE (KIP-207).
func (p *Partition) WatermarkIsOld() bool { return p.reign != nil && p.highWatermark < p.reign.start }
