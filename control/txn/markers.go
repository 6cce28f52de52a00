package txn

import (
	"fmt"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// sendMarkers asks for a marker in each partition of a decided transaction.
func (c *Coordinator) sendMarkers(t *transaction) {
	if len(t.partitions) == 0 {
		c.complete(t)
		return
	}
	t.unmarked = make(map[wire.TopicPartition]struct{}, len(t.partitions))
	for _, p := range t.partitions {
		t.unmarked[p] = struct{}{}
	}
	c.lastMarkers++
	t.markers = c.lastMarkers
	c.markers[t.markers] = t
	c.mark(t, t.partitions)
}

func (c *Coordinator) mark(t *transaction, partitions []wire.TopicPartition) {
	c.fx.Markers = append(c.fx.Markers, Markers{
		ID: t.markers, ProducerID: t.producerID, ProducerEpoch: t.epoch, Commit: t.state == PrepareCommit,
		CoordinatorEpoch: c.cfg.CoordinatorEpoch, Partitions: slices.Clone(partitions),
	})
}

// Marked reports the outcome of one marker: None, or why it could not be written. A partition that is gone needs none; one
// that has seen a later epoch has had it (INVALID_PRODUCER_EPOCH). All other failures are tried again.
func (c *Coordinator) Marked(nowMS int64, wall wire.Timestamp, id MarkersID, p wire.TopicPartition, code wire.ErrorCode) Effects {
	c.begin(nowMS, wall)
	t := c.markers[id]
	if t == nil {
		panic(fmt.Sprintf("BUG: markers %d are not under way", id))
	}
	c.touched = t
	switch code {
	case wire.None, wire.UnknownTopicOrPartition, wire.InvalidProducerEpoch:
		delete(t.unmarked, p)
	default:
		if len(t.failed) == 0 {
			t.retryAtMS = c.nowMS + c.cfg.MarkerRetryMS
		}
		t.failed = append(t.failed, p)
	}
	if len(t.unmarked) == 0 {
		delete(c.markers, id)
		t.unmarked = nil
		c.complete(t)
	}
	return c.end()
}

// retryMarkers asks again for markers that could not be written.
func (c *Coordinator) retryMarkers() {
	var due []*transaction
	for _, t := range c.markers {
		if len(t.failed) > 0 && t.retryAtMS <= c.nowMS {
			due = append(due, t)
		}
	}
	for _, t := range sorted(due) {
		failed := t.failed
		t.failed = nil
		slices.SortFunc(failed, comparePartitions)
		c.mark(t, failed)
	}
}

// complete writes that the transaction is over. If that fails it is written again, as the markers are: a transaction that
// stayed decided would lock its producer out.
func (c *Coordinator) complete(t *transaction) {
	c.transit(t, t.completed(c.wall), func(code wire.ErrorCode) {
		if code != wire.None {
			c.unfinished = append(c.unfinished, t)
			c.unfinishedAtMS = c.nowMS + c.cfg.MarkerRetryMS
		}
	})
}

// retryCompletes writes again that transactions are over.
func (c *Coordinator) retryCompletes() {
	if len(c.unfinished) == 0 || c.unfinishedAtMS > c.nowMS {
		return
	}
	ts := c.unfinished
	c.unfinished = nil
	for _, t := range ts {
		c.complete(t)
	}
}
