package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"golang.org/x/sync/errgroup"
)

// VerifySchema names the form of a Verdict, as ReportSchema does of a Report.
const VerifySchema = "ringmill.bench.verify/1"

// Verification writes numbered, checksummed records with franz-go's idempotent producer to a topic that it makes, whatever is done to the nodes
// meanwhile, and then reads all that is stored and judges it. It removes the topic, unless something is wrong and Keep is set.
type Verification struct {
	// Addresses are asked in turn; Topic is made; there must be none of this name.
	Addresses                     []string
	Topic                         string
	Partitions, ReplicationFactor int
	Producers                     int
	// RecordBytes is the size of a value, of which 28 bytes are for numbers and checksum.
	RecordBytes int
	// Rate is the records a second that all producers send together.
	Rate float64
	// TransactionRecords is how many records of a producer make a transaction, of which each fifth is aborted; 0: no transactions.
	TransactionRecords int
	// Duration is how long is written. Patience is how long nothing may be acknowledged after it, and nothing read.
	Duration, Patience time.Duration
	// Keep leaves the topic where it is if something is wrong with it.
	Keep bool
	// Dial makes connections, SASL authenticates each; nil are the network, and nothing.
	Dial Dialer
	SASL sasl.Mechanism
	// Progress, if not nil, is called each second by one goroutine with the records acknowledged so far, and the time since the last, or since the
	// beginning of writing.
	Progress func(acknowledged int64, since time.Duration)
}

// Verdict is what a Verification found.
type Verdict struct {
	Schema string `json:"schema"`
	// Sent is all records: Acknowledged (of committed transactions, if there are any), Aborted, and Unknown, whose producer was told of an
	// error or of nothing, and which may be stored or not.
	Sent         int64 `json:"sent"`
	Acknowledged int64 `json:"acknowledged"`
	Aborted      int64 `json:"aborted"`
	Unknown      int64 `json:"unknown"`
	// Stored are different records that were read; UnknownStored those of them that are Unknown.
	Stored        int64 `json:"stored"`
	UnknownStored int64 `json:"unknownStored"`
	// Lost are acknowledged and not there, AbortedStored aborted and there. Faults are the first of all.
	Lost          int64   `json:"lost"`
	Doubled       int64   `json:"doubled"`
	Reordered     int64   `json:"reordered"`
	Corrupt       int64   `json:"corrupt"`
	AbortedStored int64   `json:"abortedStored"`
	Faults        []Fault `json:"faults"`
	// OutageSeconds is the longest time without any acknowledgement, from the beginning of writing to its end.
	OutageSeconds float64 `json:"outageSeconds"`
}

// Right reports whether all that was acknowledged is there, once, in order and whole, and nothing that was aborted. It is also right if nothing was
// acknowledged, which shows nothing.
func (v *Verdict) Right() bool {
	return v.Lost+v.Doubled+v.Reordered+v.Corrupt+v.AbortedStored == 0
}

// Check says what is wrong with the verification; errors wrap ErrWorkload.
func (v Verification) Check() error {
	switch {
	case len(v.Addresses) == 0 || v.Topic == "":
		return fmt.Errorf("%w: needs a node and the name of a topic", ErrWorkload)
	}
	return v.checkNumbers()
}

// verifying is a Verification under way.
type verifying struct {
	*Verification
	ledger *ledger
	filled []byte

	mu      sync.Mutex
	acks    int64
	last    time.Time // acknowledgement; the beginning of writing before the first
	longest time.Duration
}

// Run makes the topic, writes, reads, and judges. With an error there is no verdict: not all could be read, or nobody answered.
func (v Verification) Run(ctx context.Context) (verdict *Verdict, err error) {
	if err := v.Check(); err != nil {
		return nil, err
	}
	c := &cluster{addresses: v.Addresses, dial: authenticating(v.Dial, v.SASL), topic: v.Topic, patience: v.Patience}
	made, err := c.create(ctx, v.Partitions, v.ReplicationFactor, nil)
	defer func() {
		if made.ours && !(v.Keep && verdict != nil && !verdict.Right()) {
			err = errors.Join(err, c.clean(ctx, made))
		}
	}()
	if err == nil {
		err = c.awaitServed(ctx, v.Partitions)
	}
	if err != nil {
		return nil, err
	}
	run := &verifying{Verification: &v, ledger: newLedger(rand.Uint64(), v.Producers, v.Partitions), filled: make([]byte, v.RecordBytes)}
	fillRandom(run.filled, run.ledger.run)
	if err = run.write(ctx); err == nil {
		err = run.readAll(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // of which all else came
	}
	if err != nil {
		return nil, err
	}
	verdict = run.ledger.verdict()
	verdict.Schema, verdict.OutageSeconds = VerifySchema, run.longest.Seconds()
	return verdict, nil
}

// write runs the producers for Duration and waits for the last answers.
func (r *verifying) write(ctx context.Context) error {
	r.last = time.Now()
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(over) })
	producers, ctx := errgroup.WithContext(ctx)
	for i := range r.Producers {
		producers.Go(func() error { return r.produce(ctx, i) })
	}
	err := producers.Wait()
	close(over)
	watching.Wait()
	r.acknowledged(0)
	return err
}

func (r *verifying) watch(over <-chan struct{}) {
	if r.Progress == nil {
		return
	}
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-over:
			tick.Stop()
			return
		case now := <-tick.C:
			r.mu.Lock()
			acks, since := r.acks, now.Sub(r.last)
			r.mu.Unlock()
			r.Progress(acks, since)
		}
	}
}

// acknowledged notes n records, 0 to count the time without any.
func (r *verifying) acknowledged(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.longest = max(r.longest, now.Sub(r.last))
	if n > 0 {
		r.last = now
		r.acks += n
	}
}

// answerMax is what a node has to answer a client beyond what a request grants it itself. One that is frozen is left then, and whoever leads
// by now is asked, several times within Patience.
func (r *verifying) answerMax() time.Duration { return max(quietMax(r.Patience), leadersTimeoutMin) }

func (r *verifying) options(more ...kgo.Opt) []kgo.Opt {
	opts := append(accessOptions(r.Dial, r.SASL), kgo.SeedBrokers(r.Addresses...), kgo.ClientID("ringmill-bench-verify"),
		kgo.RequestTimeoutOverhead(r.answerMax()), kgo.MetadataMinAge(verifyMetadataAge))
	return append(opts, more...)
}

// produce writes one producer's records for Duration, to each partition in turn. That nobody answers is no error: it is what is verified.
func (r *verifying) produce(ctx context.Context, producer int) error {
	end := time.Now().Add(r.Duration)
	ctx, cancel := context.WithDeadline(ctx, end.Add(r.Patience))
	defer cancel()
	w := &verifyWriter{verifying: r, producer: producer, pacer: NewPacer(Now(), r.Rate/float64(r.Producers))}
	if err := w.connect(ctx); err != nil {
		return err
	}
	defer func() { w.client.Close() }()
	defer Monotonic{}.Lock()()
	for transaction := 0; time.Now().Before(end) && ctx.Err() == nil; transaction++ {
		var err error
		if r.TransactionRecords > 0 {
			err = w.transact(ctx, end, transaction%5 == 4)
		} else {
			w.send(ctx, func(s sent, err error) {
				if err == nil {
					r.ledger.ended(producer, s.partition, s.sequence, acknowledged)
					r.acknowledged(1)
				}
			})
		}
		if err != nil {
			return err
		}
	}
	_ = w.client.Flush(ctx) // what is not answered by then is unknown
	return nil
}

// verifyWriter is one producer.
type verifyWriter struct {
	*verifying
	producer int
	client   *kgo.Client
	pacer    *Pacer
	count    int
}

// sent is a record that was given to the client.
type sent struct {
	partition int32
	sequence  int64
}

// verifyMetadataAge is how often clients ask who leads when what they know was wrong.
const verifyMetadataAge = time.Second

// idPause is how long a producer waits before it asks for an id again.
const idPause = 100 * time.Millisecond

// connect makes the client. A transactional one ends what an earlier one of its id left open. franz-go gives up where a connection ends before
// its first answer, which it takes for a wish for TLS, and where a node goes that is what happens: it is asked again until ctx ends.
func (w *verifyWriter) connect(ctx context.Context) (err error) {
	opts := []kgo.Opt{kgo.DefaultProduceTopic(w.Topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(1 << 13), kgo.UnknownTopicRetries(-1)}
	if w.TransactionRecords > 0 {
		opts = append(opts, kgo.TransactionalID(fmt.Sprintf("%s-%d", w.Topic, w.producer)))
	}
	for {
		if w.client, err = kgo.NewClient(w.options(opts...)...); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		if _, _, err = w.client.ProducerID(ctx); err == nil {
			return nil
		}
		w.client.Close()
		var refused *kerr.Error
		if ctx.Err() != nil || errors.As(err, &refused) && !refused.Retriable {
			return fmt.Errorf("bench: producer %d gets no id: %w", w.producer, err)
		}
		time.Sleep(idPause)
	}
}

// send gives the next record to the client when it is due.
func (w *verifyWriter) send(ctx context.Context, ended func(sent, error)) {
	due := w.pacer.Next()
	for now := Now(); now < due && ctx.Err() == nil; now = Now() {
		min(due, now.Add(100*time.Millisecond)).Wait()
	}
	value := append([]byte(nil), w.filled...)
	s := sent{partition: int32(w.count % w.Partitions)}
	w.count++
	s.sequence = w.ledger.next(w.producer, s.partition, value)
	w.client.Produce(ctx, &kgo.Record{Partition: s.partition, Value: value}, func(_ *kgo.Record, err error) { ended(s, err) })
}

// transact writes one transaction and commits or aborts it. Of one whose end nobody tells nothing is known, and a new client takes its place.
func (w *verifyWriter) transact(ctx context.Context, end time.Time, abort bool) error {
	if err := w.client.BeginTransaction(); err != nil {
		return fmt.Errorf("bench: begin of a transaction: %w", err)
	}
	var mu sync.Mutex
	var all []sent
	failed := false
	for range w.TransactionRecords {
		if time.Now().After(end) {
			break
		}
		w.send(ctx, func(s sent, err error) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, s)
			failed = failed || err != nil
		})
	}
	flushed := w.client.Flush(ctx)
	mu.Lock()
	defer mu.Unlock()
	commit := kgo.TransactionEndTry(!abort && !failed && flushed == nil)
	err := w.client.EndTransaction(ctx, commit)
	if err != nil {
		w.client.Close()
		return w.connect(ctx)
	}
	became := aborted
	if commit == kgo.TryCommit {
		became = acknowledged
		w.acknowledged(int64(len(all)))
	}
	for _, s := range all {
		w.ledger.ended(w.producer, s.partition, s.sequence, became)
	}
	return nil
}

// readAll reads all that is stored, of committed transactions only if there are any. Its client is made when all leaders have told the ends, so that
// it begins with what leads now.
func (r *verifying) readAll(ctx context.Context) error {
	ends, err := r.ends(ctx)
	if err != nil {
		return err
	}
	isolation := kgo.ReadUncommitted()
	if r.TransactionRecords > 0 {
		isolation = kgo.ReadCommitted()
	}
	from := map[int32]kgo.Offset{}
	for p := range int32(r.Partitions) {
		from[p] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(r.options(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.Topic: from}), kgo.FetchIsolationLevel(isolation),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(verifyFetchWait))...)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	defer client.Close()
	return r.readTo(ctx, client, ends)
}

// verifyFetchWait is how long a leader keeps a fetch that has nothing: what a frozen one is waited for is as much longer.
const verifyFetchWait = 500 * time.Millisecond

// ends are where the partitions end, once no transaction is open in them.
func (r *verifying) ends(ctx context.Context) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	client, err := kgo.NewClient(r.options()...)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	for {
		found, err := r.stableEnds(ctx, admin)
		if err == nil && len(found) == r.Partitions {
			return found, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("bench: %d of %d partitions tell an end without open transactions before it: %w", len(found), r.Partitions, errors.Join(ctx.Err(), err))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stableEnds asks once where the partitions end that have no open transaction before it. Who does not answer takes no more than a part of the time.
func (r *verifying) stableEnds(ctx context.Context, admin *kadm.Client) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.answerMax())
	defer cancel()
	ends, err := admin.ListEndOffsets(ctx, r.Topic)
	stable := kadm.ListedOffsets{}
	if err = errors.Join(err, ends.Error()); err == nil {
		stable, err = admin.ListCommittedOffsets(ctx, r.Topic)
		err = errors.Join(err, stable.Error())
	}
	found := map[int32]int64{}
	ends.Each(func(end kadm.ListedOffset) {
		if s, known := stable.Lookup(r.Topic, end.Partition); known && s.Offset >= end.Offset {
			found[end.Partition] = end.Offset
		}
	})
	return found, err
}

func (r *verifying) readTo(ctx context.Context, client *kgo.Client, ends map[int32]int64) error {
	for p, end := range ends {
		if end == 0 {
			delete(ends, p)
		}
	}
	for progress := time.Now(); len(ends) > 0; {
		poll, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		got := client.PollFetches(poll)
		stop()
		if err := fetchFault(got); err != nil {
			return err
		}
		got.EachRecord(func(record *kgo.Record) {
			progress = time.Now()
			if !record.Attrs.IsControl() {
				r.ledger.read(record)
			}
			if record.Offset+1 >= ends[record.Partition] {
				delete(ends, record.Partition)
			}
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(progress) > r.Patience {
			return fmt.Errorf("bench: nothing was fetched for %v, and %d partitions have not been read to their ends", r.Patience, len(ends))
		}
	}
	return nil
}
