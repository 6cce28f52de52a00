package tests

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/tests/harness"
)

// BenchmarkCrowd makes one classic group of many members, each with a connection of its own and two protocols over 200 topics of
// 100 partitions, describes it, and has one member leave and all others come again. The figures are the time of a
// generation from the first JoinGroup to the last SyncGroup's answer, of DescribeGroups, and the server's CPU time and memory.
//
//	go test ./tests -run '^$' -bench Crowd -benchtime 1x
//	RINGMILL_TEST_PEER=kafka go test ./tests -run '^$' -bench Crowd -benchtime 1x
func BenchmarkCrowd(b *testing.B) {
	for _, members := range []int{700, 7_000} {
		b.Run(fmt.Sprintf("members=%d", members), func(b *testing.B) {
			node := harness.Start(b, harness.Options{Properties: map[string]string{
				"group.initial.rebalance.delay.ms": "3000", "message.max.bytes": "104857600", "max.connections": "20000",
			}})
			b.ResetTimer()
			for range b.N {
				measureCrowd(b, node, members)
			}
		})
	}
}

func measureCrowd(b *testing.B, node *harness.Node, members int) {
	idle := usage(b, node)
	w := newCrowd(b, node, members)
	began := time.Now()
	w.generation()
	first := time.Since(began)
	began = time.Now()
	if n := w.describe(); n != members {
		b.Fatalf("%d members are described", n)
	}
	described := time.Since(began)
	w.leave()
	began = time.Now()
	w.generation()
	second := time.Since(began)
	used := usage(b, node)
	b.ReportMetric(first.Seconds(), "first-s")
	b.ReportMetric(second.Seconds(), "second-s")
	b.ReportMetric(described.Seconds(), "describe-s")
	b.ReportMetric(used.Since(idle).CPU().Seconds(), "cpu-s")
	b.ReportMetric(float64(used.PeakBytes-idle.PeakBytes)/(1<<20), "peak-MiB")
	b.ReportMetric(0, "ns/op")
}

func usage(b *testing.B, node *harness.Node) bench.Usage {
	b.Helper()
	u, err := bench.ReadUsage(node.Pid())
	if err != nil {
		b.Fatal(err)
	}
	return u
}

// crowd is a group and its members.
type crowd struct {
	b        *testing.B
	group    string
	metadata []byte
	members  []*crowdMember

	mu     sync.Mutex
	synced map[int32]int // generation -> members that have their assignment
}

// crowdMember is one member with its connection; it has one request under way at a time.
type crowdMember struct {
	conn        net.Conn
	in          *bufio.Reader
	correlation int32
	id          string
}

func newCrowd(b *testing.B, node *harness.Node, members int) *crowd {
	w := &crowd{b: b, group: harness.Name("crowd"), synced: map[int32]int{}}
	subscription := kmsg.NewConsumerMemberMetadata()
	for i := range 200 {
		subscription.Topics = append(subscription.Topics, fmt.Sprintf("orders-of-region-%03d.v1", i))
	}
	w.metadata = subscription.AppendTo(nil)
	for range members {
		conn, err := net.Dial("tcp", node.Address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		w.members = append(w.members, &crowdMember{conn: conn, in: bufio.NewReaderSize(conn, 512)})
	}
	w.awaitCoordinator()
	return w
}

// awaitCoordinator waits until the group has a coordinator: the first that is asked for makes the topic of its records.
func (w *crowd) awaitCoordinator() {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version, req.Group, req.MemberID = 4, w.group, "nobody"
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorKeys = 4, []string{w.group}
	for deadline := time.Now().Add(crowdPatience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		w.must(w.members[0].call(find))
		resp := w.must(w.members[0].call(req)).(*kmsg.HeartbeatResponse)
		if kerr.ErrorForCode(resp.ErrorCode) == kerr.UnknownMemberID {
			return
		}
	}
	w.b.Fatal("no coordinator")
}

// crowdPatience bounds a wait for an answer; nothing is measured by it.
const crowdPatience = time.Minute

func (w *crowd) must(resp kmsg.Response, err error) kmsg.Response {
	if err != nil {
		w.b.Fatal(err)
	}
	return resp
}

// generation has all members join and sync side by side, until all are in one generation.
func (w *crowd) generation() {
	failures := make(chan error, len(w.members))
	var all sync.WaitGroup
	for _, m := range w.members {
		all.Go(func() {
			for together := false; !together; {
				generation, err := w.rejoin(m)
				if err == nil {
					together, err = w.awaitOthers(m, generation)
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failures:
		w.b.Fatal(err)
	default:
	}
}

// awaitOthers sends heartbeats until all members have their assignment in the generation; false if there is to be another.
func (w *crowd) awaitOthers(m *crowdMember, generation int32) (bool, error) {
	w.mu.Lock()
	w.synced[generation]++
	w.mu.Unlock()
	for {
		w.mu.Lock()
		together := w.synced[generation] == len(w.members)
		w.mu.Unlock()
		if together {
			return true, nil
		}
		time.Sleep(crowdHeartbeat)
		req := kmsg.NewPtrHeartbeatRequest()
		req.Version, req.Group, req.MemberID, req.Generation = 4, w.group, m.id, generation
		resp, err := m.call(req)
		if err != nil {
			return false, err
		}
		switch err := kerr.ErrorForCode(resp.(*kmsg.HeartbeatResponse).ErrorCode); err {
		case nil:
		case kerr.RebalanceInProgress:
			return false, nil
		default:
			return false, fmt.Errorf("Heartbeat: %w", err)
		}
	}
}

// crowdHeartbeat is a third of what consumers wait, so that a generation more does not hide what it takes.
const crowdHeartbeat = time.Second

// rejoin takes a member through JoinGroup, again with the id that it is given, and SyncGroup, until it has its assignment.
func (w *crowd) rejoin(m *crowdMember) (generation int32, err error) {
	for {
		joined, err := m.call(w.joinRequest(m.id))
		if err != nil {
			return 0, err
		}
		join := joined.(*kmsg.JoinGroupResponse)
		switch err := kerr.ErrorForCode(join.ErrorCode); err {
		case nil:
		case kerr.MemberIDRequired:
			m.id = join.MemberID
			continue
		case kerr.RebalanceInProgress:
			continue
		default:
			return 0, fmt.Errorf("JoinGroup: %w", err)
		}
		m.id = join.MemberID
		synced, err := m.call(w.syncRequest(join))
		if err != nil {
			return 0, err
		}
		switch err := kerr.ErrorForCode(synced.(*kmsg.SyncGroupResponse).ErrorCode); err {
		case nil:
			return join.Generation, nil
		case kerr.RebalanceInProgress:
		default:
			return 0, fmt.Errorf("SyncGroup: %w", err)
		}
	}
}

func (w *crowd) joinRequest(id string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = 9, w.group, id, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 300_000, 300_000
	for _, name := range []string{"range", "cooperative-sticky"} {
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = name, w.metadata
		r.Protocols = append(r.Protocols, p)
	}
	return r
}

// syncRequest is the leader's with three partitions for each member, or another member's.
func (w *crowd) syncRequest(join *kmsg.JoinGroupResponse) *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.Generation = 5, w.group, join.MemberID, join.Generation
	r.ProtocolType, r.Protocol = join.ProtocolType, join.Protocol
	for i := range join.Members {
		share := kmsg.NewConsumerMemberAssignment()
		share.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: "orders-of-region-" + strconv.Itoa(i%200), Partitions: []int32{int32(i), int32(i + 1), int32(i + 2)}}}
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: join.Members[i].MemberID, MemberAssignment: share.AppendTo(nil)})
	}
	return r
}

func (w *crowd) describe() int {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version, req.Groups = 5, []string{w.group}
	return len(w.must(w.members[0].call(req)).(*kmsg.DescribeGroupsResponse).Groups[0].Members)
}

// leave takes the last member out.
func (w *crowd) leave() {
	last := w.members[len(w.members)-1]
	w.members = w.members[:len(w.members)-1]
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = 5, w.group
	req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: last.id}}
	w.must(last.call(req))
}

var crowdFormat = kmsg.NewRequestFormatter(kmsg.FormatterClientID("crowd"))

// call sends a request and reads its answer.
func (m *crowdMember) call(req kmsg.Request) (kmsg.Response, error) {
	m.correlation++
	_ = m.conn.SetDeadline(time.Now().Add(crowdPatience))
	if _, err := m.conn.Write(crowdFormat.AppendRequest(nil, req, m.correlation)); err != nil {
		return nil, err
	}
	var length [4]byte
	if _, err := io.ReadFull(m.in, length[:]); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", kmsg.NameForKey(req.Key()), m.id, err)
	}
	body := make([]byte, binary.BigEndian.Uint32(length[:]))
	if _, err := io.ReadFull(m.in, body); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	header := 4
	if resp.IsFlexible() {
		header = 5 // no tagged fields
	}
	return resp, resp.ReadFrom(body[header:])
}
