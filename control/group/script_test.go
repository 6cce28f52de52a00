package group

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// script runs the commands of a transcript and prints what comes back. Ids of members, which differ from run to run, stand
// in it under the name of the request that first brought them.
type script struct {
	target
	ids     map[string]string // name -> member id
	names   map[string]string // member id -> name
	written map[string]string // name of a topic -> how the transcript writes it
	prefix  string            // put before the names of groups, so that runs against a real broker do not meet
}

// target is what the script talks to: our coordinator, or a real Kafka.
type target interface {
	send(name, client string, req kmsg.Request)
	// settle waits for what the last request set off and gives the answers that have come since, by request name.
	settle() []answer
	advance(ms int64)
	setTopic(name string, partitions int32) // makes the topic, or grows it
	dropTopic(name string)
	topicID(name string) wire.TopicID
	// setGroupConfig gives a group a configuration of its own, or takes it away with nil.
	setGroupConfig(id string, cfg *GroupConfig)
}

type answer struct {
	name string
	resp kmsg.Response
}

func newScript(t target, prefix string) *script {
	return &script{target: t, ids: map[string]string{}, names: map[string]string{}, written: map[string]string{}, prefix: prefix}
}

// run executes one command: "join A group=g ..." and so on. ok is false if it is not one of the shared commands.
func (s *script) run(d *datadriven.TestData) (out string, ok bool) {
	if d.Cmd == "advance" {
		ms, _ := strconv.ParseInt(d.CmdArgs[0].Key, 10, 64)
		s.advance(ms)
		return s.print(), true
	}
	a := arguments{d: d, s: s}
	if out, ok := s.topicCommand(a); ok {
		return out, true
	}
	if d.Cmd == "group-config" {
		s.setGroupConfig(a.group(), a.groupConfig())
		return "", true
	}
	req := a.request(d.Cmd)
	if req == nil {
		return "", false
	}
	s.send(d.CmdArgs[0].Key+" "+d.Cmd, a.text("client", "c"), req)
	return s.print(), true
}

func (s *script) print() string {
	answers := s.settle()
	slices.SortStableFunc(answers, func(a, b answer) int { return strings.Compare(a.name, b.name) })
	for _, a := range answers {
		s.learn(strings.Fields(a.name)[0], a.resp)
	}
	var b strings.Builder
	for _, a := range answers {
		fmt.Fprintf(&b, "%s: %s\n", a.name, s.format(a.resp))
	}
	if b.Len() == 0 {
		return "(no answer)\n"
	}
	return b.String()
}

// learn gives a member id that comes up for the first time a name.
func (s *script) learn(name string, resp kmsg.Response) {
	id := ""
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		id = r.MemberID
	case *kmsg.ConsumerGroupHeartbeatResponse:
		if r.MemberID != nil {
			id = *r.MemberID
		}
	}
	if id == "" || id == "nobody" || s.names[id] != "" {
		return
	}
	unique := name
	for i := 2; s.ids[unique] != ""; i++ {
		unique = name + strconv.Itoa(i)
	}
	s.ids[unique], s.names[id] = id, unique
}

func (s *script) name(id string) string {
	if n := s.names[id]; n != "" {
		return n
	}
	return strconv.Quote(id)
}

func (s *script) group(id string) string { return strconv.Quote(strings.TrimPrefix(id, s.prefix)) }

// arguments reads a command's arguments.
type arguments struct {
	d *datadriven.TestData
	s *script
}

func (a arguments) values(key string) ([]string, bool) {
	for _, arg := range a.d.CmdArgs {
		if arg.Key == key {
			return strings.Split(strings.Join(arg.Vals, ","), ","), true
		}
	}
	return nil, false
}

func (a arguments) text(key, otherwise string) string {
	if v, ok := a.values(key); ok {
		return strings.Join(v, ",")
	}
	return otherwise
}

func (a arguments) number(key string, otherwise int64) int64 {
	n, err := strconv.ParseInt(a.text(key, strconv.FormatInt(otherwise, 10)), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// optional is nil if the argument is not there.
func (a arguments) optional(key string) *string {
	if _, ok := a.values(key); !ok {
		return nil
	}
	v := a.text(key, "")
	return &v
}

func (a arguments) group() string {
	if id := a.text("group", "g"); id != "" {
		return a.s.prefix + id
	}
	return ""
}

// groupConfig is what "group-config session=6000 heartbeat=5500" says; nil for "group-config none".
func (a arguments) groupConfig() *GroupConfig {
	if _, none := a.values("none"); none {
		return nil
	}
	return &GroupConfig{
		ConsumerSessionTimeoutMS: int32(a.number("session", 45_000)), ConsumerHeartbeatIntervalMS: int32(a.number("heartbeat", 5_000)),
		ShareSessionTimeoutMS: int32(a.number("share-session", 45_000)), ShareHeartbeatIntervalMS: int32(a.number("share-heartbeat", 5_000)),
	}
}

func (a arguments) groups() []string {
	v, _ := a.values("groups")
	out := make([]string, len(v))
	for i := range v {
		out[i] = a.s.prefix + v[i]
	}
	return out
}

func (a arguments) member() string { return a.id(a.text("member", "")) }

func (a arguments) id(name string) string {
	if id := a.s.ids[name]; id != "" {
		return id
	}
	return name
}

func (a arguments) request(cmd string) kmsg.Request {
	var req kmsg.Request
	switch cmd {
	case "join":
		req = a.join()
	case "sync":
		req = a.sync()
	case "heartbeat":
		r := kmsg.NewPtrHeartbeatRequest()
		r.Group, r.Generation, r.MemberID, r.InstanceID = a.group(), int32(a.number("gen", 1)), a.member(), a.optional("instance")
		req = r
	case "leave":
		req = a.leave()
	case "commit":
		req = a.commit()
	case "fetch":
		req = a.fetch()
	case "delete-offsets":
		req = a.deleteOffsets()
	case "describe":
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Groups = a.groups()
		req = r
	case "list":
		r := kmsg.NewPtrListGroupsRequest()
		r.StatesFilter, _ = a.values("states")
		r.TypesFilter, _ = a.values("types")
		req = r
	case "delete":
		r := kmsg.NewPtrDeleteGroupsRequest()
		r.Groups = a.groups()
		req = r
	default:
		if req = a.consumerRequest(cmd); req == nil {
			req = a.shareRequest(cmd)
		}
		if req == nil {
			return nil
		}
	}
	req.SetVersion(int16(a.number("v", int64(latest[kmsg.Key(req.Key())]))))
	return req
}

// latest is the newest version that Kafka's clients send.
var latest = map[kmsg.Key]int16{
	kmsg.JoinGroup: 9, kmsg.SyncGroup: 5, kmsg.Heartbeat: 4, kmsg.LeaveGroup: 5, kmsg.OffsetCommit: 9, kmsg.OffsetFetch: 9,
	kmsg.OffsetDelete: 0, kmsg.DescribeGroups: 6, kmsg.ListGroups: 5, kmsg.DeleteGroups: 2,
	kmsg.ConsumerGroupHeartbeat: 1, kmsg.ConsumerGroupDescribe: 1, kmsg.ShareGroupHeartbeat: 1, kmsg.ShareGroupDescribe: 1,
	kmsg.DescribeShareGroupOffsets: 0, kmsg.AlterShareGroupOffsets: 0, kmsg.DeleteShareGroupOffsets: 0,
}

func (a arguments) join() *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.InstanceID = a.group(), a.member(), a.optional("instance")
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = int32(a.number("session", 10_000)), int32(a.number("rebalance", 10_000))
	r.ProtocolType = a.text("type", "consumer")
	protocols := []string{"range"}
	if v, ok := a.values("protocols"); ok {
		protocols = v
	}
	for _, p := range protocols {
		name, metadata, _ := strings.Cut(p, ":")
		entry := kmsg.NewJoinGroupRequestProtocol()
		entry.Name, entry.Metadata = name, a.subscription(metadata)
		if name != "" {
			r.Protocols = append(r.Protocols, entry)
		}
	}
	r.Reason = a.optional("reason")
	return r
}

// subscription is metadata with what the member owns after a blank-free "/": "@t1+@t2/@t1:0+1".
func (a arguments) subscription(text string) []byte {
	topics, owned, says := strings.Cut(text, "/")
	if !says {
		return subscription(a.real(text))
	}
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics = 3, strings.Split(a.real(topics), "+")
	if name, partitions, ok := strings.Cut(owned, ":"); ok {
		o := kmsg.ConsumerMemberMetadataOwnedPartition{Topic: a.real(name)}
		for _, p := range strings.Split(partitions, "+") {
			o.Partitions = append(o.Partitions, int32(atoi(p)))
		}
		meta.OwnedPartitions = append(meta.OwnedPartitions, o)
	}
	return meta.AppendTo(nil)
}

// subscription is a consumer's metadata for the topics "t1+t2"; with "!" before it the bytes as they stand.
func subscription(topics string) []byte {
	if raw, ok := strings.CutPrefix(topics, "!"); ok {
		return []byte(raw)
	}
	meta := kmsg.NewConsumerMemberMetadata()
	if topics != "" {
		meta.Topics = strings.Split(topics, "+")
	}
	return meta.AppendTo(nil)
}

func (a arguments) sync() *kmsg.SyncGroupRequest {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.Generation, r.MemberID, r.InstanceID = a.group(), int32(a.number("gen", 1)), a.member(), a.optional("instance")
	consumer, assignor := "consumer", "range"
	r.ProtocolType, r.Protocol = &consumer, &assignor
	if v := a.optional("type"); v != nil {
		r.ProtocolType = v
	}
	if v := a.optional("protocol"); v != nil {
		r.Protocol = v
	}
	if _, ok := a.values("null-protocol"); ok {
		r.ProtocolType, r.Protocol = nil, nil
	}
	assignments, _ := a.values("assign")
	for _, v := range assignments {
		name, bytes, _ := strings.Cut(v, ":")
		entry := kmsg.NewSyncGroupRequestGroupAssignment()
		entry.MemberID, entry.MemberAssignment = a.id(name), a.assignment(bytes)
		r.GroupAssignment = append(r.GroupAssignment, entry)
	}
	return r
}

// assignment is that of one topic, "@t1:0+1", as a consumer's assignor writes it; others are the bytes as they stand.
func (a arguments) assignment(text string) []byte {
	name, partitions, ok := strings.Cut(text, ":")
	if !ok || !strings.HasPrefix(name, "@") {
		return []byte(text)
	}
	out := kmsg.NewConsumerMemberAssignment()
	topic := kmsg.ConsumerMemberAssignmentTopic{Topic: a.real(name)}
	for _, p := range strings.Split(partitions, "+") {
		topic.Partitions = append(topic.Partitions, int32(atoi(p)))
	}
	out.Topics = append(out.Topics, topic)
	return out.AppendTo(nil)
}

func (a arguments) leave() *kmsg.LeaveGroupRequest {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Group, r.MemberID = a.group(), a.member()
	members, _ := a.values("members") // "A", "A/instance" or "/instance"
	for _, v := range members {
		name, instance, static := strings.Cut(v, "/")
		entry := kmsg.NewLeaveGroupRequestMember()
		entry.MemberID = a.id(name)
		if static {
			entry.InstanceID = &instance
		}
		r.Members = append(r.Members, entry)
	}
	return r
}

func (a arguments) commit() *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation, r.MemberID, r.InstanceID = a.group(), int32(a.number("gen", -1)), a.member(), a.optional("instance")
	r.RetentionTimeMillis = a.number("retention", -1)
	offsets, _ := a.values("offsets") // topic:partition:offset[:metadata[:epoch]]
	for _, v := range offsets {
		f := strings.Split(v, ":")
		f[0] = a.real(f[0])
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = int32(atoi(f[1])), int64(atoi(f[2]))
		if len(f) > 3 {
			metadata := f[3]
			if n, ok := strings.CutPrefix(metadata, "*"); ok {
				metadata = strings.Repeat("m", atoi(n))
			}
			p.Metadata = &metadata
		}
		if len(f) > 4 {
			p.LeaderEpoch = int32(atoi(f[4]))
		}
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != f[0] {
			topic := kmsg.NewOffsetCommitRequestTopic()
			topic.Topic = f[0]
			r.Topics = append(r.Topics, topic)
		}
		last := &r.Topics[len(r.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return r
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func (a arguments) fetch() *kmsg.OffsetFetchRequest {
	r := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	r.Group, g.Group = a.group(), a.group()
	partitions, listed := a.values("offsets") // topic:partition; all if not there
	if listed {
		r.Topics, g.Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, v := range partitions {
		topic, p, ok := strings.Cut(a.real(v), ":")
		if !ok {
			continue
		}
		r.Topics = append(r.Topics, kmsg.OffsetFetchRequestTopic{Topic: topic, Partitions: []int32{int32(atoi(p))}})
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: topic, Partitions: []int32{int32(atoi(p))}})
	}
	_, r.RequireStable = a.values("stable")
	if member := a.optional("member"); member != nil {
		id := a.id(*member)
		g.MemberID, g.MemberEpoch = &id, int32(a.number("epoch", 0))
	}
	r.Groups = append(r.Groups, g)
	return r
}

func (a arguments) deleteOffsets() *kmsg.OffsetDeleteRequest {
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = a.group()
	partitions, _ := a.values("offsets")
	for _, v := range partitions {
		topic, p, _ := strings.Cut(a.real(v), ":")
		r.Topics = append(r.Topics, kmsg.OffsetDeleteRequestTopic{
			Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: int32(atoi(p))}},
		})
	}
	return r
}

func code(c int16) string { return wire.ErrorCode(c).String() }
