package node

import (
	"github.com/ringmill/ringmill/control/group"
	"github.com/ringmill/ringmill/wire"
)

// Sizes of what is counted by number; each is a little more than the struct takes.
const (
	sessionPartBytes = 384
	messageBytes     = 16
	answerKeptBytes  = 4 << 10
	providedBytes    = 512 * 16 << 10
	// decodedFactor is how much larger than its bytes kmsg's form of a cold request may be.
	decodedFactor = 32
)

// memoryBound is the sum of the bounds on what clients can make the node hold, in bytes: what the loops keep, the requests
// under way and the coordinators. What a topic, a partition or a connection takes by being there is not in it.
func (n *Node) memoryBound() int64 {
	loop := int64(providedBytes + slabKeep + coldReadsMax*coldReadBytes + 2*mailboxMax*messageBytes + indexBytesMax +
		outKeepMax*outBufferMax + pendingFreeMax*answerKeptBytes + sessionPartsMax*sessionPartBytes)
	shared := n.config().RequestMemoryBytes + decodedFactor*decodeBytesMax + recordReaders*wire.DecompressedMax
	return loop*int64(len(n.loops)) + shared + group.DefaultConfig().MemoryBytes
}
