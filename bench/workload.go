package bench

import (
	"errors"
	"fmt"
	"time"
)

// Workload says what load is put on one topic. The topic exists, with Partitions partitions led by the node.
type Workload struct {
	Topic      string
	Partitions int
	// RecordBytes is the size of a record's value; records have neither key nor headers.
	RecordBytes int
	// BatchRecords is how many records a raw produce request carries, in one batch for one partition.
	BatchRecords int
	// Acks is 1 or -1 (all): without answers nothing can be measured.
	Acks int16
	// Producers and Fetchers are connections (raw) or clients (EndToEnd).
	Producers, Fetchers int
	// InFlight is how many produce requests a raw connection has out; Kafka's clients have up to 5.
	InFlight int
	// Rate is the records a second that all producers of EndToEnd send together.
	Rate float64
	// Linger is how long a producer of EndToEnd waits for more records before it sends a batch; franz-go's default is 10 ms,
	// the Java client's 5 ms.
	Linger time.Duration
	// WarmUp precedes the measured window, Duration is the window.
	WarmUp, Duration time.Duration
	// NodePIDs are the processes of the node, or of all nodes of the cluster, whose resources are read at both ends of the window and
	// added up; none leaves them out.
	NodePIDs []int
	// Clock and Dial are what the raw closed loops run on: Monotonic and the network if they are nil.
	Clock Clock
	// Threads is how this process's threads have waited for processors; nil: what /proc says.
	Threads func() map[int]ThreadCounters
	Dial    Dialer
}

func (w *Workload) clock() Clock {
	if w.Clock == nil {
		return Monotonic{}
	}
	return w.Clock
}

// ErrWorkload is wrapped by every error of a workload that cannot be run as it is.
var ErrWorkload = errors.New("bench: workload")

func (w *Workload) check(producing, fetching bool) error {
	switch {
	case w.Topic == "" || w.Partitions < 1 || w.Duration <= 0 || w.WarmUp < 0:
		return fmt.Errorf("%w: needs a topic, partitions and a duration", ErrWorkload)
	case producing && (w.Producers < 1 || w.Acks == 0):
		return fmt.Errorf("%w: %d producers with acks %d: needs a producer and answers", ErrWorkload, w.Producers, w.Acks)
	case producing && w.RecordBytes < stampBytes:
		return fmt.Errorf("%w: records of %d bytes: at least %d", ErrWorkload, w.RecordBytes, stampBytes)
	case fetching && w.Fetchers < 1:
		return fmt.Errorf("%w: needs a fetcher", ErrWorkload)
	}
	return nil
}

// share is the partitions of connection i of n. If there are more connections than partitions they share them.
func (w *Workload) share(i, n int) []int32 {
	if n >= w.Partitions {
		return []int32{int32(i % w.Partitions)}
	}
	var mine []int32
	for p := i; p < w.Partitions; p += n {
		mine = append(mine, int32(p))
	}
	return mine
}
