package share

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/wire"
)

// Handle is the caller's name for an operation that waits for its result. Each comes back in exactly one Reply.
type Handle uint64

// AppendID names one append. IDs grow in the order in which the records have to stand in the log.
type AppendID uint64

// Reply is the result of one operation.
type Reply struct {
	Handle Handle
	Result Result
}

// Append is a record to be written to the coordinator's partition of __share_group_state, after those of all Appends with a
// smaller ID. A record with a nil Value is a tombstone.
type Append struct {
	ID     AppendID
	Record wire.Record
}

// StateEffects is what the caller has to do after a call. The slices belong to the caller.
type StateEffects struct {
	Replies []Reply
	Appends []Append
	// PruneTo: what stands in the log below this offset is not needed any more. NoOffset: nothing is new.
	PruneTo wire.Offset
	// NextTickMS is when Tick is due, monotonic; calling it earlier does no harm.
	NextTickMS int64
}

// StateConfig holds what the coordinator needs to know of the broker's properties. The names in the comments are Kafka's.
type StateConfig struct {
	UpdatesPerSnapshot     int   // share.coordinator.snapshot.update.records.per.snapshot
	ColdSnapshotIntervalMS int64 // share.coordinator.cold.partition.snapshot.interval.ms
	PruneIntervalMS        int64 // share.coordinator.state.topic.prune.interval.ms

	// Exists says whether there is such a partition.
	Exists func(wire.TopicID, wire.PartitionIndex) bool

	// MemoryBytes bounds what the states of one coordinator take, which Kafka does not; beyond it an operation that makes them
	// larger is refused with COORDINATOR_NOT_AVAILABLE.
	MemoryBytes int64
	// Memory, if it is not nil, stands for MemoryBytes: a bound that the coordinator shares with others of its owner.
	Memory *memory.Bound
}

// DefaultStateConfig gives the defaults of Apache Kafka 4.1.1. Exists is the caller's to set.
func DefaultStateConfig() StateConfig {
	return StateConfig{
		UpdatesPerSnapshot: 500, ColdSnapshotIntervalMS: 300_000, PruneIntervalMS: 300_000,
		MemoryBytes: 128 << 20,
	}
}

// StateCoordinator is one shard of the share coordinator: the share partitions whose keys hash to one partition of
// __share_group_state. It has one owner, who makes all calls.
type StateCoordinator struct {
	cfg    StateConfig
	loaded bool
	keys   map[Key]*keyState
	// memory is what the states take, see size; promised what the records under way may add to it.
	memory, promised int64
	account          memory.Account

	appends    map[AppendID]*appending
	lastAppend AppendID
	// next is the offset after the last record that was applied, pruned what the log was last cut to.
	next, pruned wire.Offset

	nextColdMS, nextPruneMS int64

	nowMS int64
	wall  wire.Timestamp
	fx    StateEffects
}

// keyState is what the log has of one key, and what is under way for it.
type keyState struct {
	key Key
	// known says that there is a state at all: a key that is about to be made has none.
	known                                 bool
	snapshotEpoch                         int32
	stateEpoch, leaderEpoch, updates      int32
	highestStateEpoch, highestLeaderEpoch int32 // what fences; Initialize sets leaderEpoch back, but not this
	startOffset                           wire.Offset
	created, written                      wire.Timestamp
	batches                               []StateBatch
	// snapshotAt is where the last snapshot stands in the log.
	snapshotAt wire.Offset

	// writing says that a record of the key is under way; waiting are the operations that came since.
	writing bool
	waiting []waitingOperation
}

type waitingOperation struct {
	handle Handle
	op     Operation
}

// appending is a record under way, and what is answered when it is durable.
type appending struct {
	state  *keyState
	record stateRecord
	handle Handle // 0: nobody waits
	result Result
	grows  int64 // what it may add to memory
}

// NewStateCoordinator makes a coordinator without keys. It answers COORDINATOR_LOAD_IN_PROGRESS until Loaded is called.
func NewStateCoordinator(cfg StateConfig) *StateCoordinator {
	if cfg.Memory == nil {
		cfg.Memory = memory.NewBound(cfg.MemoryBytes)
	}
	return &StateCoordinator{
		cfg: cfg, account: cfg.Memory.Account(), keys: map[Key]*keyState{}, appends: map[AppendID]*appending{}, nextColdMS: math.MaxInt64, nextPruneMS: math.MaxInt64,
	}
}

// Handle takes an operation on a key of this shard. h is not 0. nowMS is monotonic and never falls; wall stamps snapshots.
func (c *StateCoordinator) Handle(nowMS int64, wall wire.Timestamp, h Handle, op Operation) StateEffects {
	c.begin(nowMS, wall)
	if !c.loaded {
		c.reply(h, refuse(wire.CoordinatorLoadInProgress, "the share coordinator reads its log"))
		return c.end()
	}
	if k := c.keys[op.Key]; k != nil && k.writing {
		k.waiting = append(k.waiting, waitingOperation{h, op})
	} else {
		c.run(h, op)
	}
	return c.end()
}

// Appended reports the outcome of an append: where the record stands, or why it does not. Outcomes may come in any order.
func (c *StateCoordinator) Appended(nowMS int64, wall wire.Timestamp, id AppendID, at wire.Offset, code wire.ErrorCode) StateEffects {
	c.begin(nowMS, wall)
	a, ok := c.appends[id]
	if !ok {
		panic(fmt.Sprintf("BUG: append %d is not under way", id))
	}
	delete(c.appends, id)
	a.state.writing = false
	c.promised -= a.grows
	if code == wire.None {
		c.apply(at, &a.record)
	} else {
		a.result = refuse(answerCode(code), "the state could not be written: "+code.String())
	}
	if a.handle != 0 {
		c.reply(a.handle, a.result)
	}
	c.resume(a.state)
	return c.end()
}

// TopicDeleted forgets the states of a topic's partitions.
func (c *StateCoordinator) TopicDeleted(nowMS int64, wall wire.Timestamp, topic wire.TopicID) StateEffects {
	c.begin(nowMS, wall)
	for _, k := range c.sorted(func(k *keyState) bool { return k.key.Topic == topic && k.known && c.loaded }) {
		c.runOrWait(0, Operation{Kind: Delete, Key: k.key})
	}
	return c.end()
}

// Tick does what has become due: snapshots of what was not written for long, and pruning.
func (c *StateCoordinator) Tick(nowMS int64, wall wire.Timestamp) StateEffects {
	c.begin(nowMS, wall)
	if c.nextColdMS <= c.nowMS {
		c.nextColdMS = c.nowMS + c.cfg.ColdSnapshotIntervalMS
		c.snapshotCold()
	}
	if c.nextPruneMS <= c.nowMS {
		c.nextPruneMS = c.nowMS + c.cfg.PruneIntervalMS
		c.prune()
	}
	return c.end()
}

func (c *StateCoordinator) begin(nowMS int64, wall wire.Timestamp) {
	c.nowMS, c.wall, c.fx = max(nowMS, c.nowMS), wall, StateEffects{PruneTo: wire.NoOffset}
}

// GiveUp gives back what the coordinator takes of the memory of all of them: its shard is another's, and it is not to be called again.
func (c *StateCoordinator) GiveUp() { c.account.Tell(0) }

func (c *StateCoordinator) end() StateEffects {
	if c.loaded {
		c.account.Tell(c.memory + c.promised)
	}
	c.fx.NextTickMS = min(c.nextColdMS, c.nextPruneMS)
	return c.fx
}

func (c *StateCoordinator) reply(h Handle, r Result) {
	c.fx.Replies = append(c.fx.Replies, Reply{h, r})
}

// sorted gives the keys that meet a condition in the order of their names.
func (c *StateCoordinator) sorted(want func(*keyState) bool) (list []*keyState) {
	for _, k := range c.keys {
		if want(k) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b *keyState) int {
		return cmp.Or(cmp.Compare(a.key.Group, b.key.Group), slices.Compare(a.key.Topic[:], b.key.Topic[:]), cmp.Compare(a.key.Partition, b.key.Partition))
	})
	return list
}

// keyStateBytes is a little more than a key's state takes without its group's name and its batches.
const keyStateBytes = 384

// size is what a state takes, in bytes.
func (k *keyState) size() int64 {
	return keyStateBytes + int64(len(k.key.Group)) + int64(len(k.batches))*int64(unsafe.Sizeof(StateBatch{}))
}

// growth is what an operation may add to the states: in the worst case each of its batches cuts another in two.
func (op *Operation) growth(k *keyState) int64 {
	switch grows := 2 * int64(len(op.Batches)) * int64(unsafe.Sizeof(StateBatch{})); {
	case op.Kind == Initialize && k == nil:
		return (&keyState{key: op.Key}).size()
	case op.Kind == Write:
		return grows
	}
	return 0
}

// answerCode is what a leader is told of an append's failure (CoordinatorRuntime).
func answerCode(code wire.ErrorCode) wire.ErrorCode {
	switch code {
	case wire.UnknownTopicOrPartition, wire.NotEnoughReplicas, wire.NotEnoughReplicasAfterAppend, wire.RequestTimedOut:
		return wire.CoordinatorNotAvailable
	case wire.NotLeaderOrFollower, wire.KafkaStorageError:
		return wire.NotCoordinator
	case wire.MessageTooLarge, wire.RecordListTooLarge, wire.InvalidFetchSize:
		return wire.UnknownServerError
	}
	return code
}
