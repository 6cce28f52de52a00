package node

import (
	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/control/quota"
	"github.com/ringmill/ringmill/control/share"
	"github.com/ringmill/ringmill/control/txn"
	"github.com/ringmill/ringmill/wire"
)

// Sizes of what is counted by number; each is a little more than the struct takes.
const (
	sessionPartBytes = 384
	messageBytes     = 16
	answerKeptBytes  = 4 << 10
	providedBytes    = 512 * 16 << 10
	// quotaKinds are those of clientQuotas, and addresses.
	quotaKinds = 5
	// decodedFactor is how much larger than its bytes kmsg's form of a cold request may be.
	decodedFactor = 32
	// sharePartitionBytes is a partition in a share session: its place in the line, and in the table of what its member was told.
	sharePartitionBytes = 128
	// answerGrowth is how much room an answer's bytes may take while others are appended to them.
	answerGrowth = 2
)

// memoryBound is the sum of the bounds on what clients can make the node hold, in bytes: what the loops keep, the requests
// under way, answers and the coordinators. What a topic, a partition or a connection (a short request, 16 KiB, and room for 64
// partitions to fetch) takes by being there is not in it, nor what the garbage collector has not taken back yet.
func (n *Node) memoryBound() int64 {
	cfg := n.Config()
	loop := int64(providedBytes + slabKeep + coldReadsMax*coldReadBytes + 2*mailboxMax*messageBytes + indexBytesMax +
		outKeepMax*outBufferMax + pendingFreeMax*answerKeptBytes + sessionPartsMax*sessionPartBytes + produceFreeMax*produceItemsKeep*produceItemBytes)
	requests := cfg.RequestMemoryBytes + cfg.RequestMemoryBytes/int64(produceEntryBytesMin)*int64(produceItemBytes) +
		decodedFactor*decodeBytesMax + recordReaders*wire.DecompressedMax
	clients := quotaKinds * quota.MemoryMax(clientWindows(cfg))
	answers := int64(answerGrowth*answersOfLoop(cfg.Loops)*cfg.Loops + growingMax(cfg.Loops)*growingKeepMax)
	coordinators := group.DefaultConfig().MemoryBytes + txn.DefaultConfig().MemoryBytes + share.DefaultStateConfig().MemoryBytes
	shares := shareHeldMax*share.RunBytes + sharePartitionsMax*sharePartitionBytes + shareReadBytesMax
	return loop*int64(len(n.loops)) + requests + clients + answers + coordinators + shares
}
