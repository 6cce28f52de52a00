package txn

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// machine runs a Coordinator over a log that it keeps. Records and markers are durable at once, unless a test holds them.
type machine struct {
	c        *Coordinator
	cfg      Config
	nowMS    int64
	wall     wire.Timestamp
	log      []wire.Record
	appends  []Append
	markers  []Markers
	answers  map[Handle]kmsg.Response
	handle   Handle
	producer wire.ProducerID

	holdAppends, holdMarkers bool
	sent                     []string // markers, in order
	nextTickMS               int64
}

func newMachine() *machine {
	m := &machine{cfg: DefaultConfig(), wall: 1_700_000_000_000, answers: map[Handle]kmsg.Response{}, producer: 1000}
	m.cfg.NewProducerID = func() (wire.ProducerID, bool) { m.producer++; return m.producer, true }
	m.restart()
	return m
}

// restart replays the log into a new coordinator; what was under way is lost.
func (m *machine) restart() {
	m.c, m.appends, m.markers = New(m.cfg), nil, nil
	for _, rec := range m.log {
		if err := m.c.Load(rec); err != nil {
			panic(err)
		}
	}
	m.apply(m.c.Loaded(m.nowMS, m.wall))
}

func (m *machine) apply(fx Effects) {
	m.nextTickMS = fx.NextTickMS
	for _, r := range fx.Replies {
		if m.answers[r.Handle] != nil {
			panic(fmt.Sprintf("request %d is answered twice", r.Handle))
		}
		m.answers[r.Handle] = r.Response
	}
	m.appends = append(m.appends, fx.Appends...)
	for _, k := range fx.Markers {
		outcome := "abort"
		if k.Commit {
			outcome = "commit"
		}
		for _, p := range k.Partitions {
			m.sent = append(m.sent, fmt.Sprintf("%s %s:%d producer %d epoch %d", outcome, p.Topic, p.Partition, k.ProducerID, k.ProducerEpoch))
		}
		m.markers = append(m.markers, k)
	}
	if !m.holdAppends {
		m.land(wire.None)
	}
	if !m.holdMarkers {
		m.mark(wire.None)
	}
}

// land ends the appends under way.
func (m *machine) land(code wire.ErrorCode) {
	for len(m.appends) > 0 {
		a := m.appends[0]
		m.appends = m.appends[1:]
		if code == wire.None {
			m.log = append(m.log, a.Records...)
		}
		m.apply(m.c.Appended(m.nowMS, m.wall, a.ID, code))
	}
}

// mark ends the markers under way.
func (m *machine) mark(code wire.ErrorCode) {
	for len(m.markers) > 0 {
		k := m.markers[0]
		m.markers = m.markers[1:]
		for _, p := range k.Partitions {
			m.apply(m.c.Marked(m.nowMS, m.wall, k.ID, p, code))
		}
	}
}

func (m *machine) pass(ms int64) {
	m.nowMS, m.wall = m.nowMS+ms, m.wall+wire.Timestamp(ms)
	m.apply(m.c.Tick(m.nowMS, m.wall))
}

// begin asks and does not wait; answer is what came of it, nil while it waits.
func (m *machine) begin(req kmsg.Request) Handle {
	m.handle++
	h := m.handle
	if r, ok := req.(*kmsg.AddOffsetsToTxnRequest); ok {
		m.apply(m.c.AddOffsets(m.nowMS, m.wall, h, r, wire.TopicPartition{Topic: "__consumer_offsets", Partition: 3}))
	} else {
		m.apply(m.c.Handle(m.nowMS, m.wall, h, req))
	}
	return h
}

func (m *machine) ask(req kmsg.Request) kmsg.Response {
	h := m.begin(req)
	resp, ok := m.answers[h]
	if !ok {
		panic(fmt.Sprintf("no answer to %T", req))
	}
	return resp
}

func (m *machine) settle(string) {}
