package node

// background is what a loop has goroutines do: opening files, syncs, reads that may wait for a disk. Many partitions may want
// something at the same moment, as when the first batches of 100,000 come in; what is beyond backgroundMax waits its turn, so
// that partitions cost neither goroutines nor descriptors.
type background struct {
	running int
	waiting []func() Message
	// head is the next of waiting.
	head int
}

// backgroundMax is how much work of one loop is under way at once. Disks gain nothing from more, and each may have two files open.
// Unbounded, a record to each of 100,000 partitions met a limit of 20,000 descriptors (PERFORMANCE.md, 100,000 partitions).
const backgroundMax = 64

// background runs work in a goroutine and the message it returns, if any, on this loop. Works begin in the order of the calls.
func (l *Loop) background(work func() Message) {
	b := &l.works
	if b.running == backgroundMax {
		b.waiting = append(b.waiting, work)
		return
	}
	b.running++
	l.start(work)
}

func (l *Loop) start(work func() Message) {
	l.spawn(func() Message {
		m := work()
		return messageFunc(func(l *Loop) {
			l.works.next(l)
			if m != nil {
				m.handle(l)
			}
		})
	})
}

// next begins what waits longest, if anything does.
func (b *background) next(l *Loop) {
	if b.head == len(b.waiting) {
		b.waiting, b.head = b.waiting[:0], 0
		b.running--
		return
	}
	work := b.waiting[b.head]
	b.waiting[b.head] = nil
	b.head++
	if 2*b.head > len(b.waiting) { // one that is never empty slides down
		n := copy(b.waiting, b.waiting[b.head:])
		clear(b.waiting[n:])
		b.waiting, b.head = b.waiting[:n], 0
	}
	l.start(work)
}

// spawn is background for work that is bounded otherwise, and that others should not wait behind.
func (l *Loop) spawn(work func() Message) {
	go func() {
		if m := work(); m != nil {
			l.send(m)
		}
	}()
}

// backgroundOf is background for work that changes names or files in p's directory: the directory is not given up to a
// topic of the same name while any is under way.
func (l *Loop) backgroundOf(p *partition, work func() Message) {
	p.jobs++
	l.background(func() Message {
		m := work()
		return messageFunc(func(l *Loop) {
			p.jobs--
			if m != nil {
				m.handle(l)
			}
		})
	})
}
