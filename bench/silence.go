package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// silence notices that a client which waits for answers gets none. It looks from a goroutine of its own, since who waits may sit in a read or a
// write that never ends, and costs who reads one load of an atomic an answer: it marks the client now and then, and the next answer takes the mark away.
type silence struct {
	clock    Clock
	patience time.Duration // of the run
	// awaits tells whether answers are out.
	awaits func() bool
	// ask, if not nil, is called each time that the client has been silent for quietMax more. Its error says why nothing is to be waited for any more.
	ask    func(ctx context.Context) error
	marked atomic.Bool
}

// quietLooks is how often in quietMax a silence is looked for: by so much of it one may be told too late.
const quietLooks = 4

// quietMax is how long a connection may be silent with requests out before who leads is asked: a quarter of what the run has patience for, so that
// several questions fit into it, and no more than 5 s. Apache Kafka's clients wait for request.timeout.ms, 30 s by default.
func quietMax(patience time.Duration) time.Duration { return min(patience/4, 5*time.Second) }

// heard notes an answer.
func (s *silence) heard() {
	if s.marked.Load() {
		s.marked.Store(false)
	}
}

// watch returns when the client is not to wait any more, with the reason: what ask said, or ErrSilent when nothing came for as long as the run has
// patience; nil when ctx ended.
func (s *silence) watch(ctx context.Context) error {
	quiet := quietMax(s.patience)
	since := s.clock.Now()
	asked, why := since, error(nil)
	for {
		pause(ctx, quiet/quietLooks)
		now := s.clock.Now()
		switch {
		case ctx.Err() != nil:
			return nil
		case !s.awaits() || !s.marked.Load():
			since, asked, why = now, now, nil
			s.marked.Store(true)
		case now.Sub(since) >= s.patience:
			err := fmt.Errorf("%w: no answer for %v", ErrSilent, now.Sub(since).Round(time.Millisecond))
			if why != nil {
				err = fmt.Errorf("%w: %w", err, why)
			}
			return err
		case s.ask != nil && now.Sub(asked) >= quiet:
			why = s.ask(ctx)
			if errors.Is(why, errLeadsNoMore) {
				return why
			}
			asked = s.clock.Now()
		}
	}
}

// bound runs work, which waits for answers, and cancels it when it is not to wait any more; the error is then why.
func (s *silence) bound(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var watching sync.WaitGroup
	var silent error
	watching.Go(func() {
		silent = s.watch(ctx)
		stop()
	})
	err := work(ctx)
	stop()
	watching.Wait()
	if err != nil && silent != nil {
		return silent
	}
	return err
}

// errLeadsNoMore says that a node which does not answer has lost a partition to another one.
var errLeadsNoMore = errors.New("bench: it does not answer, and another node leads")

// askAfter is a silence's ask about a connection to a node: whether another one leads one of these partitions now.
func (c *cluster) askAfter(address string, partitions func() []int32) func(context.Context) error {
	return func(ctx context.Context) error {
		leaders, err := c.leaders(ctx)
		if err != nil {
			return err
		}
		for _, p := range partitions() {
			if leader, led := leaders[p]; led && leader != address {
				return fmt.Errorf("%w: %s-%d, at %s and no longer at %s", errLeadsNoMore, c.topic, p, leader, address)
			}
		}
		return nil
	}
}
