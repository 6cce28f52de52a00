package node

import (
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

// sendMarkers writes the markers of an ended transaction; each outcome comes back to the inbox.
func (s *txnService) sendMarkers(shard *txnShard, m txn.Markers) {
	coordinator := shard.coordinator
	marker := txnMarker{
		producerID: m.ProducerID, epoch: m.ProducerEpoch, commit: m.Commit, coordinatorEpoch: m.CoordinatorEpoch, order: s.order,
	}
	for _, tp := range m.Partitions {
		s.node.writeMarker(tp, marker, func(code wire.ErrorCode) {
			s.report(shard, coordinator, func() txn.Effects { return coordinator.Marked(s.node.nowMS(), wallNow(), m.ID, tp, code) })
		})
	}
}

// txnMarker is the end of a producer's transaction in one partition.
type txnMarker struct {
	producerID       wire.ProducerID
	epoch            wire.ProducerEpoch
	commit           bool
	coordinatorEpoch int32
	order            txnOrder
}

// writeMarker appends a marker to a partition. Where that is one of __consumer_offsets, its group coordinator learns of it
// before then is called: who is told that a transaction is over finds its offsets. then must not block.
func (n *Node) writeMarker(tp wire.TopicPartition, m txnMarker, then func(wire.ErrorCode)) {
	b := internalBatch{
		marker: wire.AppendTxnMarker(nil, m.producerID, m.epoch, m.commit, m.coordinatorEpoch, wallNow()), order: m.order,
	}
	n.appendInternal(tp.Topic, tp.Partition, b, func(code wire.ErrorCode) {
		if code == wire.None && tp.Topic == image.ConsumerOffsetsTopic {
			n.groups.txnEnded(tp.Partition, m, func() { then(code) })
			return
		}
		then(code)
	})
}
