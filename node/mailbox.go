package node

import "sync"

// Message is work for a loop: handle runs on the loop's thread and must not block.
type Message interface{ handle(l *Loop) }

// messageFunc is a Message for cold paths; hot ones are pooled structs, so that a post allocates nothing.
type messageFunc func(l *Loop)

func (f messageFunc) handle(l *Loop) { f(l) }

// Mailbox carries messages to one loop from other loops and goroutines. It is swapped whole, so its lock is held for
// the copy of one interface value at a time and never across I/O; bounded, so that a loop that is behind slows those
// who post to it.
type Mailbox struct {
	mu    sync.Mutex
	items []Message
	// spare is the slice that the owner emptied last; the two change places at each take.
	spare []Message
}

// mailboxMax bounds the messages that wait for one loop: 16 B each, 1 MiB in all. A loop handles some millions a
// second, so a full mailbox is a loop 20 ms and more behind.
const mailboxMax = 1 << 16

// put adds m and reports whether there was room, and whether the box was empty: then its owner may sleep and must be
// woken.
func (b *Mailbox) put(m Message) (ok, wasEmpty bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.items) >= mailboxMax {
		return false, false
	}
	b.items = append(b.items, m)
	return true, len(b.items) == 1
}

// take returns all that waits. The slice is the owner's until its next take.
func (b *Mailbox) take() []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	items := b.items
	clear(b.spare)
	b.items, b.spare = b.spare[:0], items
	return items
}
