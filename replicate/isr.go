package replicate

import (
	"time"

	"github.com/ringmill/ringmill/wire"
)

// ISRAnswer is the controller's word on a proposal.
type ISRAnswer struct {
	Code wire.ErrorCode
	// The state that the partition is in now; meaningless beside an error.
	Epoch          wire.LeaderEpoch
	PartitionEpoch wire.PartitionEpoch
	ISR            []wire.NodeID
}

// ISRAnswered takes the controller's answer to a proposal. One that metadata has overtaken changes nothing.
//
// An answer that leaves open whether the proposal was carried out (a timeout, a broken connection: any code that is not named here)
// makes it be proposed again as it was, so that the maximal ISR keeps everybody who may be in the ISR by now. The owner waits before it
// gives such an answer, or sends again by itself.
func (p *Partition) ISRAnswered(now time.Duration, q ISRProposal, a ISRAnswer, eff *Effects) {
	r := p.reign
	if r == nil || !r.inFlight || q.Epoch != p.leaderEpoch || q.PartitionEpoch != p.partitionEpoch {
		return
	}
	r.now = max(r.now, now)
	switch a.Code {
	case wire.None:
		if a.Epoch == p.leaderEpoch && a.PartitionEpoch >= p.partitionEpoch {
			p.partitionEpoch = a.PartitionEpoch
			r.commit(a.ISR)
			p.settle(eff)
		}
	case wire.OperationNotAttempted, wire.IneligibleReplica:
		r.takeBack()
		p.settle(eff)
	case wire.FencedLeaderEpoch, wire.InvalidUpdateVersion, wire.InvalidRequest, wire.NewLeaderElected,
		wire.UnknownTopicOrPartition, wire.UnknownTopicID:
		// There is newer metadata, which is on its way; until then anybody of the maximal ISR may be in the ISR.
	default:
		eff.Proposals = append(eff.Proposals, r.proposal)
	}
}

// Replicated says whether a leader has followers.
func (p *Partition) Replicated() bool { return p.reign != nil && len(p.reign.others) > 0 }

// Tick drops who has not been caught up for replica.lag.time.max.ms from the ISR. The owner calls it every half of that.
func (p *Partition) Tick(now time.Duration, eff *Effects) {
	r := p.reign
	if r == nil {
		return
	}
	r.now = max(r.now, now)
	if r.anyOutOfSync(p.written) && !r.inFlight {
		for i := range r.others {
			f := &r.others[i]
			f.proposed = f.inSync && !f.lags(now, r.lagMax, p.written)
		}
		p.propose(eff)
	}
	p.advance(eff)
}

// SetMinISR changes min.insync.replicas.
func (p *Partition) SetMinISR(n int, eff *Effects) {
	if p.reign != nil {
		p.reign.minISR = n
		p.settle(eff)
	}
}

// Ineligible tells a leader that a replica's broker was fenced, shuts down or registered anew: it is not waited for any longer to join
// the ISR. Those who are in the ISR leave it by the controller's word. known says whether the replica has such a one.
func (p *Partition) Ineligible(id wire.NodeID, eff *Effects) (known bool) {
	if p.reign == nil {
		return false
	}
	f := p.reign.other(id)
	if f != nil {
		f.eligible = false
		p.advance(eff)
	}
	return f != nil
}

// expand proposes the ISR with f, if it may be in it.
func (p *Partition) expand(f *progress, eff *Effects) {
	r := p.reign
	if r.inFlight || f.inSync || !f.eligible || f.logEnd < p.highWatermark || f.logEnd < r.start {
		return
	}
	for i := range r.others {
		r.others[i].proposed = r.others[i].inSync
	}
	f.proposed = true
	p.propose(eff)
}

// propose asks for the ISR of those who are marked as proposed.
func (p *Partition) propose(eff *Effects) {
	r := p.reign
	r.inFlight = true
	r.proposal = ISRProposal{Ref: p.ref, Epoch: p.leaderEpoch, PartitionEpoch: p.partitionEpoch, ISR: []ISRMember{{r.self, r.brokerEpoch}}}
	for i := range r.others {
		if f := &r.others[i]; f.proposed {
			r.proposal.ISR = append(r.proposal.ISR, ISRMember{f.id, f.brokerEpoch})
		}
	}
	eff.Proposals = append(eff.Proposals, r.proposal)
}

// takeBack forgets the proposal in flight: the controller has not carried it out, and will not.
func (r *reign) takeBack() {
	r.inFlight, r.proposal = false, ISRProposal{}
	for i := range r.others {
		r.others[i].proposed = false
	}
}

func (r *reign) anyOutOfSync(end wire.Offset) bool {
	for i := range r.others {
		if f := &r.others[i]; f.inSync && f.lags(r.now, r.lagMax, end) {
			return true
		}
	}
	return false
}

// InSyncReplicas appends the committed ISR of a leader, itself first, to dst.
func (p *Partition) InSyncReplicas(dst []wire.NodeID) []wire.NodeID {
	if p.reign == nil {
		return dst
	}
	dst = append(dst, p.reign.self)
	for i := range p.reign.others {
		if f := &p.reign.others[i]; f.inSync {
			dst = append(dst, f.id)
		}
	}
	return dst
}
