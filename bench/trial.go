package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
)

// ClientKind says what puts the load on.
type ClientKind string

// The kinds: raw is batches built once on plain connections, which costs the generator next to nothing; franz is franz-go, which is what
// an application sees.
const (
	ClientRaw   ClientKind = "raw"
	ClientFranz ClientKind = "franz"
)

// Trial is one open-loop run on a topic that it makes and removes. Latencies count from the instants at which records were due, which do
// not depend on answers. A Rate of 0 makes it a closed loop, which measures capacity and no response time.
type Trial struct {
	// Addresses are asked in turn who leads; the load goes to the leaders.
	Addresses []string
	// Topic is made and removed; there must be none of this name. Of several Topics it is what their names begin with (topicNames); 0 is one.
	Topic                         string
	Topics                        int
	Partitions, ReplicationFactor int // of each topic
	// TopicProperties are the topics', by Kafka's names.
	TopicProperties map[string]string
	Client          ClientKind
	// Producers and Consumers are clients of each topic; a raw one has a connection to each leader of its partitions. No consumer is none.
	// Each of so many Subscriptions to a topic has Consumers, and sees every record; 0 is one.
	Producers, Consumers, Subscriptions int
	// RecordBytes is the size of a value. BatchRecords is how many records a raw request carries, all due together; 0 chooses so that
	// no producer sends more than 1,000 requests a second.
	RecordBytes, BatchRecords int
	// Values, if not nil, are what records carry; RecordBytes is then their mean.
	Values *Values
	// Keys is how many different keys records have; 0: records without keys. KeyChoice is which of them comes next: KeysUniform, which ""
	// is too, KeysInTurn, or zipf:EXPONENT.
	Keys      int
	KeyChoice string
	// Rate is the records a second that all producers send together; 0 is as many as are acknowledged. Arrival is how they come, as ParseArrival
	// reads it.
	Rate    float64
	Arrival string
	// Seed is what random choices of gaps, keys and values begin with.
	Seed uint64
	// MaxInFlight bounds the requests out on a raw connection. What is due beyond it waits, and its latency counts on.
	MaxInFlight int
	// Acks is 1 or -1.
	Acks int16
	// Linger and Codec (none, gzip, snappy, lz4, zstd) are of franz alone.
	Linger time.Duration
	Codec  string
	// ProducerProperties and ConsumerProperties are franz's by the names that Kafka's own clients give them (ProducerPropertyNames).
	ProducerProperties, ConsumerProperties map[string]string
	// TransactionRecords is how many records of a franz producer make a transaction; 0: no transactions. A record is then acknowledged when its
	// transaction is committed, and consumers read what is committed.
	TransactionRecords int
	// WarmUp precedes the window and is left out; Duration is the window, to which a record belongs by when it is due.
	WarmUp, Duration time.Duration
	// Backlog, if not nil, is what consumers leave behind and catch up with in the window, which is then as much longer.
	Backlog *Backlog
	// Patience is how long nothing may be acknowledged or fetched before the run is given up.
	Patience time.Duration

	// Progress, if not nil, is called with each second of the window once it is over, by one goroutine.
	Progress func(Second)
	// Log, if not nil, gets each second's histograms in HdrHistogram's log format.
	Log io.Writer

	// StatusAddresses are where ringmill nodes tell their metrics, HOST:PORT or a URL: what they say of their requests' stages in the window
	// is in the Outcome. PIDs are processes of this host whose resources are.
	StatusAddresses []string
	PIDs            []int

	// SASL, if not nil, authenticates each connection.
	SASL sasl.Mechanism

	// Clock, Dial, CPU (what this process has used) and Threads (how they waited for processors) are Monotonic, the network, getrusage(2)
	// and /proc if they are nil.
	Clock   Clock
	Dial    Dialer
	CPU     func() time.Duration
	Threads func() map[int]ThreadCounters

	arrival Arrival // what Arrival says, once it runs
}

// Second is one second of a window.
type Second struct {
	Number int
	// Lasted is how much of it lies in the window; 0 of those behind its end, which have what came late. Window is the whole of that, as far as it is
	// known: 0 until a backlog is drained.
	Lasted, Window time.Duration
	// Building tells that consumers leave a backlog behind, Waiting how many records of it they have not seen at the second's end; 0 without one.
	Building bool
	Waiting  int64
	// Produced is from intended instants to acknowledgements, Consumed to the consumers; nil without consumers. They are the callee's.
	Produced, Consumed *Figures
}

// Outcome is what a Trial measured.
type Outcome struct {
	Window time.Duration
	// Elapsed is how much of the window there was before the run broke off; Window if it did not.
	Elapsed time.Duration
	// Produced is from the intended instants to the acknowledgements, Consumed to the consumers; nil without consumers.
	Produced, Consumed *Figures
	// Service is from the sending to the acknowledgement, which is not what a user waits; Lag is how late the generator itself was.
	Service, Lag *Histogram
	// DueRequests belonged to the window and were acknowledged; Lost of them (batches, or records of franz) came to no consumer, counted
	// once for each subscription that missed them.
	DueRequests, Lost int64
	Seconds           []SecondFigures
	// ClientCPU is what this process used in the window, of ClientCores processors.
	ClientCPU   time.Duration
	ClientCores int
	// ClientWaits are what its threads did in the window, and how they waited for processors.
	ClientWaits ThreadCounters
	// Beside is what was read of nodes and processes; nil if the run broke off before the window.
	Beside *Beside
	// Backlog is what became of the trial's; nil if it had none.
	Backlog *BacklogFigure
	Started time.Time
	Open    bool
}

// ErrBroken is wrapped by the error of a run that broke off: its Outcome is partial.
var ErrBroken = errors.New("bench: the run broke off")

// Bounds within which a run is the node's and not the generator's: how late it may be, as a share of the response, and how much of its
// processors it may use.
const (
	LagShareMax = 0.05
	cpuShareMax = 0.85
)

// Invalid says why the figures may be the generator's own, or not what they seem; nothing if they are valid.
func (o *Outcome) Invalid() (reasons []string) {
	if o.Open && o.Lag.Count() > 0 && o.Produced.Latency.Count() > 0 {
		lag, response := o.Lag.Quantile(0.99), o.Produced.Latency.Quantile(0.99)
		if float64(lag) > LagShareMax*float64(response) {
			reasons = append(reasons, fmt.Sprintf("the generator itself was %s late at p99, more than 5 %% of the response's %s: it was measured too", FormatDuration(lag), FormatDuration(response)))
		}
	}
	if share := o.ClientShare(); share > cpuShareMax {
		reasons = append(reasons, fmt.Sprintf("the client used %.0f %% of its %d processors, more than 85 %%: it was measured, not the node", share*100, o.ClientCores))
	}
	if reason := starved(o.ClientWaits, o.Produced.Latency); reason != "" {
		reasons = append(reasons, reason)
	}
	if o.Produced.Records == 0 {
		reasons = append(reasons, "no record that was due in the window was acknowledged: nothing was measured")
	}
	if o.Lost > 0 {
		reasons = append(reasons, fmt.Sprintf("%d of %d acknowledged requests reached no consumer", o.Lost, o.DueRequests))
	}
	return reasons
}

// ClientShare is the part of its processors that the client used.
func (o *Outcome) ClientShare() float64 {
	return o.ClientCPU.Seconds() / (max(o.Elapsed.Seconds(), 1e-9) * float64(max(o.ClientCores, 1)))
}

// withDefaults is the trial with what it leaves open.
func (t Trial) withDefaults() Trial {
	if t.Clock == nil {
		t.Clock = Monotonic{}
	}
	if t.Dial == nil {
		t.Dial = netDial
	}
	if t.CPU == nil {
		t.CPU = UsedCPU
	}
	if t.Threads == nil {
		t.Threads = ownThreads
	}
	if t.Client == "" {
		t.Client = ClientRaw
	}
	if t.Patience == 0 {
		t.Patience = 10 * time.Second
	}
	if t.Values != nil {
		t.RecordBytes = t.Values.MeanBytes()
	}
	t.Topics, t.Subscriptions = cmp.Or(t.Topics, 1), cmp.Or(t.Subscriptions, 1)
	if t.KeyChoice == "" {
		t.KeyChoice = KeysUniform
	}
	if t.Arrival == "" {
		t.Arrival = arrivalUniform
	}
	if t.BatchRecords == 0 {
		t.BatchRecords = t.chooseBatch()
	}
	return t
}

// values are what records carry, whether they are all of one size or not.
func (t *Trial) values() *Values {
	if t.Values != nil {
		return t.Values
	}
	n := t.RecordBytes
	return &Values{mean: float64(n), size: func(*rand.Rand) int { return n }}
}

// chooseBatch: with a rate, no more than 1,000 requests a second of each producer; without, some 64 KiB; never above 512 KiB.
func (t *Trial) chooseBatch() int {
	records := (64 << 10) / max(t.RecordBytes, 1)
	if t.Rate > 0 {
		records = int(t.Rate / 1000 / float64(max(t.Producers*max(t.Topics, 1), 1)))
	}
	return max(1, min(records, (512<<10)/max(t.RecordBytes, 1), t.batchRecordsMax()))
}

// batchRecordsMax is how many records have room in a request: each has, beside its value, a key and some 20 bytes of lengths.
func (t *Trial) batchRecordsMax() int {
	each := t.RecordBytes + 20
	if t.Keys > 0 {
		each += keyBytes
	}
	return max(1, batchBytesMax/max(each, 1))
}

// clientsMax bounds the clients of a run: each has up to 0.7 MB of histograms, and a producer a thread of its own.
const clientsMax = 1024

// topicNames are the topics' of a run. All are of one length.
func (t *Trial) topicNames() []string {
	if t.Topics <= 1 {
		return []string{t.Topic}
	}
	names := make([]string, t.Topics)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", t.Topic, i)
	}
	return names
}

// Check says what is wrong with the trial; errors wrap ErrWorkload.
func (t Trial) Check() error {
	t = t.withDefaults()
	if err := t.checkNumbers(); err != nil {
		return err
	}
	if err := t.checkClient(); err != nil {
		return err
	}
	if err := t.checkKeys(); err != nil {
		return err
	}
	if err := t.checkBacklog(); err != nil {
		return err
	}
	if _, err := ParseArrival(t.Arrival); err != nil {
		return err
	}
	switch {
	case t.Rate == 0 && t.Arrival != arrivalUniform:
		return fmt.Errorf("%w: an arrival %q of a closed loop, which has no schedule", ErrWorkload, t.Arrival)
	case t.Topics*(t.Producers+t.Subscriptions*t.Consumers) > clientsMax:
		return fmt.Errorf("%w: %d topics with %d producers and %d × %d consumers each: at most %d clients in one process", ErrWorkload, t.Topics, t.Producers, t.Subscriptions, t.Consumers, clientsMax)
	case len(t.Addresses) == 0 || t.Topic == "":
		return fmt.Errorf("%w: needs a node and the name of a topic", ErrWorkload)
	case t.Acks != 1 && t.Acks != -1:
		return fmt.Errorf("%w: acks %d: without answers nothing can be measured", ErrWorkload, t.Acks)
	}
	return nil
}

// checkClient says what the client cannot do.
func (t *Trial) checkClient() error {
	switch {
	case t.Client != ClientRaw && t.Client != ClientFranz:
		return fmt.Errorf("%w: client %q: raw or franz", ErrWorkload, t.Client)
	case t.Client == ClientRaw && (t.Linger != 0 || t.Codec != "" && t.Codec != "none"):
		return fmt.Errorf("%w: a raw client neither lingers nor compresses: its batches are built before the run", ErrWorkload)
	case t.Client == ClientRaw && len(t.ProducerProperties)+len(t.ConsumerProperties) > 0:
		return fmt.Errorf("%w: a raw client has no properties of producers and consumers: franz has", ErrWorkload)
	case t.Client == ClientFranz && t.Rate == 0:
		return fmt.Errorf("%w: franz needs a rate: what it does without one is its own capacity", ErrWorkload)
	case t.TransactionRecords > 0 && (t.Client == ClientRaw || t.Acks != -1):
		return fmt.Errorf("%w: transactions of %d records: they are of franz, with acks of all in-sync replicas", ErrWorkload, t.TransactionRecords)
	}
	if _, err := t.producerOptions(); err != nil {
		return err
	}
	_, err := t.consumerOptions()
	return err
}

// cluster is where a topic of the trial is, or with "" none yet.
func (t *Trial) cluster(topic string) *cluster {
	return &cluster{addresses: t.Addresses, dial: authenticating(t.Dial, t.SASL), topic: topic, patience: t.Patience}
}

// CreateTopic makes a topic of one replica where the trial runs, and returns when it is served.
func (t Trial) CreateTopic(ctx context.Context, name string, partitions int) error {
	c := t.cluster(name)
	if _, err := c.create(ctx, partitions, 1, nil); err != nil {
		return err
	}
	return c.awaitServed(ctx, partitions)
}

// removeTimeout bounds the removal of the topic, which no cancellation shortens. It is longer than createTimeout.
const removeTimeout = 15 * time.Second

// Run makes the topics, measures, and removes them, whatever happened. If the run broke off, the Outcome is what there was until then
// and the error wraps ErrBroken; with any other error there is none.
func (t Trial) Run(ctx context.Context) (*Outcome, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	t = t.withDefaults()
	var err error
	if t.arrival, err = ParseArrival(t.Arrival); err != nil {
		return nil, err
	}
	r := &trialRun{trial: &t, clock: t.Clock}
	for _, name := range t.topicNames() {
		r.topics = append(r.topics, t.cluster(name))
	}
	made, err := r.createTopics(ctx)
	if err == nil {
		err = r.measure(ctx)
	}
	for i, c := range made {
		if c.ours {
			err = errors.Join(err, r.topics[i].clean(ctx, c))
		}
	}
	return r.outcome, err
}

// createTopics makes them and waits until all are served. made is what is known of each that was asked for.
func (r *trialRun) createTopics(ctx context.Context) (made []creation, err error) {
	for _, topic := range r.topics {
		if ctx.Err() != nil {
			return made, ctx.Err()
		}
		c, err := topic.create(ctx, r.trial.Partitions, r.trial.ReplicationFactor, r.trial.TopicProperties)
		if made = append(made, c); err != nil {
			return made, err
		}
	}
	for _, topic := range r.topics {
		if err := topic.awaitServed(ctx, r.trial.Partitions); err != nil {
			return made, err
		}
	}
	return made, nil
}
