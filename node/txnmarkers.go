package node

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/wire"
)

// sendMarkers writes the markers of an ended transaction, wherever its partitions are led; each outcome comes back to the inbox.
func (s *txnService) sendMarkers(shard *txnShard, m txn.Markers) {
	coordinator := shard.coordinator
	marker := txnMarker{
		producerID: m.ProducerID, epoch: m.ProducerEpoch, commit: m.Commit, coordinatorEpoch: m.CoordinatorEpoch, order: s.order,
	}
	for _, tp := range m.Partitions {
		then := func(code wire.ErrorCode) {
			s.report(shard, coordinator, func() txn.Effects { return coordinator.Marked(s.node.nowMS(), wallNow(), m.ID, tp, code) })
		}
		switch leader, remote := s.node.elsewhere(tp.Topic, tp.Partition); {
		case !remote:
			s.node.writeMarker(tp, marker, then)
		case leader == wire.NoNode:
			then(wire.NotLeaderOrFollower)
		default:
			s.markers.put(leader, remoteMarker{tp, marker, then})
		}
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

// remoteMarker is a marker for a partition that another node leads.
type remoteMarker struct {
	partition wire.TopicPartition
	marker    txnMarker
	then      func(wire.ErrorCode)
}

// markerAskers bounds the requests with markers that are under way to one node, markersAtOnce the markers of one: a topic's name has 249
// bytes at most, so that they stay below coldBytesMax.
const (
	markerAskers  = 4
	markersAtOnce = 1000
)

func newRemoteMarkers(n *Node) *remoteCalls[remoteMarker] {
	return &remoteCalls[remoteMarker]{
		node: n, askers: markerAskers, batch: markersAtOnce, ask: n.askMarkers,
		lost: func(m remoteMarker) { m.then(wire.NetworkException) },
	}
}

// askMarkers has another node write markers (WriteTxnMarkers 1).
func (n *Node) askMarkers(address string, what []remoteMarker) error {
	resp, err := n.cluster.peers.call(address, markersRequest(what), remoteTimeout)
	if err != nil {
		return err
	}
	type key struct {
		producer  int64
		partition wire.TopicPartition
	}
	codes := make(map[key]wire.ErrorCode, len(what))
	for _, m := range resp.(*kmsg.WriteTxnMarkersResponse).Markers {
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				codes[key{m.ProducerID, wire.TopicPartition{Topic: t.Topic, Partition: wire.PartitionIndex(p.Partition)}}] = wire.ErrorCode(p.ErrorCode)
			}
		}
	}
	for _, w := range what {
		code, answered := codes[key{int64(w.marker.producerID), w.partition}]
		if !answered || code == wire.UnknownTopicOrPartition { // whether it is gone is what this node's own metadata says
			code = wire.NotLeaderOrFollower
		}
		w.then(code)
	}
	return nil
}

// markersRequest has one entry a transaction.
func markersRequest(what []remoteMarker) *kmsg.WriteTxnMarkersRequest {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 1
	for _, w := range what {
		m := kmsg.WriteTxnMarkersRequestMarker{
			ProducerID: int64(w.marker.producerID), ProducerEpoch: int16(w.marker.epoch), Committed: w.marker.commit, CoordinatorEpoch: w.marker.coordinatorEpoch,
		}
		i := slices.IndexFunc(req.Markers, func(o kmsg.WriteTxnMarkersRequestMarker) bool {
			return o.ProducerID == m.ProducerID && o.ProducerEpoch == m.ProducerEpoch && o.Committed == m.Committed && o.CoordinatorEpoch == m.CoordinatorEpoch
		})
		if i < 0 {
			i, req.Markers = len(req.Markers), append(req.Markers, m)
		}
		into := &req.Markers[i]
		j := slices.IndexFunc(into.Topics, func(t kmsg.WriteTxnMarkersRequestMarkerTopic) bool { return t.Topic == w.partition.Topic })
		if j < 0 {
			j, into.Topics = len(into.Topics), append(into.Topics, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: w.partition.Topic})
		}
		into.Topics[j].Partitions = append(into.Topics[j].Partitions, int32(w.partition.Partition))
	}
	return req
}

// WriteTxnMarkers ends producers' transactions, each in one partition: for the coordinators of other nodes, and for administrators where
// no coordinator will. It waits until all are durable and gives their codes in order.
func (n *Node) WriteTxnMarkers(markers []api.TxnMarker) []wire.ErrorCode {
	type outcome struct {
		index int
		code  wire.ErrorCode
	}
	done := make(chan outcome, len(markers))
	for i, m := range markers {
		marker := txnMarker{m.ProducerID, m.ProducerEpoch, m.Commit, m.CoordinatorEpoch, txnOrderForeign}
		n.writeMarker(m.Partition, marker, func(code wire.ErrorCode) { done <- outcome{i, code} })
	}
	codes := slices.Repeat([]wire.ErrorCode{wire.NotLeaderOrFollower}, len(markers))
	for range markers {
		select {
		case o := <-done:
			codes[o.index] = o.code
		case <-n.quit:
			return codes
		}
	}
	return codes
}
