package replicate

import (
	"github.com/ringmill/ringmill/wire"
)

// Completion answers one Produce of one partition.
type Completion struct {
	// Ref is what Produce was given.
	Ref           any
	Code          wire.ErrorCode
	BaseOffset    wire.Offset
	LogAppendTime wire.Timestamp
}

// Refused is the completion of a Produce that got no offset.
func Refused(ref any, code wire.ErrorCode) Completion {
	return Completion{Ref: ref, Code: code, BaseOffset: wire.NoOffset, LogAppendTime: wire.NoTimestamp}
}

// FetchWaiter is a fetch that waits for the high watermark, or a replica's for the log, to move.
type FetchWaiter struct {
	// Ref is the waiting fetch; a partition holds at most one waiter a Ref.
	Ref any
	// Generation tells the holder of Ref which of its waits this was; a stale one is ignored there.
	Generation uint32
}

// ISRMember is a replica of a proposed ISR, with the broker epoch under which the leader knows it (KIP-903).
type ISRMember struct {
	ID wire.NodeID
	// BrokerEpoch is that of its last fetch; wire.NoBrokerEpoch, which the controller takes for any, if it has not fetched yet.
	BrokerEpoch wire.BrokerEpoch
}

// ISRProposal is an ISR that a leader asks the controller for (AlterPartition, KIP-497). The owner sends it until the
// controller has answered, and hands it back with the answer; the partition makes no other meanwhile.
type ISRProposal struct {
	// Ref is the Metadata's.
	Ref            any
	Epoch          wire.LeaderEpoch
	PartitionEpoch wire.PartitionEpoch
	// ISR begins with the leader; the others are in the order of the assignment.
	ISR []ISRMember
}

// Truncation asks for a log to be cut, durably, once no write of it is under way. Partition.Truncated says that it is done.
type Truncation struct {
	// Ref is the Metadata's.
	Ref any
	// To is the log's next end offset.
	To wire.Offset
	// Whole says that nothing of the log is of use: it begins anew, empty, at To, which may be beyond its end.
	Whole bool
}

// Effects is what the owner must do after an event. The owner reuses it: Reset keeps the capacity.
type Effects struct {
	Completed []Completion
	// Wake are fetches to read again, of consumers and of replicas.
	Wake []FetchWaiter
	// Proposals are to be sent to the controller.
	Proposals []ISRProposal
	// Truncations are logs to cut.
	Truncations []Truncation
}

// Reset empties e.
func (e *Effects) Reset() {
	clear(e.Completed)
	clear(e.Wake)
	clear(e.Proposals)
	clear(e.Truncations)
	e.Completed, e.Wake = e.Completed[:0], e.Wake[:0]
	e.Proposals, e.Truncations = e.Proposals[:0], e.Truncations[:0]
}
