package eos

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringmill/ringmill/tests/load"
)

// group of the loops, which share the partitions of in.
const group = "eos-loop"

// loop makes a record of out from each record of in, and commits both in one transaction.
type loop struct {
	*client
	transactions uint32
	counter      uint32
}

func newLoop(c *client) *loop { return &loop{client: c} }

func (l *loop) run(ctx context.Context) {
	for ctx.Err() == nil {
		session, err := l.open(ctx)
		for err == nil && ctx.Err() == nil {
			err = l.turn(ctx, session)
		}
		if session != nil {
			session.Close()
		}
	}
}

func (l *loop) open(ctx context.Context) (*kgo.GroupTransactSession, error) {
	session, err := kgo.NewGroupTransactSession(append(l.transactional(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(l.in),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(3*time.Second), kgo.HeartbeatInterval(300*time.Millisecond), kgo.FetchMaxWait(100*time.Millisecond))...)
	if err != nil {
		return nil, err
	}
	asked := load.Now()
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if _, _, err := session.Client().ProducerID(ctx); err != nil {
		return session, err
	}
	l.history.add(event{Op: "init", T0: asked, T1: load.Now(), Proc: l.number, ID: l.transactionalID})
	return session, nil
}

// turn is one transaction over what one poll gives.
func (l *loop) turn(ctx context.Context, session *kgo.GroupTransactSession) error {
	sources := session.PollRecords(ctx, 1+l.random.IntN(60)).Records()
	if len(sources) == 0 {
		return nil
	}
	if err := session.Begin(); err != nil {
		return err
	}
	whole := context.WithoutCancel(ctx)
	number, made := l.begin(sources)
	acknowledged := make(chan []int64, len(made))
	for _, r := range made {
		session.Produce(whole, r.record, func(done *kgo.Record, err error) {
			if err == nil {
				acknowledged <- []int64{int64(r.counter), done.Offset}
			}
		})
	}
	if err := session.Client().Flush(whole); err != nil {
		return err
	}
	close(acknowledged)
	asked := event{Op: "end", T0: load.Now(), Proc: l.number, Txn: number, Commit: l.random.IntN(8) > 0}
	for rec := range acknowledged {
		asked.Recs = append(asked.Recs, rec)
	}
	l.history.add(asked)
	return l.end(whole, session, asked)
}

// product is a record of out that is about to be sent.
type product struct {
	record  *kgo.Record
	counter uint32
}

// begin plans a record for each source, into the same partition.
func (l *loop) begin(sources []*kgo.Record) (number uint32, made []product) {
	begun := event{Op: "begin", T0: load.Now(), Proc: l.number, Txn: l.transactions, Topic: l.out, From: l.in, Group: group}
	for _, source := range sources {
		if _, err := decode(source); err != nil {
			panic(err)
		}
		begun.Recs = append(begun.Recs, []int64{int64(source.Partition), int64(l.counter), int64(source.Partition), source.Offset})
		made = append(made, product{counter: l.counter,
			record: &kgo.Record{Topic: l.out, Partition: source.Partition, Value: encode(l.number, l.counter)}})
		l.counter++
	}
	l.history.add(begun)
	l.transactions++
	return begun.Txn, made
}

func (l *loop) end(ctx context.Context, session *kgo.GroupTransactSession, asked event) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	committed, err := session.End(ctx, kgo.TransactionEndTry(asked.Commit))
	told := event{Op: "ended", T1: load.Now(), Proc: l.number, Txn: asked.Txn, Res: string(ended)}
	switch {
	case err != nil:
		told.Res = string(unknown)
	case !committed:
		told.Res = string(refused) // the session aborts where the group has moved on
	}
	l.history.add(told)
	return err
}
