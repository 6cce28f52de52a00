package node

import "sync"

// removals are the directories of a log directory that are to be removed: one at a time, in a goroutine that is there while there
// are any. Each waits for the disk with a thread of its own, thousands of partitions may be deleted at once, and Go ends a process
// of 10,000 threads.
type removals struct {
	mu      sync.Mutex
	waiting []func()
	running bool
}

// put has f run after those that were put before.
func (r *removals) put(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, f)
	if !r.running {
		r.running = true
		go r.run()
	}
}

func (r *removals) run() {
	for batch := r.take(); len(batch) > 0; batch = r.take() {
		for _, f := range batch {
			f()
		}
	}
}

// take gives all that wait; the goroutine is to end if that is none.
func (r *removals) take() []func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := r.waiting
	r.waiting, r.running = nil, len(batch) > 0
	return batch
}
