package node

import (
	"runtime"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/control/share"
)

// TestPatientShareFetchesHoldNoRecords: a fetch that was given too little waits for more. What it has read meanwhile is not kept: the
// start's sum of bounds has room for 64 MiB of that, and there may be any number of such fetches.
func TestPatientShareFetchesHoldNoRecords(t *testing.T) {
	const readers, recordBytes = 48, 900_000
	tn := startNode(t, nodeOptions{seams: noDrain, set: []string{"share.coordinator.state.topic.num.partitions=2"}})
	key := share.Key{Group: "g", Topic: tn.shareTopic("t")}
	tn.dial().mustProduce("t", 0, batch(strings.Repeat("v", recordBytes)))
	before := heapBytes()
	for member := range byte(readers) {
		r := tn.shareReader(key.Topic, member+1)
		req := r.request()
		req.MaxWaitMillis, req.MinBytes = 60_000, 1<<20
		r.send(req)
	}
	await(t, "all of them waiting for more", func() bool {
		waiting := 0
		tn.shares.inbox.do(func() {
			if sp := tn.shares.parts[key]; sp != nil {
				waiting = len(sp.patient)
			}
		})
		return waiting == readers
	})
	await(t, "what they have read is garbage", func() bool { return heapBytes() < before+readers*recordBytes/2 })
}

// heapBytes is what is reachable.
func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
