package group

import (
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// txnImplicitFrom is the version of TxnOffsetCommit from which on the producer adds no group to its transaction (KIP-890).
const txnImplicitFrom = 5

// txnOffsetCommit takes a TxnOffsetCommit of version 0 to 5. Its offsets are written as part of the producer's transaction
// and are seen once that has ended well; whether it is open is judged where they are written.
func (c *Coordinator) txnOffsetCommit(h Handle, req *kmsg.TxnOffsetCommitRequest) {
	g := c.lookup(req.Group)
	if code := c.checkTxnCommit(g, req); code != wire.None {
		c.reply(h, txnCommitError(req, code))
		return
	}
	if g == nil {
		if g = c.createGroup(req.Group); g == nil {
			c.reply(h, txnCommitError(req, wire.PolicyViolation))
			return
		}
	}
	c.writeTxnCommit(h, g, req)
}

// checkTxnCommit judges the group and the member, as far as the producer names one (KIP-447, from version 3 on).
func (c *Coordinator) checkTxnCommit(g *group, req *kmsg.TxnOffsetCommitRequest) wire.ErrorCode {
	switch {
	case req.Group == "":
		return wire.InvalidGroupID
	case !c.mayAppend():
		return wire.CoordinatorLoadInProgress
	case g == nil && req.Generation >= 0:
		return wire.IllegalGeneration
	case g == nil:
		return wire.None
	case g.state == Dead:
		return wire.CoordinatorNotAvailable
	case g.share != nil:
		return wire.GroupIDNotFound
	case req.Generation < 0 && req.MemberID == "" && req.InstanceID == nil:
		return wire.None
	case g.consumer != nil:
		return g.consumer.checkTxnCommit(req)
	case req.Generation < 0 && g.state == Empty:
		return wire.None
	}
	if code := g.validateMember(req.MemberID, req.InstanceID); code != wire.None {
		return code
	}
	if req.Generation != g.generation {
		return wire.IllegalGeneration
	}
	return wire.None
}

// checkTxnCommit judges a member of the consumer protocol. Clients of TxnOffsetCommit do not know STALE_MEMBER_EPOCH.
func (cg *consumerGroup) checkTxnCommit(req *kmsg.TxnOffsetCommitRequest) wire.ErrorCode {
	if req.Generation < 0 && len(cg.members) == 0 {
		return wire.None
	}
	m := cg.members[req.MemberID]
	if m == nil {
		return wire.UnknownMemberID
	}
	if code := m.checkEpoch(req.Generation); code != wire.None {
		return wire.IllegalGeneration
	}
	return wire.None
}

// writeTxnCommit makes the records of the partitions that may be committed and judges the others.
func (c *Coordinator) writeTxnCommit(h Handle, g *group, req *kmsg.TxnOffsetCommitRequest) {
	a := &txnCommitAppend{group: g, producer: wire.ProducerID(req.ProducerID), handle: h, resp: txnCommitResponse(req)}
	var records []wire.Record
	for i := range req.Topics {
		topic := &req.Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			value := committedOffset{offset: p.Offset, leaderEpoch: p.LeaderEpoch, committedAt: c.wall, expiresAt: wire.NoTimestamp}
			if p.Metadata != nil {
				value.metadata = *p.Metadata
			}
			if code := c.checkOffset(g, topic.Topic, p.Partition, value.metadata); code != wire.None {
				a.resp.Topics[i].Partitions[j].ErrorCode = int16(code)
				continue
			}
			records = append(records, offsetRecord(g.id, topic.Topic, p.Partition, value))
			a.writes = append(a.writes, offsetWrite{topic: topic.Topic, partition: p.Partition, value: value})
		}
	}
	if len(records) == 0 {
		c.dropIfNothing(g)
		c.reply(h, a.resp)
		return
	}
	a.id = c.append(records, a)
	c.fx.Appends[len(c.fx.Appends)-1].Txn = &Txn{
		TransactionalID: req.TransactionalID, ProducerID: a.producer, ProducerEpoch: wire.ProducerEpoch(req.ProducerEpoch),
		Version: req.Version, Implicit: req.Version >= txnImplicitFrom,
	}
	for i := range a.writes {
		o := c.openTxnOffset(a.producer, g, a.place(i))
		o.writes++
		a.offsets = append(a.offsets, o)
	}
}

// txnCommitAppend is the records of one TxnOffsetCommit.
type txnCommitAppend struct {
	group    *group
	id       AppendID
	producer wire.ProducerID
	writes   []offsetWrite
	offsets  []*txnOffset // of each of writes
	handle   Handle
	resp     *kmsg.TxnOffsetCommitResponse
}

func (a *txnCommitAppend) place(i int) txnPlace {
	return txnPlace{a.group.id, a.writes[i].topic, a.writes[i].partition}
}

func (a *txnCommitAppend) appended(c *Coordinator, code wire.ErrorCode) {
	for i, o := range a.offsets {
		o.writes--
		if c.txns[a.producer][a.place(i)] != o {
			continue // the group was deleted meanwhile
		}
		if code == wire.None && a.id >= o.by {
			c.storeTxnOffset(o, a.writes[i].value, a.id)
		}
		if !o.stored && o.writes == 0 {
			c.forgetTxnOffset(a.producer, a.place(i))
		}
	}
	if code != wire.None {
		setTxnCommitCode(a.resp, code)
		c.dropIfNothing(a.group)
	}
	c.reply(a.handle, a.resp)
}

// txnCommitResponse says None of every partition.
func txnCommitResponse(req *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	resp.Version = req.Version
	resp.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(req.Topics))
	for i := range req.Topics {
		from, to := &req.Topics[i], &resp.Topics[i]
		to.Topic = from.Topic
		to.Partitions = make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			to.Partitions[j].Partition = from.Partitions[j].Partition
		}
	}
	return resp
}

func txnCommitError(req *kmsg.TxnOffsetCommitRequest, code wire.ErrorCode) *kmsg.TxnOffsetCommitResponse {
	resp := txnCommitResponse(req)
	setTxnCommitCode(resp, code)
	return resp
}

func setTxnCommitCode(resp *kmsg.TxnOffsetCommitResponse, code wire.ErrorCode) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			resp.Topics[i].Partitions[j].ErrorCode = int16(code)
		}
	}
}
