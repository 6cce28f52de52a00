package node

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// commitOffset commits an offset of a-0 for group g as part of the transaction.
func (c *txnClient) commitOffset(offset int64) wire.ErrorCode {
	c.t.Helper()
	if !c.implicit {
		req := kmsg.NewPtrAddOffsetsToTxnRequest()
		req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = 3, c.id, c.producer, c.epoch, "g"
		retried(c.t, func() wire.ErrorCode {
			return wire.ErrorCode(c.call(req).(*kmsg.AddOffsetsToTxnResponse).ErrorCode)
		})
	}
	return c.tryCommitOffset(offset)
}

func (c *txnClient) tryCommitOffset(offset int64) wire.ErrorCode {
	c.t.Helper()
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	if req.Version = 4; c.implicit {
		req.Version = 5
	}
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group, req.Generation = c.id, c.producer, c.epoch, "g", -1
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = "a"
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = offset
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	return wire.ErrorCode(c.call(req).(*kmsg.TxnOffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}

func (c *client) commitPlainly(offset int64) {
	c.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = 8, "g", -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "a"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset = offset
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	retried(c.t, func() wire.ErrorCode {
		return wire.ErrorCode(c.call(req).(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
	})
}

// committedOffset is what OffsetFetch says of a-0 for group g.
func (c *client) committedOffset(stable bool) (offset int64, code wire.ErrorCode) {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable = 8, stable
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	topic := kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.Partitions = "a", []int32{0}
	g.Topics = append(g.Topics, topic)
	req.Groups = append(req.Groups, g)
	retried(c.t, func() wire.ErrorCode {
		resp := c.call(req).(*kmsg.OffsetFetchResponse).Groups[0]
		if resp.ErrorCode == 0 {
			offset, code = resp.Topics[0].Partitions[0].Offset, wire.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode)
		}
		return wire.ErrorCode(resp.ErrorCode)
	})
	return offset, code
}

func (c *client) wantOffsets(t *testing.T, what string, plain, stable int64, code wire.ErrorCode) {
	t.Helper()
	if got, gotCode := c.committedOffset(true); got != stable || gotCode != code {
		t.Errorf("%s: stable offset %d %s, want %d %s", what, got, gotCode, stable, code)
	}
	if got, gotCode := c.committedOffset(false); got != plain || gotCode != wire.None {
		t.Errorf("%s: offset %d %s, want %d", what, got, gotCode, plain)
	}
}

// TestTransactionalOffsets: offsets of a transaction count once it is committed, and are unstable until it has ended; over
// kill -9 too.
func TestTransactionalOffsets(t *testing.T) {
	eachTxnVersion(t, func(t *testing.T, implicit bool) {
		tn := startNode(t, nodeOptions{shape: shape{"epoll", 2}})
		tn.createTopic("a", 1)
		tn.OffsetsTopicReady()
		c := tn.txnClient("t", implicit)
		c.commitPlainly(5)
		commit := func(offset int64) {
			t.Helper()
			retried(t, func() wire.ErrorCode { return c.commitOffset(offset) })
		}
		again := func() {
			tn.kill()
			tn = tn.restart()
			c.client = tn.dial()
		}
		commit(10)
		c.wantOffsets(t, "open", 5, -1, wire.UnstableOffsetCommit)
		again()
		c.wantOffsets(t, "open, after kill -9", 5, -1, wire.UnstableOffsetCommit)
		commit(11)
		c.end(true)
		c.settled()
		c.wantOffsets(t, "committed", 11, 11, wire.None)
		again()
		c.wantOffsets(t, "committed, after kill -9", 11, 11, wire.None)

		commit(20)
		c.end(false)
		c.settled()
		c.wantOffsets(t, "aborted", 11, 11, wire.None)

		commit(30)
		c.commitPlainly(25)
		c.wantOffsets(t, "a later plain commit", 25, -1, wire.UnstableOffsetCommit)
		c.end(true)
		c.settled()
		c.wantOffsets(t, "a later plain commit counts", 25, 25, wire.None)
		again()
		c.wantOffsets(t, "a later plain commit counts, after kill -9", 25, 25, wire.None)
	})
}

// TestTransactionalOffsetsAreVerified: offsets are committed in a transaction that the coordinator knows, by its producer.
func TestTransactionalOffsetsAreVerified(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	tn.createTopic("a", 1)
	tn.OffsetsTopicReady()
	c := tn.txnClient("t", false)
	c.commitPlainly(1)
	if code := c.tryCommitOffset(5); code != wire.TransactionAbortable { // version 4 knows it
		t.Errorf("a group that was not added: %s", code)
	}
	old := *c
	tn.txnClient("t", true)
	if code := old.tryCommitOffset(5); code != wire.InvalidProducerEpoch {
		t.Errorf("a fenced producer: %s", code)
	}
	c.wantOffsets(t, "nothing was committed", 1, 1, wire.None)
}
