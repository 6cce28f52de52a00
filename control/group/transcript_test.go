package group

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// machine is a coordinator with a log that appends are written to, and a clock.
type machine struct {
	c        *Coordinator
	cfg      Config
	nowMS    int64
	nextTick int64
	seed     uint64
	handles  map[Handle]string
	last     Handle
	answers  []answer
	log      []wire.Record
	held     []Append // appends that wait for "appended"; nil while they are durable at once
	hold     bool

	states    shareStates
	heldCalls []StateCall // calls that wait for "state-answered"; nil while they are answered at once
	holdCalls bool

	topics    *image.Image
	lastTopic byte // of the id of the last topic that was made
}

func newMachine(cfg Config) *machine {
	m := &machine{cfg: cfg, nowMS: 1_000_000, seed: 1, handles: map[Handle]string{}, topics: &image.Image{}, states: shareStates{}}
	m.c = New(cfg, m.seed)
	m.take(m.c.Loaded(m.nowMS))
	return m
}

// wallEpoch is the wall clock at the monotonic time 0.
const wallEpoch = 1_700_000_000_000

func (m *machine) wall() wire.Timestamp { return wire.Timestamp(wallEpoch + m.nowMS) }

func (m *machine) send(name, client string, req kmsg.Request) {
	m.last++
	m.handles[m.last] = name
	m.take(m.c.Handle(m.nowMS, m.wall(), m.last, Client{ID: client, Host: "/127.0.0.1"}, roundTrip(req)))
}

// roundTrip gives the request as the node would decode it.
func roundTrip(req kmsg.Request) kmsg.Request {
	out := kmsg.RequestForKey(req.Key())
	out.SetVersion(req.GetVersion())
	if err := out.ReadFrom(req.AppendTo(nil)); err != nil {
		panic(err)
	}
	return out
}

func (m *machine) take(fx Effects) {
	for _, r := range fx.Replies {
		name, ok := m.handles[r.Handle]
		if !ok {
			panic(fmt.Sprintf("handle %d was answered twice or never given", r.Handle))
		}
		delete(m.handles, r.Handle)
		resp := r.Response
		decoded := kmsg.ResponseForKey(resp.Key())
		decoded.SetVersion(resp.GetVersion())
		if err := decoded.ReadFrom(resp.AppendTo(nil)); err != nil {
			panic(err)
		}
		m.answers = append(m.answers, answer{name, decoded})
	}
	m.nextTick = fx.NextTickMS
	for _, a := range fx.Appends {
		if m.hold {
			m.held = append(m.held, a)
			continue
		}
		m.durable(a)
	}
	for _, call := range fx.StateCalls {
		if m.holdCalls {
			m.heldCalls = append(m.heldCalls, call)
			continue
		}
		m.answerCall(call, m.states.answer(call.Request))
	}
}

func (m *machine) answerCall(call StateCall, resp kmsg.Response) {
	m.take(m.c.StateAnswered(m.nowMS, call.ID, resp))
}

func (m *machine) durable(a Append) {
	m.log = append(m.log, a.Records...)
	m.take(m.c.Appended(m.nowMS, a.ID, wire.None))
}

func (m *machine) settle() []answer {
	for m.nextTick <= m.nowMS {
		m.take(m.c.Tick(m.nowMS, m.wall()))
	}
	out := m.answers
	m.answers = nil
	return out
}

// advance lets time pass, with a Tick whenever one is due.
func (m *machine) advance(ms int64) {
	end := m.nowMS + ms
	for m.nextTick <= end {
		m.nowMS = max(m.nowMS, m.nextTick)
		m.take(m.c.Tick(m.nowMS, m.wall()))
	}
	m.nowMS = end
}

// restart makes a new coordinator from the log alone: what was not durable is lost, and whoever waited too.
func (m *machine) restart() error {
	m.seed++
	m.c = New(m.cfg, m.seed)
	m.c.SetTopics(m.topics, true)
	m.handles, m.held, m.answers, m.heldCalls = map[Handle]string{}, nil, nil, nil
	for _, rec := range m.log {
		if err := m.c.Load(rec); err != nil {
			return err
		}
	}
	m.take(m.c.Loaded(m.nowMS))
	return nil
}

// measuredConfig is how the broker that testdata/measured was taken from is configured.
func measuredConfig() Config {
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelayMS = 0
	return cfg
}

// TestMeasured runs transcripts whose answers were taken from Apache Kafka 4.1.1; oracle_test.go takes them again.
func TestMeasured(t *testing.T) {
	datadriven.Walk(t, "testdata/measured", func(t *testing.T, path string) {
		s := newScript(newMachine(measuredConfig()), "")
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out, ok := s.run(d)
			if !ok {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return out
		})
	})
}

// TestOwn runs transcripts of what cannot be measured from outside: appends that fail, restarts, records.
func TestOwn(t *testing.T) {
	datadriven.Walk(t, "testdata/own", func(t *testing.T, path string) {
		o := &ownScript{}
		o.use(measuredConfig())
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return o.run(t, d) })
	})
}

// ownScript adds commands to script that reach into our coordinator.
type ownScript struct {
	*script
	m *machine
}

func (o *ownScript) use(cfg Config) {
	o.m = newMachine(cfg)
	o.script = newScript(o.m, "")
}

func (o *ownScript) run(t *testing.T, d *datadriven.TestData) string {
	if out, ok := o.script.run(d); ok {
		return out
	}
	a := arguments{d: d, s: o.script}
	switch d.Cmd {
	case "config":
		cfg := measuredConfig()
		cfg.InitialRebalanceDelayMS = int32(a.number("delay", 0))
		cfg.MaxSize = int(a.number("max-size", int64(cfg.MaxSize)))
		cfg.MaxGroups = int(a.number("max-groups", int64(cfg.MaxGroups)))
		cfg.MemoryBytes = a.number("memory", cfg.MemoryBytes)
		cfg.MaxAppends = int(a.number("max-appends", int64(cfg.MaxAppends)))
		cfg.OffsetsRetentionMS = a.number("retention", cfg.OffsetsRetentionMS)
		cfg.OffsetsRetentionCheckInterval = a.number("check", cfg.OffsetsRetentionCheckInterval)
		cfg.ConsumerMaxSize = int(a.number("consumer-max-size", int64(cfg.ConsumerMaxSize)))
		cfg.ShareMaxSize = int(a.number("share-max-size", int64(cfg.ShareMaxSize)))
		if policy := a.optional("migration"); policy != nil {
			cfg.ConsumerMigration = MigrationPolicy{Upgrade: *policy == "upgrade", Downgrade: *policy == "downgrade"}
		}
		o.use(cfg)
		return ""
	case "max-size":
		o.m.cfg.MaxSize = int(a.number("to", 0))
		return ""
	case "hold":
		o.m.hold = true
		return ""
	case "appended":
		return o.appended(a)
	case "restart":
		if err := o.m.restart(); err != nil {
			return err.Error() + "\n"
		}
		return o.print()
	case "hold-states":
		o.m.holdCalls = true
		return ""
	case "state-answered":
		return o.stateAnswered(a)
	case "topic-deleted":
		o.m.take(o.m.c.TopicDeleted(a.text("topic", "")))
		return o.print()
	case "log":
		return o.printLog()
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

// appended makes held appends durable, or has them fail: "appended [fail=CODE] [last] [release]".
func (o *ownScript) appended(a arguments) string {
	held := o.m.held
	if _, last := a.values("last"); last { // out of order: the last one alone
		o.m.held, held = held[:len(held)-1], held[len(held)-1:]
	} else {
		o.m.held = nil
	}
	if _, release := a.values("release"); release {
		o.m.hold = false
	}
	code := wire.ErrorCode(a.number("fail", 0))
	for _, h := range held {
		if code == wire.None {
			o.m.durable(h)
		} else {
			o.m.take(o.m.c.Appended(o.m.nowMS, h.ID, code))
		}
	}
	return o.print()
}

// stateAnswered answers held calls, or refuses them: "state-answered [fail=CODE] [release]".
func (o *ownScript) stateAnswered(a arguments) string {
	held := o.m.heldCalls
	o.m.heldCalls = nil
	if _, release := a.values("release"); release {
		o.m.holdCalls = false
	}
	for _, call := range held {
		if code := wire.ErrorCode(a.number("fail", 0)); code != wire.None {
			o.m.answerCall(call, RefuseState(call.Request, code))
		} else {
			o.m.answerCall(call, o.m.states.answer(call.Request))
		}
	}
	return o.print()
}

func (o *ownScript) printLog() string {
	var b strings.Builder
	for _, rec := range o.m.log {
		fmt.Fprintln(&b, o.formatRecord(rec))
	}
	return b.String()
}

func (o *ownScript) formatRecord(rec wire.Record) string {
	if text, ok := o.formatShareRecord(rec); ok {
		return text
	}
	if text, ok := o.formatConsumerRecord(rec); ok {
		return text
	}
	var group kmsg.GroupMetadataKey
	if group.ReadFrom(rec.Key) == nil && group.Version == keyGroupMetadata {
		if rec.Value == nil {
			return fmt.Sprintf("group %q: tombstone", group.Group)
		}
		var v kmsg.GroupMetadataValue
		if err := v.ReadFrom(rec.Value); err != nil {
			panic(err)
		}
		var members []string
		for _, m := range v.Members {
			members = append(members, fmt.Sprintf("%s/%s/%s/%d/%d/%s/%q", o.name(m.MemberID), nullable(m.InstanceID), m.ClientID,
				m.SessionTimeoutMillis, m.RebalanceTimeoutMillis, topicsOf(m.Subscription), m.Assignment))
		}
		leader := "null"
		if v.Leader != nil {
			leader = o.name(*v.Leader)
		}
		return fmt.Sprintf("group %q: v%d type=%q gen=%d protocol=%s leader=%s since=%d members=%v", group.Group, v.Version,
			v.ProtocolType, v.Generation, nullable(v.Protocol), leader, v.CurrentStateTimestamp-wallEpoch, members)
	}
	var offset kmsg.OffsetCommitKey
	if err := offset.ReadFrom(rec.Key); err != nil {
		panic(err)
	}
	if rec.Value == nil {
		return fmt.Sprintf("offset %q %s:%d: tombstone", offset.Group, offset.Topic, offset.Partition)
	}
	var v kmsg.OffsetCommitValue
	if err := v.ReadFrom(rec.Value); err != nil {
		panic(err)
	}
	return fmt.Sprintf("offset %q %s:%d: v%d offset=%d epoch=%d metadata=%q at=%d expires=%d", offset.Group, offset.Topic,
		offset.Partition, v.Version, v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp-wallEpoch, v.ExpireTimestamp)
}
