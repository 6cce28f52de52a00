package cluster

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// looseProducers have ids from here on: acks=1, no idempotence; their records may be lost or come twice.
const looseProducers wire.ProducerID = 1000

// producer writes to all partitions: idempotent, with acks=all, and it never gives up; or, a loose one, with acks=1.
type producer struct {
	cluster *Cluster
	process *world.Process
	id      wire.ProducerID
	lanes   []*lane
}

// lane is a producer's way to one partition: batches that wait for their answers, in order, on one connection.
type lane struct {
	producer  *producer
	partition int
	next      int // counter of the next record
	waiting   []*sending
	conn      *world.Connection
	resets    int // answers on an earlier connection count no more
	route     route
	resetting bool
	known     bool // a batch was acknowledged
}

// sending is a batch that is not acknowledged.
type sending struct {
	batch []byte
	first value
	count int
	since wire.Offset // of the ledger when it was first sent
}

func (c *Cluster) newProducer(id wire.ProducerID) *producer {
	p := &producer{cluster: c, process: c.world.NewProcess(fmt.Sprintf("producer %d", id), c.clientPlace()), id: id}
	for i := range c.opt.Partitions {
		p.lanes = append(p.lanes, &lane{producer: p, partition: i, route: noRoute})
	}
	return p
}

func (p *producer) start() {
	p.process.Start()
	for _, l := range p.lanes {
		p.process.After(world.Between(p.cluster.world.Workload, 0, 20*time.Millisecond), l.turn)
	}
}

func (p *producer) acks() int16 {
	if p.id >= looseProducers {
		return replicate.AcksLeader
	}
	return replicate.AcksAll
}

// idle says that everything that was sent is acknowledged.
func (p *producer) idle() bool {
	for _, l := range p.lanes {
		if len(l.waiting) > 0 {
			return false
		}
	}
	return true
}

// turn makes a batch, if one more may wait, and comes again.
func (l *lane) turn() {
	c := l.producer.cluster
	if c.calm {
		return
	}
	if len(l.waiting) < l.inFlight() {
		l.waiting = append(l.waiting, l.make(1+c.world.Workload.IntN(3)))
		l.send(l.waiting[len(l.waiting)-1])
	}
	l.producer.process.After(world.Between(c.world.Workload, time.Millisecond, 40*time.Millisecond), l.turn)
}

// inFlight is how many batches may wait: one until the first is acknowledged, as franz-go has it. A leader that does not know the producer
// takes any sequence number for its first, so that a batch could overtake one that was refused.
func (l *lane) inFlight() int {
	if !l.known {
		return 1
	}
	return l.producer.cluster.opt.InFlight
}

func (l *lane) make(count int) *sending {
	p := l.producer
	s := &sending{first: valueOf(p.id, l.partition, l.next), count: count, since: p.cluster.ledgers[l.partition].ackedEnd}
	records := make([]wire.Record, count)
	for i := range records {
		records[i].Value = appendValue(nil, s.first+value(i))
	}
	h := wire.BatchHeader{BaseTimestamp: simulatedEpoch + wire.Timestamp(p.cluster.world.Now()/time.Millisecond)}
	if p.id < looseProducers {
		h.Idempotent, h.ProducerID, h.BaseSequence = true, p.id, wire.Sequence(l.next)
	}
	s.batch = wire.AppendRecordBatch(nil, h, records)
	l.next += count
	return s
}

// send carries one batch to the leader, or finds the way first.
func (l *lane) send(s *sending) {
	switch {
	case l.resetting:
	case l.conn == nil || l.conn.Broken():
		l.reset()
	default:
		l.carry(s)
	}
}

func (l *lane) carry(s *sending) {
	c, resets := l.producer.cluster, l.resets
	conn, node := l.conn, c.node(l.route.leader)
	batch := append([]byte(nil), s.batch...) // the node writes offsets into what it received
	conn.Send("produce", func() {
		node.produce(l.partition, batch, l.producer.acks(), claim{}, func(code wire.ErrorCode, base wire.Offset) {
			conn.Answer("produce answer", func() {
				if l.resets == resets {
					l.answered(s, code, base)
				}
			})
		})
	})
	l.producer.process.After(clientPatience, func() {
		if l.resets == resets && l.waits(s) {
			l.reset()
		}
	})
}

func (l *lane) waits(s *sending) bool {
	for _, w := range l.waiting {
		if w == s {
			return true
		}
	}
	return false
}

func (l *lane) answered(s *sending, code wire.ErrorCode, base wire.Offset) {
	c := l.producer.cluster
	if c.world.Tracing() {
		c.world.Tracef("%s: %v+%d of partition %d: %v, offset %d", l.producer.process.Name(), s.first, s.count, l.partition, code, base)
	}
	if code != wire.None {
		c.stats.refused[code]++
		l.reset()
		return
	}
	l.known = true
	kept := l.waiting[:0]
	for _, w := range l.waiting {
		if w != s {
			kept = append(kept, w)
		}
	}
	l.waiting = kept
	c.stats.acked += s.count
	if l.producer.id >= looseProducers {
		return
	}
	for i := range s.count {
		c.ledgers[l.partition].ack(s.first+value(i), base+wire.Offset(i), s.since)
	}
}

// reset gives the connection up, waits, looks for the leader, and sends everything that waits again, in order.
func (l *lane) reset() {
	if l.resetting {
		return
	}
	l.resetting = true
	l.resets++
	if l.conn != nil {
		l.conn.Close()
		l.producer.process.After(clientBackoff, l.connect)
		return
	}
	l.connect()
}

func (l *lane) connect() {
	c := l.producer.cluster
	c.findLeader(l.producer.process, l.partition, l.route, func(r route) {
		l.route = r
		l.conn = c.network.Connect(l.producer.process, c.node(r.leader).process)
		l.resetting = false
		for _, s := range l.waiting {
			l.carry(s)
		}
	})
}

// simulatedEpoch is the wall clock's time when a run begins, in milliseconds.
const simulatedEpoch wire.Timestamp = 1_700_000_000_000

func appendValue(dst []byte, v value) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) }

func readValue(b []byte) value {
	if len(b) != 8 {
		return 0
	}
	return value(binary.BigEndian.Uint64(b))
}
