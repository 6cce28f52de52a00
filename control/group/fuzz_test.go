package group

import (
	"math/rand/v2"
	"testing"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// FuzzLoad: whatever is in the log, loading it neither panics nor breaks an invariant, and what was loaded can be used.
func FuzzLoad(f *testing.F) {
	for _, c := range golden {
		rec := c.record()
		f.Add(rec.Key, rec.Value, rec.Key, []byte(nil))
	}
	for _, c := range shareGolden {
		rec := goldenRecord(f, c.key, c.value)
		f.Add(rec.Key, rec.Value, rec.Key, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, key, value, key2, value2 []byte) {
		c := New(measuredConfig(), 1)
		for _, rec := range []wire.Record{{Key: key, Value: value}, {Key: key2, Value: value2}, {Key: key}} {
			_ = c.Load(rec)
			c.checkAll()
		}
		c.Loaded(0)
		c.checkAll()
		for _, id := range c.sortedGroupIDs() {
			describe := kmsg.NewPtrDescribeGroupsRequest()
			describe.Groups = []string{id}
			c.Handle(1, wallEpoch, 1, Client{}, describe)
		}
		c.Tick(1<<40, wallEpoch+1<<40)
		c.checkAll()
	})
}

func FuzzSubscription(f *testing.F) {
	f.Add(subscription("t1+t2"))
	f.Add([]byte{0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, metadata []byte) {
		topics := map[string]struct{}{}
		if addSubscribedTopics(topics, metadata) && len(topics) > len(metadata)/2 {
			t.Fatalf("%d topics in %d bytes", len(topics), len(metadata))
		}
	})
}

// FuzzRequests plays requests, time, outcomes of appends and restarts that the input spells. After each step everything
// is counted again; every request is answered once, and at the end all are.
func FuzzRequests(f *testing.F) {
	f.Add([]byte("joinsyncjoinsync"))
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 0, 0, 1, 1, 1, 2, 2, 2})
	f.Add([]byte{0, 0, 0, 0, 16, 0, 0, 0, 1, 0, 32, 0, 0, 48, 0, 0, 64, 0, 1, 80, 2, 96, 12, 12, 12, 13, 13, 14})
	f.Fuzz(func(t *testing.T, input []byte) { playRequests(t, input) })
}

// TestRandomRequests is FuzzRequests over inputs from fixed seeds.
func TestRandomRequests(t *testing.T) {
	for seed := range uint64(400) {
		playRequests(t, randomInput(seed, 0, 600))
	}
}

func playRequests(t *testing.T, input []byte) {
	p := &player{machine: newMachine(fuzzConfig()), input: input}
	p.hold = true
	for len(p.input) > 0 {
		p.step()
		p.c.checkAll()
	}
	p.finish(t)
}

func fuzzConfig() Config {
	cfg := measuredConfig()
	cfg.MaxSize, cfg.MaxGroups, cfg.MaxAppends, cfg.MemoryBytes = 4, 3, 20, 16<<10
	cfg.OffsetsRetentionMS, cfg.OffsetsRetentionCheckInterval = 100_000, 50_000
	return cfg
}

// player spells steps out of bytes.
type player struct {
	*machine
	input []byte
	ids   []string // member ids that answers have told
}

func (p *player) next(n int) int {
	if len(p.input) == 0 {
		return 0
	}
	b := p.input[0]
	p.input = p.input[1:]
	return int(b) % n
}

func (p *player) step() {
	switch n := p.next(16); n {
	case 12:
		p.machine.advance(int64(p.next(64)) * 500)
	case 13:
		p.complete(wire.None)
	case 14:
		p.complete(wire.NotEnoughReplicas)
	case 15:
		if p.next(8) == 0 {
			if err := p.restart(); err != nil {
				panic(err)
			}
		}
	default:
		p.send("x", "c", p.request(n))
	}
	for _, a := range p.settle() {
		if join, ok := a.resp.(*kmsg.JoinGroupResponse); ok && join.MemberID != "" {
			p.ids = append(p.ids, join.MemberID)
		}
	}
}

// complete gives one append that is under way its outcome. Those that fail leave nothing in the log; those that do not are
// in it in the order of their ids.
func (p *player) complete(code wire.ErrorCode) {
	if len(p.held) == 0 {
		return
	}
	first := p.held[0]
	p.held = p.held[1:]
	if code == wire.None {
		p.durable(first)
		return
	}
	p.take(p.c.Appended(p.nowMS, first.ID, code))
}

func (p *player) group() string { return []string{"g", "h", "", "i", "j"}[p.next(5)] }

func (p *player) member() string {
	if len(p.ids) == 0 {
		return ""
	}
	if n := p.next(len(p.ids) + 1); n > 0 {
		return p.ids[n-1]
	}
	return ""
}

func (p *player) instance() *string {
	return []*string{nil, nil, kmsg.StringPtr("i1"), kmsg.StringPtr("i2")}[p.next(4)]
}

func (p *player) request(n int) kmsg.Request {
	switch n {
	case 0, 1:
		r := kmsg.NewPtrJoinGroupRequest()
		r.Version = int16(p.next(10))
		r.Group, r.MemberID, r.InstanceID = p.group(), p.member(), p.instance()
		r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 6_000+int32(p.next(3))*5_000, int32(p.next(5))*3_000
		r.ProtocolType = []string{"consumer", "consumer", "connect", ""}[p.next(4)]
		for range p.next(4) {
			r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{
				Name: []string{"a", "b", "c"}[p.next(3)], Metadata: subscription([]string{"t1", "t2", "!x"}[p.next(3)]),
			})
		}
		return r
	case 2, 3:
		r := kmsg.NewPtrSyncGroupRequest()
		r.Version = int16(p.next(5))
		r.Group, r.MemberID, r.InstanceID, r.Generation = p.group(), p.member(), p.instance(), int32(p.next(6))
		r.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: r.MemberID, MemberAssignment: []byte("all")}}
		return r
	case 4:
		r := kmsg.NewPtrHeartbeatRequest()
		r.Group, r.MemberID, r.InstanceID, r.Generation = p.group(), p.member(), p.instance(), int32(p.next(6))
		return r
	case 5:
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Version = int16(p.next(6))
		r.Group, r.MemberID = p.group(), p.member()
		r.Members = []kmsg.LeaveGroupRequestMember{{MemberID: r.MemberID, InstanceID: p.instance()}, {MemberID: p.member()}}
		return r
	case 6, 7:
		r := kmsg.NewPtrOffsetCommitRequest()
		r.Version = 2 + int16(p.next(8))
		r.Group, r.MemberID, r.InstanceID, r.Generation = p.group(), p.member(), p.instance(), int32(p.next(6))-1
		r.RetentionTimeMillis = int64(p.next(2))*10_000 - 1
		for i := range p.next(4) {
			topic := kmsg.NewOffsetCommitRequestTopic()
			topic.Topic = []string{"t1", "t2"}[p.next(2)]
			topic.Partitions = []kmsg.OffsetCommitRequestTopicPartition{{Partition: int32(i), Offset: int64(p.next(100))}}
			r.Topics = append(r.Topics, topic)
		}
		return r
	case 8:
		r := kmsg.NewPtrOffsetFetchRequest()
		r.Version = 1 + int16(p.next(9))
		r.Group, r.RequireStable = p.group(), p.next(2) == 0
		r.Groups = []kmsg.OffsetFetchRequestGroup{{Group: r.Group}, {Group: p.group()}}
		return r
	case 9:
		r := kmsg.NewPtrDeleteGroupsRequest()
		r.Groups = []string{p.group(), p.group()}
		return r
	case 10:
		r := kmsg.NewPtrOffsetDeleteRequest()
		r.Group = p.group()
		r.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t1", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: int32(p.next(3))}}}}
		return r
	}
	r := kmsg.NewPtrListGroupsRequest()
	return r
}

// finish gives every append its outcome and lets all timers run out: nobody may be left waiting.
func (p *player) finish(t *testing.T) {
	for len(p.held) > 0 {
		p.complete(wire.None)
	}
	p.hold = false
	p.machine.advance(2_000_000)
	p.settle()
	p.c.checkAll()
	if len(p.handles) > 0 || p.c.waiting > 0 || len(p.c.appends) > 0 {
		t.Fatalf("%d requests were not answered, %d wait, %d appends are under way", len(p.handles), p.c.waiting, len(p.c.appends))
	}
	if len(p.c.groups) > 0 && p.c.memoryBytes == 0 && p.c.timers.entries != nil && len(p.c.timers.entries) > 0 {
		t.Fatalf("%d timers are left of %d groups without members", len(p.c.timers.entries), len(p.c.groups))
	}
}

// randomInput is what a fuzz target plays in an ordinary test: bytes that a seed gives, in a stream of the target's own.
func randomInput(seed, stream uint64, bytes int) []byte {
	source := rand.New(rand.NewPCG(seed, stream))
	input := make([]byte, bytes)
	for i := range input {
		input[i] = byte(source.Uint32())
	}
	return input
}
