package image

import "github.com/ringmill/ringmill/wire"

// Clustered gives the metadata with which a cluster begins whose first node, and so far only one, is the standalone node that m belongs to.
// It has what a standalone node leaves unsaid: the node itself, as self says, and of each partition that this node has its one replica, in
// sync, and that nobody leads it yet. Leader epochs go on from those that the logs have. The error is a *RecordError.
func (m *Image) Clustered(self Broker) (*Image, error) {
	replicas := []wire.NodeID{self.ID}
	var records []Record
	for _, r := range liveRecords(m) {
		switch r := r.(type) {
		case ClusterRecord:
			records = append(records, ClusterRecord{ClusterID: r.ClusterID, NodeID: wire.NoNode}, BrokerRecord{self})
		case LeaderEpochRecord: // a partition's own says it from now on
		case TopicRecord:
			records = append(records, r)
			for i := range r.Partitions {
				records = append(records, PartitionRecord{r.ID, wire.PartitionIndex(i), PartitionState{
					Replicas: replicas, ISR: replicas, Leader: wire.NoNode, LeaderEpoch: m.LeaderEpochOf(m.ByID(r.ID)),
				}})
			}
		default:
			records = append(records, r)
		}
	}
	return new(Image).With(records...)
}
