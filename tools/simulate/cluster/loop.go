package cluster

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// loop is what an instance does that reads as a member of a group, makes a record of each record, and commits both in one transaction.
type loop struct {
	instance *instance
	member   *member
	on       *holding
	end      wire.Offset
}

// next is a transaction: what one fetch brings.
func (l *loop) next() {
	in, c := l.instance, l.instance.transactor.cluster
	l.member.busy = nil
	pause := 30 * time.Millisecond
	if c.calm { // it may be far behind
		pause = 5 * time.Millisecond
	}
	in.process.After(world.Between(c.world.Coordinators, time.Millisecond, pause), func() {
		l.member.poll(l.transact, l.next)
	})
}

func (l *loop) transact(h *holding, inputs []value, end wire.Offset) {
	in, c := l.instance, l.instance.transactor.cluster
	l.member.group.deliver(h.partition, end)
	if len(inputs) == 0 {
		h.position = end
		l.next()
		return
	}
	l.on, l.end = h, end
	in.attempt, in.failed = c.txns.begin(in), false
	in.lanes = []*txnLane{{
		instance: in, attempt: in.attempt, partition: c.world.Coordinators.IntN(c.opt.Partitions), route: noRoute, batches: 1, inputs: inputs,
	}}
	in.befall()
	if c.opt.Coordinators.OldClients {
		in.addPartitions()
		return
	}
	in.produce()
}

// commit adds the offset to the transaction, and then ends it.
func (l *loop) commit() {
	in := l.instance
	if in.transactor.cluster.opt.Coordinators.OldClients {
		l.addOffsets()
		return
	}
	l.commitOffset()
}

// addOffsets is what clients before transaction version 2 do first.
func (l *loop) addOffsets() {
	in := l.instance
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, in.transactor.id, int64(in.producerID), int16(in.epoch)
	req.Group = l.member.group.name
	in.askCoordinator(req, func(resp kmsg.Response) wire.ErrorCode {
		return wire.ErrorCode(resp.(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
	}, func(_ kmsg.Response, code wire.ErrorCode) {
		switch {
		case code == wire.None:
			l.commitOffset()
		case retriable(code):
			in.again(l.addOffsets)
		default:
			in.fenced()
		}
	}, func() { in.again(l.addOffsets) })
}

// commitOffset commits the offset in the transaction, if the member still has the partition.
func (l *loop) commitOffset() {
	in, m, c := l.instance, l.member, l.instance.transactor.cluster
	if !m.still(l.on) { // it may be a member again by now, under an epoch that says nothing of this partition
		in.failed = true
		in.decide()
		return
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 5, in.transactor.id, int64(in.producerID), int16(in.epoch)
	if c.opt.Coordinators.OldClients {
		req.Version = 3
	}
	req.Group, req.MemberID, req.Generation = m.group.name, m.called(), m.epoch
	topic, part := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	topic.Topic, part.Partition, part.Offset = topicName, int32(l.on.partition), int64(l.end)
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	m.group.ask(l.on.partition, l.end)
	in.commits()
	m.ask(req, func(resp kmsg.Response) {
		code := wire.ErrorCode(resp.(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
		c.world.Tracef("%s: offset %d of partition %d: %v", in.process.Name(), l.end, l.on.partition, code)
		switch {
		case code == wire.None:
			in.decide()
		case retriable(code):
			in.again(l.commitOffset)
		case code == wire.InvalidProducerEpoch || code == wire.ProducerFenced || code == wire.InvalidProducerIDMapping:
			in.fenced()
		default:
			in.failed = true
			in.decide()
		}
	}, func() {
		if c.opt.Coordinators.OldClients { // it could come late, and into the next transaction
			in.fenced()
			return
		}
		in.again(l.commitOffset)
	})
}

// ended goes on behind what was committed, or from there again.
func (l *loop) ended(commit bool) {
	if l.on.position = wire.NoOffset; commit {
		l.member.group.acknowledged(l.on.partition, l.end)
		l.on.position = l.end
	}
}
