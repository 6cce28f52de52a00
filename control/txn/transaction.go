package txn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// State is where a transactional id stands. doc.go draws the transitions. The numbers are those of the records.
type State uint8

// The states of a transaction, in Kafka's words.
const (
	Empty          State = 0
	Ongoing        State = 1
	PrepareCommit  State = 2
	PrepareAbort   State = 3
	CompleteCommit State = 4
	CompleteAbort  State = 5
	Dead           State = 6
)

var stateNames = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"}

// String gives the name that DescribeTransactions and ListTransactions carry.
func (s State) String() string { return stateNames[s] }

// prepared reports whether the outcome is decided and markers are on their way.
func (s State) prepared() bool { return s == PrepareCommit || s == PrepareAbort }

// idle reports whether no transaction is open.
func (s State) idle() bool { return s == Empty || s == CompleteCommit || s == CompleteAbort }

// epochMax is the last epoch that a client gets; the one above it is left for fencing.
const epochMax wire.ProducerEpoch = math.MaxInt16 - 1

// Version is what a client knows of transactions (the feature transaction.version).
type Version int16

// The versions of transactions. What KIP-890's first part (1) brought is served to every client.
const (
	TV0 Version = 0
	TV2 Version = 2 // KIP-890, second part: partitions are added by producing to them, and each end bumps the epoch
)

// bumps reports whether each EndTxn bumps the producer's epoch.
func (v Version) bumps() bool { return v >= TV2 }

// metadata is a transactional id as its record has it: a value, whose partitions are never changed in place.
type metadata struct {
	producerID, previousProducerID, nextProducerID wire.ProducerID
	epoch, lastEpoch                               wire.ProducerEpoch
	timeoutMS                                      int32
	state                                          State
	partitions                                     []wire.TopicPartition // in order
	start                                          wire.Timestamp        // NoTimestamp while no transaction was begun
	lastUpdate                                     wire.Timestamp
	version                                        Version
}

// transaction is one transactional id.
type transaction struct {
	id string
	metadata
	// pending is what the record under way says, nil if none is; until it is durable everything else waits.
	pending *metadata
	// startMS is when the open transaction began, monotonic: what its timeout counts from.
	startMS int64
	// unmarked are the partitions that have no marker yet, while the outcome is decided.
	unmarked map[wire.TopicPartition]struct{}
	// failed are those of unmarked whose marker is to be written again, at retryAtMS.
	failed    []wire.TopicPartition
	retryAtMS int64
	markers   MarkersID
	// waiters are additions that wait for the transaction before to be complete, or for a record under way.
	waiters []waiter
	// charged is what it counts for in Coordinator.held, open whether it counts in Coordinator.open.
	charged int64
	open    bool
}

// busy reports whether the transaction changes its state, so that clients have to come back.
func (t *transaction) busy() bool { return t.pending != nil || t.state.prepared() }

func (t *transaction) exhausted() bool { return t.epoch >= epochMax }

// mayFollow lists the states before each state.
var mayFollow = map[State][]State{
	Empty:          {Empty, CompleteCommit, CompleteAbort},
	Ongoing:        {Ongoing, Empty, CompleteCommit, CompleteAbort},
	PrepareCommit:  {Ongoing},
	PrepareAbort:   {Ongoing, Empty, CompleteCommit, CompleteAbort},
	CompleteCommit: {PrepareCommit},
	CompleteAbort:  {PrepareAbort},
	Dead:           {Empty, CompleteCommit, CompleteAbort},
}

// transit writes next and makes it the transaction's state once it is durable; then is called with the outcome, after
// which whoever waited goes on.
func (c *Coordinator) transit(t *transaction, next metadata, then func(code wire.ErrorCode)) {
	if t.pending != nil || !slices.Contains(mayFollow[next.state], t.state) {
		panic(fmt.Sprintf("BUG: transactional id %q cannot go from %s to %s (a record is under way: %t)", t.id, t.state, next.state, t.pending != nil))
	}
	next.previousProducerID = t.producerID
	t.pending = &next
	c.charge(t)
	c.append([]wire.Record{next.record(t.id)}, func(code wire.ErrorCode) {
		t.pending = nil
		if code == wire.None {
			if next.state == Ongoing && t.state != Ongoing {
				t.startMS = c.nowMS
			}
			t.metadata = next
		}
		c.charge(t)
		c.touched = t
		then(code)
		c.release(t)
	})
}

// union gives the sorted union of two lists, a sorted one and any.
func union(have, more []wire.TopicPartition) []wire.TopicPartition {
	all := append(slices.Clone(have), more...)
	slices.SortFunc(all, comparePartitions)
	return slices.Compact(all)
}

func comparePartitions(a, b wire.TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// holds reports whether every one of these partitions is in the transaction.
func (m *metadata) holds(partitions []wire.TopicPartition) bool {
	for _, p := range partitions {
		if _, ok := slices.BinarySearchFunc(m.partitions, p, comparePartitions); !ok {
			return false
		}
	}
	return true
}
