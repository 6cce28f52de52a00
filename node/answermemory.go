package node

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/ringmill/ringmill/wire"
)

// answerMemory is what the answers of one loop's connections hold: each is charged from when it is whole until its bytes are
// sent, and a Fetch without a session for its partitions until it is answered. Over max, nobody who has answers to read is read
// from, large Fetches are refused, and at the end of the turn those who read least are disconnected. So a loop holds max and what
// one turn adds.
type answerMemory struct {
	held, max int
}

// answerBytesMax bounds the answers of the whole node that are not read yet: some ninety Metadata answers of 10,000 partitions.
// answersOfLoopMin leaves each of many loops room for two of 100,000.
const (
	answerBytesMax   = 128 << 20
	answersOfLoopMin = 32 << 20
)

// answersOfLoop is one loop's share.
func answersOfLoop(loops int) int { return max(answerBytesMax/loops, answersOfLoopMin) }

// fetchPartHeld is what a partition of a waiting Fetch holds: its part, its entry among those noted and the partition's waiter.
const fetchPartHeld = int(unsafe.Sizeof(fetchPart{})) + 192

func (a *answerMemory) over() bool { return a.held > a.max }

// hold charges n bytes to the connection; letGo takes them back.
func (c *Conn) hold(n int) {
	c.held += n
	c.loop.answers.held += n
}

func (c *Conn) letGo(n int) {
	if c.held -= n; c.held < 0 {
		panic("BUG: a connection sent more than its answers")
	}
	c.loop.answers.held -= n
}

// shedAnswers disconnects those who hold more than others and have read least recently, but for the last one: an answer larger
// than the bound goes out as well.
func (l *Loop) shedAnswers() {
	if !l.answers.over() {
		return
	}
	var holders []*Conn
	l.conns.all(func(c *Conn) {
		if c.held > 0 && !c.closing {
			holders = append(holders, c)
		}
	})
	mean := l.answers.held / max(len(holders), 1)
	holders = slices.DeleteFunc(holders, func(c *Conn) bool { return c.held < mean })
	slices.SortFunc(holders, func(a, b *Conn) int { return cmp.Compare(a.lastActive, b.lastActive) })
	for len(holders) > 1 && l.answers.over() {
		l.metrics.shed.Inc()
		holders[0].refuse("its answers are not read, and others need the memory", "bytes", holders[0].held, "max", l.answers.max)
		holders = holders[1:]
	}
}

// grows says of a kind of request that its answer grows with what the node has, not with what it is asked. Such answers are made a
// few at a time. None of them waits for another client's request.
func grows(key wire.APIKey) bool {
	switch key {
	case wire.KeyMetadata, wire.KeyListOffsets, wire.KeyOffsetFetch, wire.KeyDescribeGroups, wire.KeyListGroups, wire.KeyDescribeConfigs,
		wire.KeyDescribeLogDirs, wire.KeyListPartitionReassignments, wire.KeyDescribeProducers, wire.KeyDescribeTransactions,
		wire.KeyListTransactions, wire.KeyConsumerGroupDescribe, wire.KeyListConfigResources, wire.KeyDescribeTopicPartitions:
		return true
	}
	return false
}

// growingTurns are the turns to make growing answers, each with the buffer that it is made in: made by appending to nothing, an
// answer would leave five times its bytes to the collector. A turn lasts until the loop has charged the answer.
type growingTurns chan []byte

// growingMax is how many growing answers are made at once: as many as there may be CPUs at work. growingKeepMax bounds the buffer that
// a turn keeps.
func growingMax(loops int) int { return loops + 2 }

const growingKeepMax = 4 << 20

func newGrowingTurns(loops int) growingTurns {
	turns := make(growingTurns, growingMax(loops))
	for range cap(turns) {
		turns <- nil
	}
	return turns
}

// end gives a turn back.
func (t growingTurns) end(buffer []byte) {
	if cap(buffer) > growingKeepMax {
		buffer = nil
	}
	t <- buffer[:0]
}
