package bench

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Range is what a number of a run may be: from Least to Most, or one of Or, which have meanings of their own.
type Range[T cmp.Ordered] struct {
	Least, Most T
	Or          []T
}

// Check says that a number is outside, a NaN among them. The error wraps ErrWorkload.
func (r Range[T]) Check(name string, number T) error {
	if number >= r.Least && number <= r.Most || slices.Contains(r.Or, number) {
		return nil
	}
	or := ""
	for _, n := range r.Or {
		or += fmt.Sprintf(", or %v", n)
	}
	return fmt.Errorf("%w: %s %v: from %v to %v%s", ErrWorkload, name, number, r.Least, r.Most, or)
}

// Ranges of the numbers that runs, files and commands have. A number in its range can be counted with in nanoseconds and in what the protocol has for it, and
// what it makes this process hold is bounded. All are beyond what any machine does.
var (
	// Rates are records a second: one in a quarter of an hour at least. At the most that is measured here, a request has thousands of them.
	Rates = Range[float64]{Least: 0.001, Most: 1e9}
	// Durations are of a window, which is a second of figures each second, and of what is waited for.
	Durations = Range[time.Duration]{Least: time.Nanosecond, Most: 1000 * time.Hour}
	// Replicas are 16 bits in the protocol. -1 is the cluster's default.
	Replicas = Range[int]{Least: 1, Most: 1<<15 - 1, Or: []int{-1}}
	// PartitionCounts are of a topic, each of which is asked for its end.
	PartitionCounts = Range[int]{Least: 1, Most: 100_000}
	// Clients are producers of a topic, and the like.
	Clients = Range[int]{Least: 1, Most: clientsMax}
	// Repeats are of runs, pairs and passes.
	Repeats = Range[int]{Least: 1, Most: 10_000}
	// Percents are a precision: 100 is half.
	Percents = Range[float64]{Least: 0.01, Most: 100}
	// Backlogs are bytes of a Backlog: 1 PiB is more than a run of Durations' most could write.
	Backlogs = Range[int64]{Least: 1, Most: 1 << 50}

	valueSizes   = Range[int]{Least: stampBytes, Most: valueBytesMax}
	requestsOut  = Range[int]{Least: 1, Most: 10_000}      // of a connection: a slot of 40 bytes each
	transactions = Range[int]{Least: 0, Most: 1_000_000}   // records of one, which a producer of a verification keeps
	lingers      = Range[time.Duration]{Most: time.Minute} // franz-go takes no longer one
)

// from is a range with another least number.
func (r Range[T]) from(least T) Range[T] {
	r.Least = least
	return r
}

// Or0 is a range with 0 beside it, which leaves something open or out.
func (r Range[T]) Or0() Range[T] {
	var zero T
	r.Or = append(slices.Clone(r.Or), zero)
	return r
}

// checkNumbers says which number of the trial is outside its range.
func (t *Trial) checkNumbers() error {
	return cmp.Or(
		Rates.Or0().Check("rate", t.Rate),
		Durations.Check("duration", t.Duration),
		Durations.from(0).Check("warm-up", t.WarmUp),
		Durations.from(0).Check("timeout", t.Patience),
		lingers.Check("linger", t.Linger),
		Clients.from(0).Check("topics", t.Topics),
		Clients.Check("producers", t.Producers),
		Clients.from(0).Check("consumers", t.Consumers),
		Clients.from(0).Check("subscriptions", t.Subscriptions),
		PartitionCounts.Check("partitions", t.Partitions),
		Replicas.Check("replication factor", t.ReplicationFactor),
		requestsOut.Check("requests in flight", t.MaxInFlight),
		transactions.Check("records of a transaction", t.TransactionRecords),
		Range[int]{Most: keysMax}.Check("keys", t.Keys),
		valueSizes.Check("bytes of a record", t.RecordBytes),
		Range[int]{Least: 1, Most: t.batchRecordsMax()}.Or0().Check("records of a batch", t.BatchRecords),
	)
}

// verifiedStreams bounds the streams of a verification's ledger, of which each producer has one in each partition.
const verifiedStreams = 1_000_000

// checkNumbers says which number of the verification is outside its range.
func (v *Verification) checkNumbers() error {
	return cmp.Or(
		Rates.Check("rate", v.Rate),
		Durations.Check("duration", v.Duration),
		Durations.Check("timeout", v.Patience),
		Clients.Check("producers", v.Producers),
		PartitionCounts.Check("partitions", v.Partitions),
		Replicas.Check("replication factor", v.ReplicationFactor),
		transactions.Check("records of a transaction", v.TransactionRecords),
		valueSizes.from(ledgerHeader).Check("bytes of a record", v.RecordBytes),
		Range[int]{Least: 1, Most: verifiedStreams}.Check("producers times partitions", v.Producers*v.Partitions),
	)
}
