package main

import (
	"context"
	"sync"
)

// promises are what a producer has sent and has no answer to, by number.
type promises struct {
	mu     sync.Mutex
	last   uint64
	open   map[uint64]func(error)
	failed error         // of the connection
	empty  chan struct{} // closed and made anew when nothing is open any more
}

func newPromises() *promises {
	return &promises{open: map[uint64]func(error){}, empty: make(chan struct{})}
}

// add gives a promise the next number, from 1 on. Where the connection has failed it is kept at once.
func (p *promises) add(done func(error)) uint64 {
	p.mu.Lock()
	p.last++
	number, failed := p.last, p.failed
	if failed == nil {
		p.open[number] = done
	}
	p.mu.Unlock()
	if failed != nil {
		done(failed)
	}
	return number
}

// keep tells what became of a number. One that is not open is nobody's.
func (p *promises) keep(number uint64, err error) {
	p.mu.Lock()
	done := p.open[number]
	p.mu.Unlock()
	if done == nil {
		return
	}
	done(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.open, number); len(p.open) == 0 {
		close(p.empty)
		p.empty = make(chan struct{})
	}
}

// fail ends all that are open, and those to come.
func (p *promises) fail(err error) {
	p.mu.Lock()
	p.failed = err
	var numbers []uint64
	for number := range p.open {
		numbers = append(numbers, number)
	}
	p.mu.Unlock()
	for _, number := range numbers {
		p.keep(number, err)
	}
}

// wait returns when none is open.
func (p *promises) wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		open, empty := len(p.open), p.empty
		p.mu.Unlock()
		if open == 0 {
			return nil
		}
		select {
		case <-empty:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
