package txn

import (
	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/wire"
)

// Config holds what the coordinator needs to know of the broker's properties. The names in the comments are Kafka's.
type Config struct {
	AbortIntervalMS      int64 // transaction.abort.timed.out.transaction.cleanup.interval.ms: how often timeouts are looked for
	IDExpirationMS       int64 // transactional.id.expiration.ms: how long an unused transactional id is remembered
	ExpirationIntervalMS int64 // transaction.remove.expired.transaction.cleanup.interval.ms

	// CoordinatorEpoch is the leader epoch of the shard's partition; markers carry it, so that those of a coordinator
	// that was followed by another are refused.
	CoordinatorEpoch int32
	// NewProducerID gives an id that was never used; false while none is at hand. It is called from within Handle and
	// Tick and must not block.
	NewProducerID func() (wire.ProducerID, bool)

	// Bounds that Kafka has not, for one coordinator, but for Memory.
	MaxIDs      int   // transactional ids; a new one above it is refused with POLICY_VIOLATION
	MemoryBytes int64 // what ids and the partitions of their transactions hold; ids above it are refused with POLICY_VIOLATION, partitions with CONCURRENT_TRANSACTIONS
	// Memory, if it is not nil, stands for MemoryBytes: a bound that the coordinator shares with others of its owner.
	Memory        *memory.Bound
	WaitMS        int64 // how long an added partition may wait for the transaction before, then CONCURRENT_TRANSACTIONS
	MarkerRetryMS int64 // the pause before a marker that could not be written is written again
}

// DefaultConfig gives the defaults of Apache Kafka 4.1.1. NewProducerID is the caller's to set.
func DefaultConfig() Config {
	return Config{
		AbortIntervalMS:      10_000,
		IDExpirationMS:       7 * 24 * 60 * 60 * 1000,
		ExpirationIntervalMS: 60 * 60 * 1000,

		MaxIDs:        200_000,
		MemoryBytes:   128 << 20,
		WaitMS:        1000,
		MarkerRetryMS: 100,
	}
}
