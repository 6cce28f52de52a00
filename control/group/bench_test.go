package group

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/control/memory"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// crowd is a group of many members, each with metadata and an assignment as the range assignor gives them.
type crowd struct {
	c        *Coordinator
	metadata []byte
	nowMS    int64
	last     Handle
	members  []string
	leader   int
	answers  map[Handle]kmsg.Response
}

// crowdTopics are the names of 200 topics, whose partitions may be 20,000: 5 kB in each protocol of each member.
func crowdTopics() []string {
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprintf("orders-of-region-%03d.v1", i)
	}
	return names
}

func newCrowd(n int) *crowd {
	w := &crowd{c: New(DefaultConfig(), 1), metadata: subscription(strings.Join(crowdTopics(), "+")), members: make([]string, n), answers: map[Handle]kmsg.Response{}}
	w.take(w.c.Loaded(0))
	return w
}

func (w *crowd) take(fx Effects) {
	for _, r := range fx.Replies {
		w.answers[r.Handle] = r.Response
	}
	for _, a := range fx.Appends {
		w.take(w.c.Appended(w.nowMS, a.ID, wire.None))
	}
}

func (w *crowd) send(i int, req kmsg.Request) Handle {
	w.last++
	w.take(w.c.Handle(w.nowMS, wallEpoch, w.last, Client{ID: "member-" + strconv.Itoa(i), Host: "/127.0.0.1"}, req))
	return w.last
}

func (w *crowd) tick(ms int64) {
	w.nowMS += ms
	w.take(w.c.Tick(w.nowMS, wallEpoch))
}

func (w *crowd) joinRequest(i int) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = 9, "crowd", w.members[i], "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 45_000, 300_000
	r.Protocols = []kmsg.JoinGroupRequestProtocol{
		{Name: "range", Metadata: w.metadata}, {Name: "cooperative-sticky", Metadata: w.metadata},
	}
	return r
}

// join brings all members in, each with two JoinGroups, and ends the initial delay.
func (w *crowd) join() {
	for i := range w.members {
		h := w.send(i, w.joinRequest(i))
		w.members[i] = w.answers[h].(*kmsg.JoinGroupResponse).MemberID
	}
	clear(w.answers)
	for i := range w.members {
		w.send(i, w.joinRequest(i))
	}
	w.tick(3_000)
	w.tick(3_000)
}

// sync has the leader give each member its share of the partitions.
func (w *crowd) sync(generation int32, partitions int) {
	for i := range w.members {
		r := kmsg.NewPtrSyncGroupRequest()
		r.Version, r.Group, r.MemberID, r.Generation = 4, "crowd", w.members[i], generation
		if i == w.leader {
			for j := range w.members {
				share := make([]byte, 4*(partitions/len(w.members))+24)
				r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: w.members[j], MemberAssignment: share})
			}
		}
		w.send(i, r)
	}
}

// TestCrowd: 7,000 members over 20,000 partitions become one stable generation, and the next after one left.
func TestCrowd(t *testing.T) {
	w := newCrowd(7_000)
	w.join()
	w.sync(1, 20_000)
	g := w.c.groups["crowd"]
	if g.state != Stable || len(g.members) != 7_000 || g.generation != 1 {
		t.Fatalf("the group is %s with %d members in generation %d", g.state, len(g.members), g.generation)
	}
	w.c.checkAll()
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{"crowd"}
	if got := w.answers[w.send(0, describe)].(*kmsg.DescribeGroupsResponse); len(got.Groups[0].Members) != 7_000 {
		t.Fatalf("%d members are described", len(got.Groups[0].Members))
	}
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Version, leave.Group = 5, "crowd"
	leave.Members = []kmsg.LeaveGroupRequestMember{{MemberID: w.members[6_999]}}
	w.members = w.members[:6_999]
	w.send(0, leave)
	for i := range w.members {
		w.send(i, w.joinRequest(i))
	}
	w.sync(2, 20_000)
	if g.state != Stable || len(g.members) != 6_999 || g.generation != 2 {
		t.Fatalf("the group is %s with %d members in generation %d", g.state, len(g.members), g.generation)
	}
	w.c.checkAll()
}

// TestCrowdsAreLinear: a member of a group of 7,000 costs no more allocated bytes than one of 700, with what all are told by
// the leader's metadata counted once a member.
func TestCrowdsAreLinear(t *testing.T) {
	perMember := func(n int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := newCrowd(n)
		w.join()
		w.sync(1, 20_000)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	}
	small, large := perMember(700), perMember(7_000)
	if large > 2*small {
		t.Errorf("a member costs %.0f bytes of 700 and %.0f bytes of 7,000", small, large)
	}
}

// TestHostileCrowdIsBounded: members that say as much of themselves as a request may are refused when the memory of all
// coordinators is used up, whichever group of whichever coordinator they choose; those that are in stay.
func TestHostileCrowdIsBounded(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Memory = memory.NewBound(32 << 20)
	shards := []*crowd{newCrowd(1), newCrowd(1)}
	for _, w := range shards {
		w.c = New(cfg, 1)
		w.take(w.c.Loaded(0))
		w.metadata = make([]byte, 1<<20)
	}
	var codes [2]map[wire.ErrorCode]int
	for i, w := range shards {
		codes[i] = map[wire.ErrorCode]int{}
		for n := range 20 {
			req := w.joinRequest(0)
			req.Version, req.Group = 3, fmt.Sprint("hostile-", n)
			h := w.send(0, req)
			if resp, refused := w.answers[h].(*kmsg.JoinGroupResponse); refused {
				codes[i][wire.ErrorCode(resp.ErrorCode)]++
			}
		}
		w.c.checkAll()
	}
	if took := shards[0].c.memoryBytes + shards[1].c.memoryBytes; took > 32<<20 || took != cfg.Memory.Used() {
		t.Errorf("they take %d bytes, %d are counted", took, cfg.Memory.Used())
	}
	if len(codes[0]) != 1 || codes[0][wire.GroupMaxSizeReached] != 5 || codes[1][wire.GroupMaxSizeReached] != 20 {
		t.Errorf("refused: %v", codes)
	}
}

// BenchmarkJoin shows what a member costs in groups of different sizes: it must not grow with them.
func BenchmarkJoin(b *testing.B) {
	for _, n := range []int{100, 1_000, 7_000} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				w := newCrowd(n)
				w.join()
				w.sync(1, 20_000)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/member")
		})
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	w := newCrowd(7_000)
	w.join()
	w.sync(1, 20_000)
	requests := make([]*kmsg.HeartbeatRequest, len(w.members))
	for i := range requests {
		r := kmsg.NewPtrHeartbeatRequest()
		r.Version, r.Group, r.MemberID, r.Generation = 4, "crowd", w.members[i], 1
		requests[i] = r
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.c.Handle(w.nowMS+int64(i/1_000), wallEpoch, 1, Client{}, requests[i%len(requests)])
	}
}

func BenchmarkCommit(b *testing.B) {
	c := New(DefaultConfig(), 1)
	c.Loaded(0)
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.Generation = 9, "g", -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = "topic"
	topic.Partitions = []kmsg.OffsetCommitRequestTopicPartition{kmsg.NewOffsetCommitRequestTopicPartition()}
	r.Topics = append(r.Topics, topic)
	b.ReportAllocs()
	for b.Loop() {
		for _, a := range c.Handle(0, wallEpoch, 1, Client{}, r).Appends {
			c.Appended(0, a.ID, wire.None)
		}
	}
}
