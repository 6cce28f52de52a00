package txn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handle is the caller's name for a request that waits for its answer. Each Handle that Handle is given comes back in
// exactly one Reply, at once or from a later call.
type Handle uint64

// AppendID names one append. IDs grow in the order in which the records have to stand in the log.
type AppendID uint64

// MarkersID names the markers of one ended transaction.
type MarkersID uint64

// Reply is the answer to one request, its Version set: ready for AppendTo.
type Reply struct {
	Handle   Handle
	Response kmsg.Response
}

// Append is a set of records to be written to the coordinator's __transaction_state partition, after those of all Appends
// with a smaller ID. A record with a nil Value is a tombstone.
type Append struct {
	ID      AppendID
	Records []wire.Record
}

// Markers asks for one control batch in each of Partitions. The outcome of each is told by Marked.
type Markers struct {
	ID               MarkersID
	ProducerID       wire.ProducerID
	ProducerEpoch    wire.ProducerEpoch
	Commit           bool
	CoordinatorEpoch int32
	Partitions       []wire.TopicPartition
}

// Effects is what the caller has to do after a call. The slices belong to the caller.
type Effects struct {
	Replies    []Reply
	Appends    []Append
	Markers    []Markers
	NextTickMS int64 // when Tick is due, monotonic; calling it earlier does no harm. math.MaxInt64: there is nothing to wait for
}

// Coordinator is one shard: the transactional ids that hash to one __transaction_state partition. It has one owner, who
// makes all calls.
type Coordinator struct {
	cfg    Config
	loaded bool
	ids    map[string]*transaction
	held   int64 // bytes that ids are charged with; see charge. Bounded by cfg.Memory
	open   int   // how many of ids have a transaction that has begun and is not complete; see charge
	memory memory.Account

	appends    map[AppendID]func(wire.ErrorCode) // appends under way
	lastAppend AppendID

	markers     map[MarkersID]*transaction // ended transactions that lack markers
	lastMarkers MarkersID
	// unfinished are marked transactions whose last record failed; it is written again at unfinishedAtMS.
	unfinished     []*transaction
	unfinishedAtMS int64

	waiting map[*transaction]struct{} // transactions with waiters

	nextAbortMS, nextExpiryMS int64

	nowMS   int64          // monotonic time of the call in progress
	wall    wire.Timestamp // wall clock of the call in progress
	fx      Effects        // what the call in progress has gathered
	touched *transaction   // the one that the call in progress is about, for check
}

// New makes a coordinator without transactional ids. It answers COORDINATOR_LOAD_IN_PROGRESS until Loaded is called.
func New(cfg Config) *Coordinator {
	if cfg.Memory == nil {
		cfg.Memory = memory.NewBound(cfg.MemoryBytes)
	}
	return &Coordinator{
		cfg: cfg, memory: cfg.Memory.Account(), ids: map[string]*transaction{}, appends: map[AppendID]func(wire.ErrorCode){},
		markers: map[MarkersID]*transaction{}, waiting: map[*transaction]struct{}{},
		nextAbortMS: math.MaxInt64, nextExpiryMS: math.MaxInt64,
	}
}

// Handle takes a request of one of the six transaction APIs, for this shard's transactional ids alone: see Split and
// Merge. Whether topics and partitions exist, whether a timeout is allowed and whether the client may do this, the caller
// has judged before.
//
// nowMS is monotonic and never falls. The request's strings may be kept.
func (c *Coordinator) Handle(nowMS int64, wall wire.Timestamp, h Handle, req kmsg.Request) Effects {
	c.begin(nowMS, wall)
	if !c.loaded {
		c.reply(h, errorResponse(req, wire.CoordinatorLoadInProgress))
		return c.end()
	}
	switch r := req.(type) {
	case *kmsg.InitProducerIDRequest:
		c.initProducerID(h, r)
	case *kmsg.AddPartitionsToTxnRequest:
		c.addPartitions(h, r)
	case *kmsg.AddOffsetsToTxnRequest:
		panic("BUG: AddOffsetsToTxn is AddPartitionsToTxn of a partition of __consumer_offsets; see AddOffsets")
	case *kmsg.EndTxnRequest:
		c.endTxn(h, r)
	case *kmsg.DescribeTransactionsRequest:
		c.reply(h, c.describe(r))
	case *kmsg.ListTransactionsRequest:
		c.reply(h, c.list(r))
	default:
		panic(fmt.Sprintf("BUG: the transaction coordinator does not serve %T", req))
	}
	return c.end()
}

// AddOffsets takes an AddOffsetsToTxn: partition is where the group's offsets stand.
func (c *Coordinator) AddOffsets(nowMS int64, wall wire.Timestamp, h Handle, req *kmsg.AddOffsetsToTxnRequest, partition wire.TopicPartition) Effects {
	c.begin(nowMS, wall)
	if c.loaded {
		c.addOffsets(h, req, partition)
	} else {
		c.reply(h, errorResponse(req, wire.CoordinatorLoadInProgress))
	}
	return c.end()
}

// Tick does what has become due: timeouts, markers that are to be written again, waits that are over, expiry of ids.
func (c *Coordinator) Tick(nowMS int64, wall wire.Timestamp) Effects {
	c.begin(nowMS, wall)
	if c.loaded {
		c.endWaits()
		c.retryMarkers()
		c.retryCompletes()
		c.abortTimedOut()
		c.expireIDs()
	}
	return c.end()
}

// Appended reports the outcome of an append: None, or why it failed. Outcomes may come in any order.
func (c *Coordinator) Appended(nowMS int64, wall wire.Timestamp, id AppendID, code wire.ErrorCode) Effects {
	c.begin(nowMS, wall)
	then, ok := c.appends[id]
	if !ok {
		panic(fmt.Sprintf("BUG: append %d is not under way", id))
	}
	delete(c.appends, id)
	then(answerCode(code))
	return c.end()
}

func (c *Coordinator) begin(nowMS int64, wall wire.Timestamp) {
	c.nowMS, c.wall, c.fx = max(nowMS, c.nowMS), wall, Effects{}
}

func (c *Coordinator) end() Effects {
	c.tellMemory()
	c.check()
	c.fx.NextTickMS = c.nextTickMS()
	return c.fx
}

func (c *Coordinator) nextTickMS() int64 {
	next := min(c.nextAbortMS, c.nextExpiryMS)
	if len(c.unfinished) > 0 {
		next = min(next, c.unfinishedAtMS)
	}
	for t := range c.waiting {
		next = min(next, t.waiters[0].untilMS)
	}
	for _, t := range c.markers {
		if len(t.failed) > 0 {
			next = min(next, t.retryAtMS)
		}
	}
	return next
}

func (c *Coordinator) reply(h Handle, resp kmsg.Response) {
	c.fx.Replies = append(c.fx.Replies, Reply{Handle: h, Response: resp})
}

// append asks for records to be written; then is called with the outcome, in a client's words.
func (c *Coordinator) append(records []wire.Record, then func(wire.ErrorCode)) {
	c.lastAppend++
	c.appends[c.lastAppend] = then
	c.fx.Appends = append(c.fx.Appends, Append{ID: c.lastAppend, Records: records})
}

// lookup finds a transactional id; nil if it is not known.
func (c *Coordinator) lookup(id string) *transaction {
	c.touched = c.ids[id]
	return c.touched
}

// sorted gives some transactions by their ids: nothing that leaves the coordinator follows the order of a map.
func sorted(ts []*transaction) []*transaction {
	slices.SortFunc(ts, func(a, b *transaction) int { return cmp.Compare(a.id, b.id) })
	return ts
}

// answerCode is what a client is told of an append's failure (TransactionStateManager.appendTransactionToLog).
func answerCode(code wire.ErrorCode) wire.ErrorCode {
	switch code {
	case wire.UnknownTopicOrPartition, wire.NotEnoughReplicas, wire.NotEnoughReplicasAfterAppend, wire.RequestTimedOut:
		return wire.CoordinatorNotAvailable
	case wire.NotLeaderOrFollower, wire.KafkaStorageError:
		return wire.NotCoordinator
	case wire.MessageTooLarge, wire.RecordListTooLarge:
		return wire.UnknownServerError
	}
	return code
}

// check panics if an invariant of doc.go does not hold for the transaction that the call was about.
func (c *Coordinator) check() {
	t := c.touched
	c.touched = nil
	if t == nil {
		return
	}
	switch {
	case t.state == Empty && len(t.partitions) > 0, t.state == CompleteCommit && len(t.partitions) > 0, t.state == CompleteAbort && len(t.partitions) > 0:
		t.broken("T1", "partitions without a transaction")
	case t.state == Ongoing && t.start == wire.NoTimestamp:
		t.broken("T2", "a transaction that never began")
	case len(t.unmarked) > 0 && !t.state.prepared():
		t.broken("T3", "markers are missing for a transaction that has not ended")
	case t.state.prepared() && len(t.unmarked) == 0 && t.pending == nil && !slices.Contains(c.unfinished, t):
		t.broken("T4", "all markers are written and nothing goes on")
	case len(t.waiters) > 0 && !t.busy():
		t.broken("T5", "additions wait for nothing")
	}
}

func (t *transaction) broken(name, what string) {
	panic(fmt.Sprintf("BUG: invariant %s: transactional id %q (%s, producer %d epoch %d, %d partitions, %d unmarked): %s",
		name, t.id, t.state, t.producerID, t.epoch, len(t.partitions), len(t.unmarked), what))
}
