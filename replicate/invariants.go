package replicate

import "fmt"

// checkRoles holds the invariants of PROTOCOL.md that cost little.
func checkRoles(p *Partition) {
	switch {
	case p.role != Leading && !(p.unwritten.empty() && p.unsafe.empty()):
		panic("BUG: I8: a producer waits for a replica that does not lead")
	case p.reign != nil && (p.role != Leading || p.following != nil), p.following != nil && p.role != Following:
		panic("BUG: a replica leads and follows")
	case p.reign != nil && p.reign.inFlight && p.reign.proposal.PartitionEpoch != p.partitionEpoch:
		panic(fmt.Sprintf("BUG: a proposal of partition epoch %d in flight in %d", p.reign.proposal.PartitionEpoch, p.partitionEpoch))
	}
}
