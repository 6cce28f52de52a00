package bench

import (
	"errors"
	"time"
)

// ReportSchema names the form of a Report. Fields are added under the same name; whatever else changes gets another (docs/bench.md).
const ReportSchema = "ringmill.bench.run/1"

// Verdicts of a report.
const (
	VerdictValid   = "valid"
	VerdictInvalid = "invalid"
	VerdictPartial = "partial"
)

// Report is a Trial with its Outcome as JSON.
type Report struct {
	Schema  string `json:"schema"`
	Verdict string `json:"verdict"`
	// Reasons are why a run is not valid, Error is why it broke off.
	Reasons []string     `json:"reasons"`
	Error   string       `json:"error,omitempty"`
	Started time.Time    `json:"started"` // the window's beginning
	Config  ReportConfig `json:"config"`
	// Command repeats the run; empty if who ran it did not say.
	Command string `json:"command,omitempty"`
	Host    Host   `json:"host"`
	// Loop is open or closed; a closed loop has no response time: its latencies are those of single requests.
	Loop           string        `json:"loop"`
	WindowSeconds  float64       `json:"windowSeconds"`
	ElapsedSeconds float64       `json:"elapsedSeconds"`
	Produced       ReportStream  `json:"produced"`
	Consumed       *ReportStream `json:"consumed,omitempty"`
	Service        LatencyFigure `json:"service"`
	Lag            LatencyFigure `json:"lag"`
	// ServiceHistogram and LagHistogram are as ReportStream's Histogram.
	ServiceHistogram string       `json:"serviceHistogram,omitempty"`
	LagHistogram     string       `json:"lagHistogram,omitempty"`
	DueRequests      int64        `json:"dueRequests"`
	LostRequests     int64        `json:"lostRequests"`
	Client           ReportClient `json:"client"`
	// Stages is where nodes say that their requests' time went, Processes what processes used, Devices what the block devices on which they write
	// did, Missing what of these could not be read.
	Stages    *ReportStages   `json:"stages,omitempty"`
	Processes []ProcessFigure `json:"processes,omitempty"`
	Devices   []DeviceFigure  `json:"devices,omitempty"`
	Missing   []string        `json:"missing,omitempty"`
	// Backlog is what became of one that was asked for.
	Backlog *BacklogFigure  `json:"backlog,omitempty"`
	Seconds []SecondFigures `json:"seconds"`
}

// ReportStream are the figures of the whole window.
type ReportStream struct {
	StreamFigures
	RecordsPerSecond float64 `json:"recordsPerSecond"`
	BytesPerSecond   float64 `json:"bytesPerSecond"`
	// Histogram is HdrHistogram's compressed V2 encoding in base64, of nanoseconds.
	Histogram string `json:"histogram"`
}

// ReportClient is what the generator used.
type ReportClient struct {
	CPUSeconds float64 `json:"cpuSeconds"`
	Processors int     `json:"processors"`
	Share      float64 `json:"share"`
	// Runs is how often its threads got a processor, WaitedSeconds how long they waited for one in all; 0 where the kernel does not count.
	Runs          int64   `json:"runs,omitempty"`
	WaitedSeconds float64 `json:"waitedSeconds,omitempty"`
}

// ReportStages are the stages of the requests of some nodes, which are added up.
type ReportStages struct {
	Nodes    []string        `json:"nodes"`
	Requests []RequestStages `json:"requests"`
}

// ReportConfig is the Trial.
type ReportConfig struct {
	Addresses         []string          `json:"addresses"`
	Topic             string            `json:"topic"`
	Topics            int               `json:"topics,omitempty"` // if there are several; partitions, producers and consumers are then of each
	Partitions        int               `json:"partitions"`
	ReplicationFactor int               `json:"replicationFactor"`
	TopicProperties   map[string]string `json:"topicProperties,omitempty"`
	Client            string            `json:"client"`
	Producers         int               `json:"producers"`
	Consumers         int               `json:"consumers"`
	Subscriptions     int               `json:"subscriptions,omitempty"` // if there are several; consumers are then of each
	RecordBytes       int               `json:"recordBytes"`             // the mean, with values
	Values            string            `json:"values,omitempty"`        // as ParseValues reads it, if not all are of one size
	Keys              int               `json:"keys,omitempty"`
	KeyChoice         string            `json:"keyChoice,omitempty"`    // if it is not uniform
	BatchRecords      int               `json:"batchRecords,omitempty"` // of a raw client
	RatePerSecond     float64           `json:"ratePerSecond"`
	Arrival           string            `json:"arrival,omitempty"` // if it is not uniform
	Seed              uint64            `json:"seed,omitempty"`
	MaxInFlight       int               `json:"maxInFlight,omitempty"` // of a raw client
	Acks              int16             `json:"acks"`
	LingerSeconds     float64           `json:"lingerSeconds"`
	// ProducerProperties and ConsumerProperties are franz's, by the names of Kafka's own clients.
	ProducerProperties map[string]string `json:"producerProperties,omitempty"`
	ConsumerProperties map[string]string `json:"consumerProperties,omitempty"`
	// TransactionRecords is how many records make a transaction, if there are any.
	TransactionRecords int     `json:"transactionRecords,omitempty"`
	Codec              string  `json:"codec"`
	WarmUpSeconds      float64 `json:"warmUpSeconds"`
	DurationSeconds    float64 `json:"durationSeconds"`
	// BacklogBytes and BacklogDrained are those of a Backlog, if there is one.
	BacklogBytes    int64   `json:"backlogBytes,omitempty"`
	BacklogDrained  float64 `json:"backlogDrained,omitempty"`
	PatienceSeconds float64 `json:"patienceSeconds"`
}

// Config is the trial as a report tells it, with what it left open filled in.
func (t Trial) Config() ReportConfig {
	t = t.withDefaults()
	c := ReportConfig{Addresses: t.Addresses, Topic: t.Topic, Partitions: t.Partitions, ReplicationFactor: t.ReplicationFactor,
		Client: string(t.Client), Producers: t.Producers, Consumers: t.Consumers, RecordBytes: t.RecordBytes, RatePerSecond: t.Rate,
		Acks: t.Acks, LingerSeconds: t.Linger.Seconds(), Codec: t.Codec, WarmUpSeconds: t.WarmUp.Seconds(),
		DurationSeconds: t.Duration.Seconds(), PatienceSeconds: t.Patience.Seconds()}
	c.TransactionRecords = t.TransactionRecords
	if t.Backlog != nil {
		c.BacklogBytes, c.BacklogDrained = t.Backlog.Bytes, t.Backlog.Drained
	}
	c.TopicProperties, c.ProducerProperties, c.ConsumerProperties = t.TopicProperties, t.ProducerProperties, t.ConsumerProperties
	if t.Topics > 1 {
		c.Topics = t.Topics
	}
	if t.Subscriptions > 1 {
		c.Subscriptions = t.Subscriptions
	}
	if c.Seed = t.Seed; t.Arrival != arrivalUniform {
		c.Arrival = t.Arrival
	}
	if t.KeyChoice != KeysUniform {
		c.KeyChoice = t.KeyChoice
	}
	if c.Keys = t.Keys; t.Values != nil {
		c.Values = t.Values.text
	}
	if t.Client == ClientRaw {
		c.BatchRecords, c.MaxInFlight = t.BatchRecords, t.MaxInFlight
	}
	if c.Codec == "" {
		c.Codec = "none"
	}
	return c
}

// Report makes one of what Run returned; err is nil or wraps ErrBroken.
func (t Trial) Report(o *Outcome, err error) *Report {
	r := &Report{Schema: ReportSchema, Verdict: VerdictValid, Reasons: o.Invalid(), Started: o.Started.UTC(), Config: t.Config(), Host: ReadHost(),
		Loop: "closed", WindowSeconds: o.Window.Seconds(), ElapsedSeconds: o.Elapsed.Seconds(), Service: o.Service.Figure(), Lag: o.Lag.Figure(), ServiceHistogram: o.Service.Encode(), LagHistogram: o.Lag.Encode(),
		DueRequests: o.DueRequests, LostRequests: o.Lost, Seconds: o.Seconds,
		Client: ReportClient{CPUSeconds: o.ClientCPU.Seconds(), Processors: o.ClientCores, Share: o.ClientShare(),
			Runs: o.ClientWaits.Runs, WaitedSeconds: o.ClientWaits.Waited.Seconds()}}
	if o.Open {
		r.Loop = "open"
	}
	r.Produced = o.Produced.report(o.Elapsed)
	if o.Consumed != nil {
		consumed := o.Consumed.report(o.Elapsed)
		r.Consumed = &consumed
	}
	r.Backlog = o.Backlog
	if b := o.Beside; b != nil {
		r.Processes, r.Devices, r.Missing = b.Processes, b.Devices, b.Missing
		if len(b.Nodes) > 0 {
			r.Stages = &ReportStages{b.Nodes, b.Requests}
		}
	}
	switch {
	case errors.Is(err, ErrBroken):
		r.Verdict = VerdictPartial
	case len(r.Reasons) > 0:
		r.Verdict = VerdictInvalid
	}
	if err != nil {
		r.Error = err.Error()
	}
	if r.Reasons == nil {
		r.Reasons = []string{}
	}
	return r
}

func (f *Figures) report(elapsed time.Duration) ReportStream {
	s := ReportStream{StreamFigures: f.figures(), Histogram: f.Latency.Encode()}
	if elapsed > 0 {
		s.RecordsPerSecond, s.BytesPerSecond = float64(f.Records)/elapsed.Seconds(), float64(f.Bytes)/elapsed.Seconds()
	}
	return s
}
