package node

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The limit of Go's runtime on its memory. Without one the collector lets the heap grow to twice what lives, so that a node whose
// clients hold all that memoryBound allows them would take up to twice that.
//
// A limit below what lives makes the collector run without end. This one cannot come there: it lies above the sum of all bounds, and
// what these leave out (topics, partitions, their segments, connections) lifts it before it is reached.
const (
	// memoryLimitInterval is how often the limit is held against what lives.
	memoryLimitInterval = time.Second
	// memoryLimitStep keeps the limit still while what lives goes up and down: to set it stops all threads for a moment.
	memoryLimitStep = 64 << 20
	// memoryRoomMin is the room above what lives that stacks and the runtime's own tables have beside the heap's.
	memoryRoomMin = 128 << 20
)

// memoryLimit is the runtime's limit in bytes where live bytes are in use: a quarter more than clients may hold, or than is in use.
// The collector then runs once for each quarter of the heap that is made anew, as GOGC=25 would have it, and no oftener.
func memoryLimit(bound, live int64) int64 {
	limit := max(bound, live)
	limit += max(limit/4, memoryRoomMin)
	return (limit + memoryLimitStep - 1) / memoryLimitStep * memoryLimitStep
}

// limitMemory keeps the runtime's limit until the node stops, unless the user has set one (GOMEMLIMIT). It gives the limit at first.
func (n *Node) limitMemory() int64 {
	if os.Getenv("GOMEMLIMIT") != "" {
		return debug.SetMemoryLimit(-1)
	}
	bound := n.memoryBound()
	limit := memoryLimit(bound, liveBytes())
	debug.SetMemoryLimit(limit)
	go n.keepMemoryLimit(bound, limit)
	return limit
}

func (n *Node) keepMemoryLimit(bound, limit int64) {
	tick := time.NewTicker(memoryLimitInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-n.quit:
			debug.SetMemoryLimit(math.MaxInt64)
			return
		}
		if next := memoryLimit(bound, liveBytes()); next != limit {
			limit = next
			debug.SetMemoryLimit(limit)
		}
	}
}

// liveBytes is what the last collection found in use.
func liveBytes() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

func limitText(limit int64) string {
	if limit == math.MaxInt64 {
		return "without a limit"
	}
	return fmt.Sprintf("below %d MiB", limit>>20)
}
