package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// How a lane waits: it looks at least this often whether something is to be sent again, and asks this seldom who leads.
const (
	laneAttention = 5 * time.Millisecond
	laneRetryWait = 10 * time.Millisecond
	// vanishedAfter is how long nodes must deny a topic before it counts as gone: one that has just started may not know it yet.
	vanishedAfter = time.Second
)

// lane is one producer's share of the schedule that goes to the partitions which one node led at the start. A goroutine on a thread of its
// own sends; each connection has a goroutine that reads. There is more than one connection only after leaders have moved.
//
//	pacer ─ due ─▶ send ─ slot, frame ─▶ laneConn ─ answer ─▶ recorder
//	                ▲                        │ refused, broken
//	                └──── mend ◀── retries ──┘
type lane struct {
	trial      *Trial
	run        *trialRun
	cluster    *cluster  // of its topic
	load       *Workload // what frames are built from
	producer   int       // its number
	partitions []int32
	turns      *turns
	rate       float64 // batches a second; 0 is a closed loop
	phase      float64 // the part of all records that the lanes before this one send
	pacer      *Pacer  // nil in a closed loop
	recorder   *recorder
	frames     []*rawFrame // of all partitions, sent in turn: what is sent is the kernel's copy
	sent       int
	keys       *keys

	// the sender's
	leaders  map[int32]string
	conns    map[string]*laneConn
	excused  Instant // up to here being late was not the generator's fault
	deniedAt Instant // since when nodes deny the topic; 0 if they do not
	why      error   // what was last in the way

	troubled  atomic.Bool  // something is in retries, or a connection is dead
	unsettled atomic.Int64 // sent or to be sent, and not acknowledged
	goodAt    atomic.Int64 // Instant of the last acknowledgement, or of the start
	wake      chan struct{}

	mu      sync.Mutex
	retries []sentBatch
	fatal   error
}

// sentBatch is one event of the schedule.
type sentBatch struct {
	due, at   Instant
	partition int32
	frame     *rawFrame // of the last sending; another one's turn may have come since
}

// laneConn is a connection to a leader. slots bounds what is out; inFlight is what is out, oldest first.
type laneConn struct {
	raw      *RawConn
	silence  silence
	stop     func()         // ends the watch for it
	led      map[int32]bool // partitions that its node led at any time since it was made; under the lane's mu
	slots    chan struct{}
	inFlight chan sentBatch
	dead     chan struct{} // closed when it broke
	read     chan struct{} // closed when its reader has ended
	once     sync.Once
	err      error // why it broke; to be read after dead is closed
}

func (c *laneConn) fail(err error) {
	c.once.Do(func() {
		c.err = err
		c.stop()
		c.raw.Close()
		close(c.dead)
	})
}

// prepare connects to the leaders.
func (l *lane) prepare(ctx context.Context) error {
	for _, p := range l.partitions {
		if _, err := l.connTo(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// begin sets the schedule.
func (l *lane) begin(at Instant) {
	if l.rate > 0 {
		l.pacer = l.trial.pacer(at, l.rate, l.trial.BatchRecords, l.producer)
		if r := l.pacer.replay; r != nil {
			r.phase = l.phase // a producer may have several lanes
		}
	}
}

// produce keeps the lane's schedule until the window ends, and then waits for what is not acknowledged.
func (l *lane) produce(ctx context.Context) error {
	defer l.run.clock.Lock()()
	l.goodAt.Store(int64(l.run.clock.Now()))
	for {
		due := l.next()
		if due >= l.run.in.until() || ctx.Err() != nil {
			break
		}
		if err := l.await(ctx, due); err != nil {
			return err
		}
		l.unsettled.Add(1)
		if err := l.send(ctx, sentBatch{due: due, partition: l.turns.next()}); err != nil {
			return err
		}
	}
	return l.drain(ctx)
}

func (l *lane) next() Instant {
	if l.pacer == nil {
		return l.run.clock.Now()
	}
	return l.pacer.Next()
}

// await returns when an instant has come and nothing is left to be sent again.
func (l *lane) await(ctx context.Context, due Instant) error {
	for {
		if err := l.mend(ctx); err != nil {
			return err
		}
		now := l.run.clock.Now()
		if now >= due || ctx.Err() != nil {
			return nil
		}
		l.run.clock.Wait(min(due, now.Add(laneAttention)))
	}
}

// send sends one batch, or leaves it for mend.
func (l *lane) send(ctx context.Context, s sentBatch) error {
	c, err := l.connTo(ctx, s.partition)
	if err != nil {
		l.again(s, err)
		return nil
	}
	if err := l.slot(ctx, c); err != nil {
		l.again(s, err)
		return l.verdict()
	}
	s.at = l.run.clock.Now()
	if l.pacer == nil {
		s.due = s.at
	} else {
		l.recorder.late(s.due, s.at, s.at.Sub(max(s.due, l.excused)))
	}
	s.frame = l.frames[l.sent%len(l.frames)]
	l.sent++
	c.inFlight <- s // has room: slots is as large
	s.frame.aim(s.partition, l.keys)
	s.frame.stamp(s.due)
	if err := c.raw.send(s.frame.bytes); err != nil {
		c.fail(err)
		l.trouble()
	}
	if now := l.run.clock.Now(); now.Sub(s.at) > time.Millisecond {
		l.excused = now // the node took no more bytes
	}
	return nil
}

// slot waits until fewer than MaxInFlight batches are out, or the connection broke, as one does that is silent for too long.
func (l *lane) slot(ctx context.Context, c *laneConn) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	defer func() { l.excused = l.run.clock.Now() }()
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-c.dead:
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// connTo is the connection to a partition's leader.
func (l *lane) connTo(ctx context.Context, partition int32) (*laneConn, error) {
	address, led := l.leaders[partition]
	if !led {
		return nil, fmt.Errorf("bench: nobody leads %s-%d", l.load.Topic, partition)
	}
	if c := l.conns[address]; c != nil {
		return c, nil
	}
	raw, err := dialRaw(ctx, l.cluster.dial, address)
	if err != nil {
		return nil, err
	}
	c := &laneConn{raw: raw, led: map[int32]bool{}, slots: make(chan struct{}, l.trial.MaxInFlight), inFlight: make(chan sentBatch, l.trial.MaxInFlight),
		dead: make(chan struct{}), read: make(chan struct{})}
	c.silence = silence{clock: l.run.clock, patience: l.trial.Patience, awaits: func() bool { return len(c.inFlight) > 0 },
		ask: l.cluster.askAfter(address, func() []int32 { return l.ledBy(c) })}
	l.conns[address] = c
	l.noteLed()
	listening, stop := context.WithCancel(ctx)
	c.stop = stop
	go l.read(c)
	go l.listen(listening, c)
	return c, nil
}

// listen leaves a connection that is silent with requests out: for the new leaders if there are some, and otherwise for good.
func (l *lane) listen(ctx context.Context, c *laneConn) {
	err := c.silence.watch(ctx)
	if err == nil {
		return
	}
	if errors.Is(err, ErrSilent) {
		l.fail(err)
	}
	c.fail(err)
}

// noteLed notes which partitions the nodes of connections lead.
func (l *lane) noteLed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p, address := range l.leaders {
		if c := l.conns[address]; c != nil {
			c.led[p] = true
		}
	}
}

// ledBy are the partitions that a connection is or was there for.
func (l *lane) ledBy(c *laneConn) []int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(c.led))
}

// read takes the answers of a connection until it ends.
func (l *lane) read(c *laneConn) {
	defer close(c.read)
	answer := &kmsg.ProduceResponse{Version: produceVersion}
	for {
		answer.Topics = answer.Topics[:0]
		err := c.raw.receive(answer)
		now := l.run.clock.Now()
		if err != nil {
			c.fail(err)
			l.trouble()
			return
		}
		c.silence.heard()
		select {
		case s := <-c.inFlight:
			l.settle(s, refusal(answer), now)
			<-c.slots
		default:
			c.fail(errors.New("bench: an answer to nothing"))
			l.trouble()
			return
		}
	}
}

// refusal is what is wrong with the answer to a produce of one batch, or nothing.
func refusal(answer *kmsg.ProduceResponse) error {
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return errors.New("bench: produce of one batch was answered with another number of partitions")
	}
	return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
}

func (l *lane) settle(s sentBatch, refused error, now Instant) {
	switch {
	case refused == nil:
		l.recorder.acknowledged(s.due, now, now.Sub(s.at), s.frame.records, s.frame.valueBytes)
		l.run.settled(s.due)
		l.goodAt.Store(int64(now))
		if l.unsettled.Add(-1) == 0 {
			select {
			case l.wake <- struct{}{}:
			default:
			}
		}
	case kerr.IsRetriable(refused):
		l.again(s, refused)
	default:
		l.fail(fmt.Errorf("bench: produce to %s-%d: %w", l.load.Topic, s.partition, refused))
	}
}

// again leaves a batch for mend.
func (l *lane) again(s sentBatch, why error) {
	l.recorder.failed(s.due, l.run.clock.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retries = append(l.retries, s)
	l.why = why
	l.troubled.Store(true)
}

// fail ends the lane.
func (l *lane) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == nil {
		l.fatal = err
	}
	l.troubled.Store(true)
}

func (l *lane) verdict() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func (l *lane) trouble() { l.troubled.Store(true) }

// mend returns when nothing is to be sent again: it leaves connections that broke, asks who leads, and sends again what was refused or
// lost on the way. What is due meanwhile waits, and its latency counts from then, as an application's would.
func (l *lane) mend(ctx context.Context) error {
	for l.troubled.Load() && ctx.Err() == nil {
		l.troubled.Store(false)
		if err := l.verdict(); err != nil {
			return err
		}
		l.bury()
		l.mu.Lock()
		retries := l.retries
		l.retries = nil
		l.mu.Unlock()
		if len(retries) == 0 {
			continue
		}
		if err := l.lookAround(ctx); err != nil {
			return err
		}
		for _, s := range retries {
			if err := l.send(ctx, s); err != nil {
				return err
			}
		}
		if l.troubled.Load() {
			l.run.clock.Wait(l.run.clock.Now().Add(laneRetryWait))
		}
		l.excused = l.run.clock.Now()
	}
	return nil
}

// bury takes what was out on connections that broke.
func (l *lane) bury() {
	for address, c := range l.conns {
		select {
		case <-c.dead:
		default:
			continue
		}
		<-c.read
		delete(l.conns, address)
		for len(c.inFlight) > 0 {
			l.again(<-c.inFlight, c.err)
		}
	}
}

// lookAround asks who leads, and gives up when nobody has acknowledged anything for too long.
func (l *lane) lookAround(ctx context.Context) error {
	leaders, err := l.cluster.leaders(ctx)
	now := l.run.clock.Now()
	switch {
	case err == nil:
		l.leaders, l.deniedAt = leaders, 0
		l.noteLed()
	case !errors.Is(err, ErrVanished):
		l.noteWhy(err)
	case l.deniedAt == 0:
		l.deniedAt = now
	case now.Sub(l.deniedAt) >= vanishedAfter:
		return err
	}
	if silent := now.Sub(Instant(l.goodAt.Load())); silent > l.trial.Patience {
		l.mu.Lock()
		defer l.mu.Unlock()
		return fmt.Errorf("%w: nothing was acknowledged for %v: %w", ErrSilent, silent.Round(time.Millisecond), l.why)
	}
	return nil
}

func (l *lane) noteWhy(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = err
}

// drain waits until all is acknowledged.
func (l *lane) drain(ctx context.Context) error {
	for l.unsettled.Load() > 0 && ctx.Err() == nil {
		if err := l.mend(ctx); err != nil {
			return err
		}
		now := l.run.clock.Now()
		if silent := now.Sub(max(Instant(l.goodAt.Load()), l.run.in.until())); silent > l.trial.Patience {
			return fmt.Errorf("%w: %d batches are not acknowledged %v after the window", ErrSilent, l.unsettled.Load(), silent.Round(time.Millisecond))
		}
		attention := time.NewTimer(laneAttention)
		select {
		case <-l.wake:
		case <-attention.C:
		case <-ctx.Done():
		}
		attention.Stop()
	}
	return ctx.Err()
}

// leave ends all connections and waits for their readers.
func (l *lane) leave() {
	for _, c := range l.conns {
		c.fail(errors.New("bench: the run is over"))
		<-c.read
	}
}
