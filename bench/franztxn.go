package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// franzTxn are a producer's transactions, of so many records each. A record's response is not over before its transaction is committed: until
// then it may be undone, and nobody who reads what is committed can see it.
type franzTxn struct {
	records int // of a transaction
	open    bool
	sent    int         // of the open one
	ending  atomic.Bool // it is being committed

	stored []storedRecord // of the open one and acknowledged; under the producer's mu
}

// storedRecord is acknowledged and not committed.
type storedRecord struct {
	due     Instant
	service time.Duration
	bytes   int64
}

// abortTimeout bounds what is done about an open transaction when a run ends early.
const abortTimeout = 5 * time.Second

// begun has a transaction open for the next record.
func (p *franzProducer) begun() error {
	if p.txn == nil || p.txn.open {
		return nil
	}
	if err := p.client.BeginTransaction(); err != nil {
		return fmt.Errorf("bench: begin a transaction: %w", err)
	}
	p.txn.open, p.txn.sent = true, 0
	return nil
}

// full tells that it is time to commit.
func (p *franzProducer) full() bool { return p.txn != nil && p.txn.sent >= p.txn.records }

// commit ends the open transaction, and counts its records.
func (p *franzProducer) commit(ctx context.Context) error {
	if p.txn == nil || !p.txn.open {
		return nil
	}
	if err := p.client.Flush(ctx); err != nil {
		return fmt.Errorf("bench: flush: %w", err)
	}
	if err := p.verdict(); err != nil {
		return err
	}
	p.txn.ending.Store(true)
	defer p.txn.ending.Store(false)
	if err := p.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("bench: commit: %w", err)
	}
	p.txn.open = false
	now := p.run.clock.Now()
	p.mu.Lock()
	stored := p.txn.stored
	p.txn.stored = nil
	p.mu.Unlock()
	for _, s := range stored {
		p.recorder.acknowledged(s.due, now, s.service, 1, s.bytes)
		p.run.settled(s.due)
	}
	return nil
}

// abort leaves no transaction open behind a run that ended early: the coordinator would keep it until it times out.
func (p *franzProducer) abort() {
	if p.txn == nil || !p.txn.open {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), abortTimeout)
	defer cancel()
	if p.client.AbortBufferedRecords(ctx) == nil {
		_ = p.client.EndTransaction(ctx, kgo.TryAbort)
	}
}
