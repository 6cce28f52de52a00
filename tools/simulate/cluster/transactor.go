package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// transactionalProducers have ids from here on in the values that they write.
const transactionalProducers wire.ProducerID = 2000

// transactor is a transactional id and the instances of its producer: one, another one when that has died, and now and then two at once.
type transactor struct {
	cluster   *Cluster
	id        string
	number    wire.ProducerID // in values
	place     int             // of its coordinator's partition
	counters  []int           // of the next value, by partition
	instances []*instance     // that live
	started   int
	group     *groupLedger // nil: it makes records of its own; else of what it reads as a member of this group
}

func (c *Cluster) newTransactor(i int) *transactor {
	id := fmt.Sprintf("transactor %d", i)
	return &transactor{
		cluster: c, id: id, number: transactionalProducers + wire.ProducerID(i), counters: make([]int, c.opt.Partitions),
		place: c.coordinatorPlace(image.TransactionStateTopic, id),
	}
}

// begin starts an instance, a while from now.
func (t *transactor) begin(after time.Duration) {
	t.started++
	c := t.cluster
	in := &instance{
		transactor: t, process: c.world.NewProcess(fmt.Sprintf("%s.%d", t.id, t.started), c.clientPlace()), route: noRoute,
		producerID: wire.NoProducerID, epoch: wire.NoProducerEpoch,
	}
	in.process.Start()
	if t.group != nil {
		in.loop = &loop{instance: in, member: t.group.newMember(in.process)}
	}
	t.instances = append(t.instances, in)
	in.process.After(after, in.initialize)
}

// idle says that no instance has anything to do.
func (t *transactor) idle() bool {
	return t.group != nil || !slices.ContainsFunc(t.instances, func(in *instance) bool { return !in.done })
}

// instance is one run of a transactional producer.
type instance struct {
	transactor *transactor
	process    *world.Process
	route      route // of the coordinator
	producerID wire.ProducerID
	epoch      wire.ProducerEpoch
	sequences  map[int]wire.Sequence // of the next record, by partition, in this epoch
	attempt    *attempt
	lanes      []*txnLane // of the transaction, those that are not through
	failed     bool       // the transaction is to be aborted
	done       bool       // the run is over, and it has nothing open
	loop       *loop      // nil: it makes records of its own
}

// dies ends the instance in the middle of what it does; another one begins, unless there is one.
func (in *instance) dies(after time.Duration) {
	t := in.transactor
	in.process.End()
	t.instances = slices.DeleteFunc(t.instances, func(other *instance) bool { return other == in })
	if len(t.instances) == 0 && (t.group != nil || !t.cluster.calm) {
		t.begin(after)
	}
}

// again does something once more, a little later.
func (in *instance) again(fn func()) {
	in.process.After(world.Between(in.transactor.cluster.world.Coordinators, clientBackoff/10, clientBackoff), fn)
}

// askCoordinator sends a request to the coordinator, wherever that is. What the coordinator says that a client is to ask again for
// is asked again, and what is lost too, if again.
func (in *instance) askCoordinator(req kmsg.Request, code func(kmsg.Response) wire.ErrorCode, answered func(kmsg.Response, wire.ErrorCode), lost func()) {
	c, t := in.transactor.cluster, in.transactor
	c.findLeader(in.process, t.place, in.route, func(found route) {
		in.route = found
		node := c.node(found.leader)
		c.ask(in.process, node, fmt.Sprintf("%T", req), clientPatience, func(reply func(func())) {
			node.later(func() {
				node.txns.handle(t.place, req, func(resp kmsg.Response) {
					reply(func() {
						c.world.Tracef("%s: %T: %v", in.process.Name(), req, code(resp))
						answered(resp, code(resp))
					})
				})
			})
		}, lost)
	})
}

// retriable says that a client asks again.
func retriable(code wire.ErrorCode) bool {
	switch code {
	case wire.ConcurrentTransactions, wire.CoordinatorLoadInProgress, wire.CoordinatorNotAvailable, wire.NotCoordinator, wire.NotLeaderOrFollower,
		wire.NotEnoughReplicas, wire.NotEnoughReplicasAfterAppend, wire.RequestTimedOut, wire.NetworkException, wire.KafkaStorageError,
		wire.UnknownTopicOrPartition, wire.UnstableOffsetCommit:
		return true
	}
	return false
}

// initialize gets the producer's id and epoch, which fences the instances before.
func (in *instance) initialize() {
	c := in.transactor.cluster
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID = 5, &in.transactor.id
	req.TransactionTimeoutMillis = int32(c.opt.Coordinators.Timeout / time.Millisecond)
	in.askCoordinator(req, func(resp kmsg.Response) wire.ErrorCode {
		return wire.ErrorCode(resp.(*kmsg.InitProducerIDResponse).ErrorCode)
	}, func(resp kmsg.Response, code wire.ErrorCode) {
		if code != wire.None {
			in.again(in.initialize)
			return
		}
		r := resp.(*kmsg.InitProducerIDResponse)
		in.is(r.ProducerID, r.ProducerEpoch)
		in.next()
	}, func() { in.again(in.initialize) })
}

// is takes an id and epoch up. Sequence numbers begin anew.
func (in *instance) is(id int64, epoch int16) {
	if in.producerID != wire.ProducerID(id) || in.epoch != wire.ProducerEpoch(epoch) {
		in.producerID, in.epoch, in.sequences = wire.ProducerID(id), wire.ProducerEpoch(epoch), map[int]wire.Sequence{}
	}
}

// next begins a transaction, after a while.
func (in *instance) next() {
	c := in.transactor.cluster
	in.attempt = nil
	if in.loop != nil {
		in.loop.next()
		return
	}
	if c.calm {
		in.done = true
		return
	}
	in.process.After(world.Between(c.world.Coordinators, 0, 20*time.Millisecond), in.transact)
}

// transact is a transaction: records to some partitions, and its end.
func (in *instance) transact() {
	c, r := in.transactor.cluster, in.transactor.cluster.world.Coordinators
	in.attempt, in.failed, in.lanes = c.txns.begin(in), false, nil
	for _, partition := range r.Perm(c.opt.Partitions)[:1+r.IntN(min(3, c.opt.Partitions))] {
		in.lanes = append(in.lanes, &txnLane{instance: in, attempt: in.attempt, partition: partition, route: noRoute, batches: 1 + r.IntN(3)})
	}
	in.befall()
	if c.opt.Coordinators.OldClients {
		in.addPartitions()
		return
	}
	in.produce()
}

func (in *instance) produce() {
	for _, l := range slices.Clone(in.lanes) {
		l.turn()
	}
}

// befall draws what happens to the instance during a transaction.
func (in *instance) befall() {
	c, r := in.transactor.cluster, in.transactor.cluster.world.Coordinators
	life := in.process.Life()
	if c.calm {
		return
	}
	if world.Chance(r, c.opt.Coordinators.Deaths) {
		in.process.After(world.Between(r, 0, 300*time.Millisecond), func() {
			if in.process.Life() == life {
				in.dies(world.Between(r, 0, 300*time.Millisecond))
			}
		})
	} else if world.Chance(r, c.opt.Coordinators.Zombies) {
		in.process.After(world.Between(r, 0, 100*time.Millisecond), func() {
			if !c.calm {
				in.transactor.begin(0)
			}
		})
	}
}

// addPartitions is what clients before transaction version 2 do first.
func (in *instance) addPartitions() {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, in.transactor.id, int64(in.producerID), int16(in.epoch)
	topic := kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic = topicName
	for _, l := range in.lanes {
		topic.Partitions = append(topic.Partitions, int32(l.partition))
	}
	req.Topics = append(req.Topics, topic)
	in.askCoordinator(req, func(resp kmsg.Response) wire.ErrorCode {
		return wire.ErrorCode(resp.(*kmsg.AddPartitionsToTxnResponse).Topics[0].Partitions[0].ErrorCode)
	}, func(_ kmsg.Response, code wire.ErrorCode) {
		switch {
		case code == wire.None:
			in.produce()
		case retriable(code):
			in.again(in.addPartitions)
		default:
			in.fenced()
		}
	}, func() { in.again(in.addPartitions) })
}

// fenced ends an instance that another one has followed, or whose transaction took too long.
func (in *instance) fenced() {
	in.dies(world.Between(in.transactor.cluster.world.Coordinators, 0, 200*time.Millisecond))
}

// through says that a lane has nothing more to send; the last one ends the transaction.
func (in *instance) through(l *txnLane) {
	in.lanes = slices.DeleteFunc(in.lanes, func(other *txnLane) bool { return other == l })
	if len(in.lanes) > 0 {
		return
	}
	if in.loop != nil && !in.failed {
		in.loop.commit()
		return
	}
	in.decide()
}

// decide ends the transaction, well or not.
func (in *instance) decide() {
	c := in.transactor.cluster
	commit := !in.failed && (c.calm || !world.Chance(c.world.Coordinators, c.opt.Coordinators.Aborts))
	in.end(commit, true)
}

// end asks the coordinator for the transaction's end until it has answered.
func (in *instance) end(commit, first bool) {
	c, a := in.transactor.cluster, in.attempt
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 5, in.transactor.id, int64(in.producerID), int16(in.epoch), commit
	if c.opt.Coordinators.OldClients {
		req.Version = 3
	}
	a.commitSent = a.commitSent || commit
	if first && !c.opt.Coordinators.OldClients && world.Chance(c.world.Coordinators, c.opt.Coordinators.Late) {
		in.endLate(*req)
	}
	in.askCoordinator(req, func(resp kmsg.Response) wire.ErrorCode {
		return wire.ErrorCode(resp.(*kmsg.EndTxnResponse).ErrorCode)
	}, func(resp kmsg.Response, code wire.ErrorCode) {
		switch {
		case code == wire.None:
			a.ended(commit)
			if in.loop != nil {
				in.loop.ended(commit)
			}
			r := resp.(*kmsg.EndTxnResponse)
			if r.Version < 5 && in.failed { // its numbers go on behind a batch that is in no log: a new epoch begins them anew (KIP-360)
				in.initialize()
				return
			}
			if r.Version >= 5 {
				in.is(r.ProducerID, r.ProducerEpoch)
			}
			in.next()
		case retriable(code):
			in.again(func() { in.end(commit, false) })
		default:
			in.fenced()
		}
	}, func() {
		if c.opt.Coordinators.OldClients { // a request that comes late would end the next transaction: the next instance's epoch fences it
			in.fenced()
			return
		}
		in.again(func() { in.end(commit, false) })
	})
}

// endLate has the same EndTxn come once more, later than anybody expects.
func (in *instance) endLate(req kmsg.EndTxnRequest) {
	c, t := in.transactor.cluster, in.transactor
	c.world.After(world.Between(c.world.Coordinators, time.Millisecond, 1500*time.Millisecond), func() {
		node := c.leaderByBelief(t.place)
		if node == nil || !node.process.Running() {
			return
		}
		c.network.Send(in.process, node.process, "late EndTxn", func() {
			node.later(func() {
				node.txns.handle(t.place, &req, func(resp kmsg.Response) {
					c.world.Tracef("%s: late EndTxn: %v", in.process.Name(), wire.ErrorCode(resp.(*kmsg.EndTxnResponse).ErrorCode))
				})
			})
		})
	})
}

// txnLane is a transaction's way to one partition: one batch at a time.
type txnLane struct {
	instance  *instance
	attempt   *attempt
	partition int
	route     route
	batches   int // that are left
	sending   []value
	batch     []byte
	since     wire.Offset
	doubt     bool    // a request for the batch may have got through
	inputs    []value // of a loop: what the records are made of, one each
}

// turn makes the next batch and sends it.
func (l *txnLane) turn() {
	in := l.instance
	t, c := in.transactor, in.transactor.cluster
	if l.batches == 0 || in.failed {
		in.through(l)
		return
	}
	l.batches--
	l.doubt, l.since, l.sending = false, c.ledgers[l.partition].ackedEnd, nil
	count := len(l.inputs)
	if in.loop == nil {
		count = 1 + c.world.Coordinators.IntN(3)
	}
	records := make([]wire.Record, count)
	for i := range records {
		v := valueOf(t.number, l.partition, t.counters[l.partition])
		t.counters[l.partition]++
		records[i].Value = appendValue(nil, v)
		l.sending = append(l.sending, v)
		if in.loop != nil {
			c.txns.made[v] = l.inputs[i]
		}
	}
	l.attempt.send(l.sending)
	sequence := in.sequences[l.partition]
	in.sequences[l.partition] = sequence.Add(int32(len(records)))
	l.batch = wire.AppendRecordBatch(nil, wire.BatchHeader{
		BaseTimestamp: simulatedEpoch + wire.Timestamp(c.world.Now()/time.Millisecond), Transactional: true, Idempotent: true,
		ProducerID: in.producerID, ProducerEpoch: in.epoch, BaseSequence: sequence,
	}, records)
	l.find()
}

func (l *txnLane) find() {
	in := l.instance
	in.transactor.cluster.findLeader(in.process, l.partition, l.route, func(found route) {
		l.route = found
		l.send()
	})
}

func (l *txnLane) send() {
	in, c := l.instance, l.instance.transactor.cluster
	node, batch := c.node(l.route.leader), slices.Clone(l.batch)
	by := claim{id: in.transactor.id, implicit: !c.opt.Coordinators.OldClients}
	c.ask(in.process, node, "produce", clientPatience, func(reply func(func())) {
		node.produce(l.partition, batch, replicate.AcksAll, by, func(code wire.ErrorCode, base wire.Offset) {
			reply(func() { l.answered(code, base) })
		})
	}, func() {
		l.doubt = true
		in.again(l.find)
	})
}

func (l *txnLane) answered(code wire.ErrorCode, base wire.Offset) {
	in, c := l.instance, l.instance.transactor.cluster
	if c.world.Tracing() {
		c.world.Tracef("%s: %v+%d of partition %d: %v, offset %d", in.process.Name(), l.sending[0], len(l.sending), l.partition, code, base)
	}
	switch {
	case code == wire.None:
		for i, v := range l.sending {
			c.ledgers[l.partition].ack(v, base+wire.Offset(i), l.since)
		}
		c.stats.acked += len(l.sending)
		l.turn()
	case retriable(code):
		l.doubt = l.doubt || mayHaveBeenWritten(code)
		in.again(l.find)
	default:
		if !l.doubt {
			l.attempt.refuse(l.sending)
		}
		if code == wire.InvalidProducerEpoch || code == wire.ProducerFenced || code == wire.InvalidProducerIDMapping {
			in.fenced()
			return
		}
		in.failed = true
		in.through(l)
	}
}

// mayHaveBeenWritten says that a refusal leaves open whether the batch is in a log.
func mayHaveBeenWritten(code wire.ErrorCode) bool {
	switch code {
	case wire.NotEnoughReplicasAfterAppend, wire.RequestTimedOut, wire.NotLeaderOrFollower, wire.KafkaStorageError, wire.NetworkException:
		return true
	}
	return false
}
