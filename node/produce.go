package node

import (
	"time"
	"unsafe"

	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/wire"
)

// produceRequest is one Produce under way: an item a partition, each answered by the partition's owner. It is its
// connection's loop's, except that an owner writes its items' results.
type produceRequest struct {
	loop    *Loop
	pending *pending
	// buf holds the request's bytes: the batches until they are written, the topic names until the answer.
	buf  *buffer
	acks int16
	// claim is for batches of a transaction.
	claim   claim
	waiting int
	topics  []producedTopic
	items   []produceItem
	failed  bool
	// charged is what the items count for in the loop's request memory.
	charged int
}

// producedTopic is a run of items of one topic, as the answer lists them.
type producedTopic struct {
	name  []byte
	id    wire.TopicID
	items int
}

// produceItem is one partition's batch on its way to the owner and back.
type produceItem struct {
	request *produceRequest
	part    *partition
	index   wire.PartitionIndex
	batch   wire.RecordBatch
	result  replicate.Completion
	start   wire.Offset
	// expires is when an answer that waits for replicas is given up, on the loops' monotonic clock; 0 never.
	expires time.Duration
	// message explains result.Code where the code alone would not help, and recordErrors which records are to blame for it.
	message      string
	recordErrors []wire.ProduceRecordError
	// appended is called on the owner's loop instead of answering a request: appends of the node itself.
	appended func(replicate.Completion)
	// order is a marker's, see txnOrder; verified says that the batch may be written in its transaction.
	order              txnOrder
	verified, returned bool
	// epoch is the leader epoch that the batch may be appended under, nil for any.
	epoch *wire.LeaderEpoch
	// unread says that the batch's records must be read before it may be offered, see readRecords.
	unread bool
	rules  api.BatchRules
	times  itemTimes
}

// produceScratch is what decoding and answering reuse.
type produceScratch struct {
	in   wire.ProduceRequest
	out  wire.ProduceResponse
	free []*produceRequest
}

// produceFreeMax bounds the requests kept for reuse.
const produceFreeMax = 256

// produceItemsKeep is the longest list of items that is kept with one.
const produceItemsKeep = 128

// handle runs an item on its owner, then, returned, on its request's loop.
func (item *produceItem) handle(l *Loop) {
	if item.returned {
		l.itemDone(item.request, item)
		return
	}
	item.part.offer(item)
}

// serveProduce takes up a Produce, whose frame has so many bytes; false if it will not be answered.
func (l *Loop) serveProduce(c *Conn, h wire.RequestHeader, body []byte, buf *buffer, bytes int) (answered bool) {
	in := &l.produce.in
	if err := in.Read(body, h.Version); err != nil {
		c.refuse("malformed Produce", "version", int16(h.Version), "error", err)
		return false
	}
	entries := countPartitions(in)
	if entries > producePartitionsMax {
		c.refuse("Produce has too many partitions", "partitions", entries, "max", producePartitionsMax)
		return false
	}
	items, ok := l.chargeItems(entries, len(body))
	if !ok {
		c.refuse("Produce has entries without records, and there is no memory for them", "partitions", entries, "bytes", len(body))
		return false
	}
	req := l.takeProduce()
	req.charged = items
	req.loop, req.pending, req.buf, req.acks = l, c.begin(h), buf, in.Acks
	req.claim = claimOf(in.TransactionalID, h.Version)
	buf.refs++
	req.pending.silent = in.Acks == replicate.AcksNone
	l.layOut(req, in, h.Version)
	answered = !req.pending.silent
	c.chargeProduce(req.pending, bytes)
	if !l.readRecords(req) {
		l.sendItems(req)
	}
	return answered
}

// produceItemBytes is what an item takes, produceEntryBytesMin the shortest entry that has a record: a batch's header, its index,
// two lengths and seven bytes of record.
const (
	produceItemBytes     = int(unsafe.Sizeof(produceItem{}))
	produceEntryBytesMin = wire.RecordBatchOverhead + 4 + 2 + 7
)

// chargeItems charges the items of a request to request memory where its entries are too short to have records: those of others
// are bounded by their bytes. false if that has no room.
func (l *Loop) chargeItems(entries, bytes int) (charged int, ok bool) {
	if entries*produceEntryBytesMin <= bytes {
		return 0, true
	}
	charged = entries * produceItemBytes
	if l.slabs.charged+l.slabs.copied+charged > l.slabs.max {
		return 0, false
	}
	l.slabs.charged += charged
	return charged, true
}

// sendItems sends each item that is not refused yet to its partition's owner.
func (l *Loop) sendItems(req *produceRequest) {
	req.waiting = 1 // until all items are on their way, so that early answers do not finish the request
	for i := range req.items {
		item := &req.items[i]
		if item.result.Code != wire.None {
			continue
		}
		req.waiting++
		if owner := item.part.loop; owner == l {
			item.part.offer(item)
		} else {
			l.post(owner, item)
		}
	}
	l.itemDone(req, nil)
}

// producePartitionsMax bounds the items of one Produce: with the smallest batches, so many take 4 MiB, four times what a
// producer sends at once by default. Entries without a batch would otherwise cost 30 times their bytes.
const producePartitionsMax = 1 << 16

func countPartitions(in *wire.ProduceRequest) (n int) {
	for i := range in.Topics {
		n += len(in.Topics[i].Partitions)
	}
	return n
}

// layOut makes the items of a request and refuses those that need no partition to be refused.
func (l *Loop) layOut(req *produceRequest, in *wire.ProduceRequest, v wire.APIVersion) {
	if n := countPartitions(in); cap(req.items) < n {
		req.items = make([]produceItem, 0, n)
	}
	expires := l.mono + time.Duration(max(in.TimeoutMS, 0))*time.Millisecond
	refused := req.pending.conn.refusesTransaction(in)
	for i := range in.Topics {
		asked := &in.Topics[i]
		t, code := l.node.produceTopic(asked)
		switch {
		case refused != wire.None:
			code = refused
		case code != wire.UnknownTopicID && !req.pending.conn.mayWriteTopic(asked.Name, t):
			code = wire.TopicAuthorizationFailed
		}
		req.topics = append(req.topics, producedTopic{name: asked.Name, id: asked.ID, items: len(asked.Partitions)})
		for _, p := range asked.Partitions {
			req.items = append(req.items, produceItem{request: req, index: p.Index, start: wire.NoOffset, expires: expires})
			item := &req.items[len(req.items)-1]
			if code == wire.None {
				item.fail(checkProduce(item, in.Acks, v, t, p.Records))
			} else {
				item.result.Code = code
			}
			item.result.BaseOffset, item.result.LogAppendTime = wire.NoOffset, wire.NoTimestamp
		}
	}
}

// produceTopic finds a topic by id or name.
func (n *Node) produceTopic(asked *wire.ProduceTopic) (*topic, wire.ErrorCode) {
	if asked.Name == nil {
		if t := n.topics.identified(asked.ID); t != nil {
			return t, wire.None
		}
		return nil, wire.UnknownTopicID
	}
	if t := n.topics.named(asked.Name); t != nil {
		return t, wire.None
	}
	return nil, wire.UnknownTopicOrPartition
}

// checkProduce applies the rules that need no state of the partition.
func checkProduce(item *produceItem, acks int16, v wire.APIVersion, t *topic, records []byte) *api.BatchFault {
	part, code := t.leaderOf(item.index)
	switch item.part = part; {
	case code != wire.None:
		return &api.BatchFault{Code: code}
	case acks != replicate.AcksAll && acks != replicate.AcksLeader && acks != replicate.AcksNone:
		return &api.BatchFault{Code: wire.InvalidRequiredAcks}
	case t.internal:
		return &api.BatchFault{Code: wire.InvalidTopicException, Message: "internal topics are the node's own"}
	}
	batch, fault := api.ReadProducedBatch(records, v, t.rules)
	if fault != nil {
		return fault
	}
	item.batch = batch
	if item.unread = t.rules.Unread(batch); item.unread {
		item.rules = t.rules
	}
	if batch.IsTransactional() && len(item.request.claim.transactionalID) == 0 {
		return &api.BatchFault{Code: wire.TransactionalIDAuthorizationFailed, Message: "a transactional batch without a transactional id"}
	}
	return nil
}

// fail gives an item that has no result yet that of a fault; nil is none.
func (item *produceItem) fail(fault *api.BatchFault) {
	if fault == nil {
		return
	}
	item.result.Code = fault.Code
	if item.message = fault.Message; fault.Records != nil { // Kafka has looked at the log by then
		item.recordErrors, item.message = fault.Explain(item.part.name())
		item.start = wire.Offset(item.part.published.logStart.Load())
	}
}

// finishItem gives an item its result; it runs on the owner.
func (l *Loop) finishItem(item *produceItem, result replicate.Completion) {
	item.result = result
	if item.appended != nil {
		item.appended(result)
		return
	}
	l.stampFinished(item)
	item.start = item.part.log().LogStartOffset()
	if result.Code == wire.InvalidTimestamp {
		earliest, latest := item.part.log().TimestampBounds(l.wall)
		item.recordErrors, item.message = api.UntimelyRecords(item.batch, earliest, latest)
	}
	if item.request.loop == l {
		l.itemDone(item.request, item)
		return
	}
	item.returned = true
	l.post(item.request.loop, item)
}

// itemDone counts one answer and sends the response with the last, that of item; nil if no answer was left to be waited for.
func (l *Loop) itemDone(req *produceRequest, item *produceItem) {
	if req.waiting--; req.waiting > 0 {
		return
	}
	r := req.pending
	if item != nil {
		item.tellTimes(&r.times, l)
	}
	if !r.silent {
		r.conn.chargeTime(r)
	}
	r.answer = l.appendProduceAnswer(r.answer[:0], r, req)
	failedSilently := r.silent && req.failed
	l.release(req.buf)
	l.slabs.charged -= req.charged
	l.freed = l.freed || req.charged > 0
	conn := r.conn
	l.complete(r)
	l.giveProduce(req)
	if failedSilently {
		conn.refuse("a produce with acks=0 failed, which only a closed connection can tell")
	}
}

// appendProduceAnswer builds the response frame from the items' results.
func (l *Loop) appendProduceAnswer(dst []byte, r *pending, req *produceRequest) []byte {
	out := &l.produce.out
	out.Reset()
	out.ThrottleMS = r.throttleMS
	next := 0
	for _, t := range req.topics {
		out.AddTopic(t.name, t.id)
		for _, item := range req.items[next : next+t.items] {
			req.failed = req.failed || item.result.Code != wire.None
			answer := wire.ProducePartitionResponse{
				Index: item.index, ErrorCode: item.result.Code, BaseOffset: item.result.BaseOffset,
				LogAppendTime: item.result.LogAppendTime, LogStartOffset: item.start, RecordErrors: item.recordErrors, ErrorMessage: item.message,
			}
			if item.result.Code == wire.NotLeaderOrFollower {
				l.hintLeader(out, &answer, r.conn, t)
			}
			out.AddPartition(answer)
		}
		next += t.items
	}
	if r.silent {
		return dst
	}
	dst = append(dst, 0, 0, 0, 0)
	dst = wire.AppendResponseHeader(dst, r.key, r.version, r.corr)
	return sealFrame(out.AppendTo(dst, r.version), 0)
}

// hintLeader adds to an answer who leads instead.
func (l *Loop) hintLeader(out *wire.ProduceResponse, answer *wire.ProducePartitionResponse, c *Conn, t producedTopic) {
	asked := wire.ProduceTopic{Name: t.name, ID: t.id}
	if found, code := l.node.produceTopic(&asked); code == wire.None {
		answer.CurrentLeader, out.NodeEndpoints = c.leaderHint().of(found.id, answer.Index, out.NodeEndpoints)
	}
}

func (l *Loop) takeProduce() *produceRequest {
	if n := len(l.produce.free); n > 0 {
		req := l.produce.free[n-1]
		l.produce.free = l.produce.free[:n-1]
		return req
	}
	return &produceRequest{}
}

func (l *Loop) giveProduce(req *produceRequest) {
	clear(req.items)
	clear(req.topics)
	*req = produceRequest{items: req.items[:0], topics: req.topics[:0]}
	if len(l.produce.free) < produceFreeMax && cap(req.items) <= produceItemsKeep {
		l.produce.free = append(l.produce.free, req)
	}
}
