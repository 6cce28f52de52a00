package group

import (
	"fmt"
	"math"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handle is the caller's name for a request that waits for its answer. Each Handle that Handle is given comes back in
// exactly one Reply, at once or from a later call.
type Handle uint64

// AppendID names one append. IDs grow in the order in which the records have to stand in the log.
type AppendID uint64

// Client is who sent a request.
type Client struct {
	ID   string // client id of the request header; "" if it was null
	Host string // the peer's address as Kafka prints it: "/127.0.0.1"
}

// Reply is the answer to one request, its Version set: ready for AppendTo.
type Reply struct {
	Handle   Handle
	Response kmsg.Response
}

// Append is a set of records to be written to the coordinator's __consumer_offsets partition, after those of all Appends
// with a smaller ID. A record with a nil Value is a tombstone. They should stand in one batch; if they do not fit into
// one, Appended is called once all of them are durable.
type Append struct {
	ID      AppendID
	Records []wire.Record
	Txn     *Txn // whose transaction the records belong to; nil if they belong to none
}

// Effects is what the caller has to do after a call. The slices belong to the caller.
type Effects struct {
	Replies    []Reply
	Appends    []Append
	StateCalls []StateCall // to share coordinators
	NextTickMS int64       // when Tick is due, monotonic; calling it earlier does no harm. math.MaxInt64: there is nothing to wait for
}

// Coordinator is one shard: the groups whose id hashes to one __consumer_offsets partition. It has one owner, who
// makes all calls.
type Coordinator struct {
	cfg    Config
	phase  phase
	groups map[string]*group
	// groupConfigs are the configurations that groups have of their own, whether there are such groups or not. The caller
	// bounds them.
	groupConfigs map[string]GroupConfig

	timers timerHeap
	ids    memberIDs
	topics topicView

	appends    map[AppendID]appended // appends under way
	lastAppend AppendID

	stateCalls    map[StateCallID]shareCall // under way
	lastStateCall StateCallID

	txns txnOffsets // offsets of open transactions

	memoryBytes  int64 // bounded by cfg.Memory
	memory       memory.Account
	waiting      int // handles without an answer, but those of appends
	nextExpiryMS int64
	expiring     []string // groups that the offset expiry under way has still to look at

	nowMS   int64          // monotonic time of the call in progress
	wall    wire.Timestamp // wall clock of the call in progress
	fx      Effects        // what the call in progress has gathered
	touched *group         // the group that the call in progress is about, for check

	// mayDescribe says of which topics the client of the request in progress may know; nil: of all.
	mayDescribe func(topic string) bool
}

// phase says whether the shard's log has been read.
type phase uint8

const (
	phaseLoading phase = iota
	phaseActive
)

// appended is what happens when the records of an append are durable, or failed to be.
type appended interface {
	// appended gets None, or the code for clients that answerCode made of the append's.
	appended(c *Coordinator, code wire.ErrorCode)
}

// New makes a coordinator without groups. It answers COORDINATOR_LOAD_IN_PROGRESS until Loaded is called. The seed makes
// its member ids; two coordinators or two runs must not share one, or ids may repeat.
func New(cfg Config, seed uint64) *Coordinator {
	if cfg.Memory == nil {
		cfg.Memory = memory.NewBound(cfg.MemoryBytes)
	}
	return &Coordinator{
		cfg:          cfg,
		memory:       cfg.Memory.Account(),
		groups:       map[string]*group{},
		groupConfigs: map[string]GroupConfig{},
		ids:          newMemberIDs(seed),
		topics:       topicView{image: &image.Image{}, rack: cfg.Rack, hashes: map[string]topicHash{}},
		appends:      map[AppendID]appended{},
		stateCalls:   map[StateCallID]shareCall{},
		txns:         txnOffsets{},
		nextExpiryMS: math.MaxInt64,
		wall:         wire.NoTimestamp,
	}
}

// Handle takes a request of one of the seventeen group APIs. What belongs to several shards (ListGroups, DescribeGroups,
// ConsumerGroupDescribe, ShareGroupDescribe, DescribeShareGroupOffsets, DeleteGroups, OffsetFetch from version 8) is answered for this shard's groups alone, and a group that is named is taken
// to belong here: see Split and Merge. Whether topics and partitions exist, and whether the client may do this, the caller
// has judged before.
//
// nowMS is monotonic and never falls. The request's strings and slices of structs may be kept, its byte slices are copied.
func (c *Coordinator) Handle(nowMS int64, wall wire.Timestamp, h Handle, cl Client, req kmsg.Request) Effects {
	return c.HandleFor(nowMS, wall, h, cl, nil, req)
}

// HandleFor is Handle for a client that may know of some topics alone: regular expressions that are resolved for it find no others. nil is
// of all.
func (c *Coordinator) HandleFor(nowMS int64, wall wire.Timestamp, h Handle, cl Client, mayDescribe func(topic string) bool, req kmsg.Request) Effects {
	c.begin(nowMS, wall)
	c.mayDescribe = mayDescribe
	if code := c.phase.refusal(); code != wire.None {
		c.reply(h, errorResponse(req, code))
		return c.end()
	}
	switch r := req.(type) {
	case *kmsg.HeartbeatRequest:
		return c.heartbeat(h, r)
	case *kmsg.JoinGroupRequest:
		c.joinGroup(h, cl, r)
	case *kmsg.SyncGroupRequest:
		c.syncGroup(h, r)
	case *kmsg.LeaveGroupRequest:
		c.leaveGroup(h, r)
	case *kmsg.OffsetCommitRequest:
		c.offsetCommit(h, r)
	case *kmsg.TxnOffsetCommitRequest:
		c.txnOffsetCommit(h, r)
	case *kmsg.OffsetFetchRequest:
		c.offsetFetch(h, r)
	case *kmsg.OffsetDeleteRequest:
		c.offsetDelete(h, r)
	case *kmsg.DescribeGroupsRequest:
		c.describeGroups(h, r)
	case *kmsg.ConsumerGroupHeartbeatRequest:
		c.consumerGroupHeartbeat(h, cl, r)
	case *kmsg.ConsumerGroupDescribeRequest:
		c.consumerGroupDescribe(h, r)
	case *kmsg.ShareGroupHeartbeatRequest:
		c.shareGroupHeartbeat(h, cl, r)
	case *kmsg.ShareGroupDescribeRequest:
		c.shareGroupDescribe(h, r)
	case *kmsg.DescribeShareGroupOffsetsRequest:
		c.describeShareOffsets(h, r)
	case *kmsg.AlterShareGroupOffsetsRequest:
		c.alterShareOffsets(h, r)
	case *kmsg.DeleteShareGroupOffsetsRequest:
		c.deleteShareOffsets(h, r)
	case *kmsg.ListGroupsRequest:
		c.listGroups(h, r)
	case *kmsg.DeleteGroupsRequest:
		c.deleteGroups(h, r)
	default:
		panic(fmt.Sprintf("BUG: the group coordinator does not serve %T", req))
	}
	return c.end()
}

// refusal is the code for everything that comes before Loaded.
func (p phase) refusal() wire.ErrorCode {
	if p == phaseLoading {
		return wire.CoordinatorLoadInProgress
	}
	return wire.None
}

// Tick does what has become due: sessions, rebalances, pending syncs, offset expiry. A long expiry is cut into pieces, so
// that NextTickMS may be nowMS.
func (c *Coordinator) Tick(nowMS int64, wall wire.Timestamp) Effects {
	c.begin(nowMS, wall)
	for {
		t := c.timers.pop(nowMS)
		if t == nil {
			break
		}
		c.fire(t)
	}
	c.expireOffsets()
	return c.end()
}

func (c *Coordinator) fire(t *timer) {
	c.touched = t.group
	switch t.kind {
	case timerSession:
		c.sessionExpired(t.group, t.member)
	case timerPendingMember:
		c.pendingMemberExpired(t.group, t.memberID)
	case timerInitialJoin:
		c.initialDelayOver(t.group)
	case timerJoin:
		c.completeJoin(t.group)
	case timerSync:
		c.pendingSyncExpired(t.group)
	case timerShrink:
		c.prepareRebalance(t.group)
	case timerConsumerSession, timerConsumerRebalance, timerConsumerSync:
		c.consumerTimer(t)
	case timerShareSession:
		c.fenceSharer(t.group, t.share)
	case timerRewrite:
		c.rewriteDue(t.group)
	}
}

// Appended reports the outcome of an append: None, or why it failed. Outcomes may come in any order. The wall clock is
// taken to have moved since the last call as far as nowMS has.
func (c *Coordinator) Appended(nowMS int64, id AppendID, code wire.ErrorCode) Effects {
	c.begin(nowMS, c.wallAt(nowMS))
	then, ok := c.appends[id]
	if !ok {
		panic(fmt.Sprintf("BUG: append %d is not under way", id))
	}
	delete(c.appends, id)
	then.appended(c, answerCode(code))
	return c.end()
}

func (c *Coordinator) wallAt(nowMS int64) wire.Timestamp {
	if c.wall == wire.NoTimestamp {
		return wire.NoTimestamp
	}
	return c.wall + wire.Timestamp(nowMS-c.nowMS)
}

// GiveUp gives back what the coordinator takes of the memory of all of them: its shard is another's, and it is not to be called again.
func (c *Coordinator) GiveUp() { c.memory.Tell(0) }

func (c *Coordinator) begin(nowMS int64, wall wire.Timestamp) {
	c.nowMS, c.wall = max(nowMS, c.nowMS), wall
	c.fx = Effects{}
}

func (c *Coordinator) end() Effects {
	c.tellMemory()
	c.check()
	c.fx.NextTickMS = c.nextTickMS()
	return c.fx
}

func (c *Coordinator) nextTickMS() int64 {
	next := c.nextExpiryMS
	if len(c.expiring) > 0 {
		next = math.MaxInt64 // it goes on when an append has its outcome
		if c.mayAppend() {
			next = c.nowMS
		}
	}
	if key, ok := c.timers.next(); ok {
		next = min(next, key)
	}
	return next
}

func (c *Coordinator) reply(h Handle, resp kmsg.Response) {
	c.fx.Replies = append(c.fx.Replies, Reply{Handle: h, Response: resp})
}

// append asks for records to be written; then is called with the outcome.
func (c *Coordinator) append(records []wire.Record, then appended) AppendID {
	c.lastAppend++
	c.appends[c.lastAppend] = then
	c.fx.Appends = append(c.fx.Appends, Append{ID: c.lastAppend, Records: records})
	return c.lastAppend
}

// mayAppend reports whether one more append may be under way.
func (c *Coordinator) mayAppend() bool { return len(c.appends) < c.cfg.MaxAppends }

// createGroup makes an empty group; nil if there are as many as there may be.
func (c *Coordinator) createGroup(id string) *group {
	if len(c.groups) >= c.cfg.MaxGroups {
		return nil
	}
	g := newGroup(id, c.wall)
	c.groups[id] = g
	c.touched = g
	return g
}

// lookup finds a group; nil if there is none.
func (c *Coordinator) lookup(id string) *group {
	c.touched = c.groups[id]
	return c.touched
}

// dropGroup forgets the group; whoever waits for it is told code.
func (c *Coordinator) dropGroup(g *group, code wire.ErrorCode) {
	c.dropTxns(g.id)
	for m := g.first; m != nil; m = g.first {
		c.answerJoin(g, m, joinError(m.id, code))
		c.answerSync(m, syncError(code))
		c.removeMember(g, m)
	}
	for _, id := range sortedKeys(g.pending) {
		c.removePending(g, id)
	}
	if g.consumer != nil {
		c.dropConsumer(g)
	}
	if g.share != nil {
		c.dropShare(g)
	}
	c.timers.disarm(&g.timer)
	c.timers.disarm(&g.rewrite)
	c.memoryBytes -= g.offsets.memoryBytes()
	g.state = Dead
	delete(c.groups, g.id)
	if c.touched == g {
		c.touched = nil
	}
}

// answerCode is what a client is told of an append's failure, as Kafka's CoordinatorOperationExceptionHelper maps it; the second code of
// too few replicas is no other to a client than the first.
func answerCode(code wire.ErrorCode) wire.ErrorCode {
	switch code {
	case wire.NetworkException:
		return wire.CoordinatorLoadInProgress
	case wire.UnknownTopicOrPartition, wire.NotEnoughReplicas, wire.NotEnoughReplicasAfterAppend, wire.RequestTimedOut:
		return wire.CoordinatorNotAvailable
	case wire.NotLeaderOrFollower, wire.KafkaStorageError:
		return wire.NotCoordinator
	case wire.MessageTooLarge, wire.RecordListTooLarge, wire.InvalidFetchSize:
		return wire.UnknownServerError
	}
	return code
}
