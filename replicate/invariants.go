package replicate

import "fmt"

// checkRoles holds the invariants of PROTOCOL.md that cost little, and the others if the build says so.
func (p *Partition) checkRoles() {
	switch {
	case p.reign != nil && (p.role != Leading || p.following != nil), p.following != nil && p.role != Following:
		panic("BUG: R1: a replica leads and follows")
	case p.role != Leading && !(p.unwritten.empty() && p.unsafe.empty()):
		panic("BUG: R2: a producer waits at a replica that does not lead")
	case p.reign != nil && p.reign.inFlight && p.reign.proposal.PartitionEpoch != p.partitionEpoch:
		panic(fmt.Sprintf("BUG: R3: a proposal of partition epoch %d in flight in %d", p.reign.proposal.PartitionEpoch, p.partitionEpoch))
	}
	if checkEverything {
		p.checkCostly()
	}
}

// checkCostly holds R5 to R7.
func (p *Partition) checkCostly() {
	if r := p.reign; r != nil {
		proposed := 0
		for i := range r.others {
			f := &r.others[i]
			if f.proposed {
				proposed++
			}
			if f.eligible && f.logEnd < 0 {
				panic(fmt.Sprintf("BUG: R6: replica %d is eligible and has not fetched", f.id))
			}
		}
		if r.inFlight != (len(r.proposal.ISR) > 0) || max(len(r.proposal.ISR)-1, 0) != proposed {
			panic(fmt.Sprintf("BUG: R5: %d proposed, the proposal in flight is %v", proposed, r.proposal.ISR))
		}
	}
	if (p.reign != nil || p.following != nil) && p.log.LatestEpoch() > p.leaderEpoch {
		panic(fmt.Sprintf("BUG: R7: a log with epoch %d in epoch %d", p.log.LatestEpoch(), p.leaderEpoch))
	}
}
