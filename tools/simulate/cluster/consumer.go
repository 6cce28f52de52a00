package cluster

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// consumer reads all partitions from their beginnings, each in order, and judges what it gets.
type consumer struct {
	cluster *Cluster
	process *world.Process
	readers []*reader
}

// reader is a consumer's place in one partition.
type reader struct {
	consumer  *consumer
	partition int
	position  wire.Offset
	route     route
}

func (c *Cluster) newConsumer(id int) *consumer {
	k := &consumer{cluster: c, process: c.world.NewProcess(fmt.Sprintf("consumer %d", id), c.clientPlace())}
	for i := range c.opt.Partitions {
		k.readers = append(k.readers, &reader{consumer: k, partition: i, route: noRoute})
	}
	return k
}

func (k *consumer) start() {
	k.process.Start()
	for _, r := range k.readers {
		r.seek()
	}
}

// seek finds the leader and reads on.
func (r *reader) seek() {
	r.consumer.cluster.findLeader(r.consumer.process, r.partition, r.route, func(found route) {
		r.route = found
		r.fetch()
	})
}

func (r *reader) fetch() {
	c, node := r.consumer.cluster, r.consumer.cluster.node(r.route.leader)
	c.ask(r.consumer.process, node, "fetch", clientPatience, func(reply func(func())) {
		code, batches := node.fetch(r.partition, r.position, r.route.epoch)
		reply(func() { r.answered(code, batches) })
	}, r.retry)
}

func (r *reader) retry() { r.consumer.process.After(clientBackoff, r.seek) }

func (r *reader) answered(code wire.ErrorCode, batches []byte) {
	l := r.consumer.cluster.ledgers[r.partition]
	switch code {
	case wire.None:
	case wire.OffsetOutOfRange:
		// what it read was below a high watermark, so every later leader has it
		l.fail("I10", "%s is at offset %d, which the leader of epoch %d does not have", r.consumer.process.Name(), r.position, r.route.epoch)
		return
	default:
		r.retry()
		return
	}
	if err := entriesOf(batches, r.take); err != nil {
		l.fail("I5", "%s got damaged batches at offset %d: %v", r.consumer.process.Name(), r.position, err)
	}
	r.consumer.process.After(world.Between(r.consumer.cluster.world.Workload, 5*time.Millisecond, 60*time.Millisecond), r.fetch)
}

func (r *reader) take(off wire.Offset, e entry) {
	if off < r.position {
		return // of the batch that the position lies in
	}
	if off > r.position {
		r.consumer.cluster.ledgers[r.partition].fail("I10", "%s got offset %d after %d", r.consumer.process.Name(), off, r.position-1)
		return
	}
	r.consumer.cluster.ledgers[r.partition].read(r.consumer.process.Name(), off, e)
	r.position = off + 1
}
