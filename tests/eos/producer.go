package eos

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/tests/load"
)

// planned is a record of a transaction that has begun.
type planned struct {
	partition int32
	counter   uint32
}

// outcome of an end that was asked for.
type outcome string

const (
	ended   outcome = "ok"
	refused outcome = "fail" // definitely not
	unknown outcome = "info"
)

// endpoint is a transactional producer of some protocol. After an error it is closed and another one takes over.
type endpoint interface {
	// open takes the transactional id over.
	open(ctx context.Context) error
	begin() error
	// send writes records and returns the offset of each counter; after an error the transaction can't be committed.
	send(ctx context.Context, records []planned) (map[uint32]int64, error)
	// end commits or aborts; refused is for a commit that definitely did not and will not happen.
	end(ctx context.Context, commit bool) outcome
	close()
}

// patience is what an endpoint has for one request over restarts of the node.
const patience = 30 * time.Second

// producer runs transactions until it is told to stop.
type producer struct {
	*client
	transactions uint32
	counter      uint32
}

func newProducer(c *client) *producer { return &producer{client: c} }

func (p *producer) run(ctx context.Context) {
	for ctx.Err() == nil {
		e := p.endpoint()
		asked := load.Now()
		if err := e.open(ctx); err == nil {
			p.history.add(event{Op: "init", T0: asked, T1: load.Now(), Proc: p.number, ID: p.transactionalID})
			for ctx.Err() == nil && p.transaction(ctx, e) {
			}
		}
		e.close()
		p.pause(ctx, 200*time.Millisecond) // a zombie lets its twin have some transactions
	}
}

func (p *producer) endpoint() endpoint {
	if p.role == roleRaw {
		return newRaw(p.client)
	}
	return newFranz(p.client)
}

// plan is the records of the next transaction.
func (p *producer) plan() []planned {
	records := make([]planned, 1+p.random.IntN(8))
	for i := range records {
		records[i] = planned{partition: p.random.Int32N(p.partitions), counter: p.counter}
		p.counter++
	}
	return records
}

// transaction runs one from begin to end; false if the endpoint is of no use any more. A transaction that runs when ctx ends is ended.
func (p *producer) transaction(ctx context.Context, e endpoint) bool {
	records := p.plan()
	number := p.transactions
	p.transactions++
	if e.begin() != nil {
		return false
	}
	begun := event{Op: "begin", T0: load.Now(), Proc: p.number, Txn: number, Topic: p.in}
	for _, r := range records {
		begun.Recs = append(begun.Recs, []int64{int64(r.partition), int64(r.counter)})
	}
	p.history.add(begun)
	whole := context.WithoutCancel(ctx)
	offsets, err := e.send(whole, records)
	commit := err == nil && p.random.IntN(4) > 0
	switch p.random.IntN(30) {
	case 0: // nobody ends it but the coordinator
		p.outlast(ctx)
		return false
	case 1: // too late
		p.outlast(ctx)
	case 2, 3, 4:
		p.pause(ctx, p.timeout/4)
	}
	return p.end(whole, e, number, commit, offsets) && err == nil
}

// outlast sleeps over the transaction's timeout.
func (p *producer) outlast(ctx context.Context) {
	select {
	case <-time.After(p.timeout + p.timeout/2):
	case <-ctx.Done():
	}
}

// dieSoon ends this process within the time that an end takes, so that its outcome stays in doubt.
func (p *producer) dieSoon() {
	after := time.Duration(p.random.IntN(8000)) * time.Microsecond
	go func() {
		time.Sleep(after)
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}()
}

// end notes what it is about to ask for, asks, and notes what it was told.
func (p *producer) end(ctx context.Context, e endpoint, number uint32, commit bool, offsets map[uint32]int64) bool {
	asked := event{Op: "end", T0: load.Now(), Proc: p.number, Txn: number, Commit: commit}
	for counter, offset := range offsets {
		asked.Recs = append(asked.Recs, []int64{int64(counter), offset})
	}
	p.history.add(asked)
	if p.random.IntN(40) == 0 {
		p.dieSoon()
	}
	result := e.end(ctx, commit)
	p.history.add(event{Op: "ended", T1: load.Now(), Proc: p.number, Txn: number, Res: string(result)})
	return result == ended
}
