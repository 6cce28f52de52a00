package group

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/control/group/assignor"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Topics of a transcript are written "@t1": a real broker gets them with the prefix of the run, which is printed as "@" too.

// topicCommand makes, grows or removes topics: "topic @t1 partitions=3", "drop @t1".
func (s *script) topicCommand(a arguments) (out string, ok bool) {
	if a.d.Cmd != "topic" && a.d.Cmd != "drop" {
		return "", false
	}
	name := a.real(a.d.CmdArgs[0].Key)
	switch a.d.Cmd {
	case "topic":
		s.written[name] = a.d.CmdArgs[0].Key
		s.setTopic(name, int32(a.number("partitions", 1)))
	case "drop":
		s.dropTopic(name)
	}
	return "", true
}

// real is the name of a topic, or the text of a regular expression, as the target knows it.
func (a arguments) real(text string) string { return strings.ReplaceAll(text, "@", a.s.prefix) }

// write is the opposite of real.
func (s *script) write(name string) string {
	if w := s.written[name]; w != "" {
		return w
	}
	if s.prefix == "" {
		return name
	}
	return strings.Replace(name, s.prefix, "", 1)
}

func (a arguments) consumerRequest(cmd string) kmsg.Request {
	switch cmd {
	case "beat":
		return a.beat()
	case "describe-consumer":
		r := kmsg.NewPtrConsumerGroupDescribeRequest()
		r.Groups = a.groups()
		return r
	}
	return nil
}

// beat is a ConsumerGroupHeartbeat. One that joins (epoch 0) has all that it needs unless the line says otherwise, another
// only what the line says.
func (a arguments) beat() *kmsg.ConsumerGroupHeartbeatRequest {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Group, r.MemberID, r.MemberEpoch = a.group(), a.member(), int32(a.number("epoch", 0))
	r.InstanceID, r.RackID, r.ServerAssignor = a.optional("instance"), a.optional("rack"), a.optional("assignor")
	if regex := a.optional("regex"); regex != nil {
		text := a.real(*regex)
		r.SubscribedTopicRegex = &text
	}
	if names, ok := a.values("topics"); ok {
		r.SubscribedTopicNames = []string{}
		for _, name := range names {
			if name != "" {
				r.SubscribedTopicNames = append(r.SubscribedTopicNames, a.real(name))
			}
		}
	}
	timeout := int64(-1)
	if r.MemberEpoch == 0 {
		timeout, r.Topics = 10_000, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	r.RebalanceTimeoutMillis = int32(a.number("rebalance", timeout))
	if owned, ok := a.values("owned"); ok {
		r.Topics = a.owned(owned)
	}
	return r
}

// owned reads "@t1:0+1"; "null" is null, and nothing is nothing.
func (a arguments) owned(list []string) []kmsg.ConsumerGroupHeartbeatRequestTopic {
	if list[0] == "null" {
		return nil
	}
	out := []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, v := range list {
		name, partitions, ok := strings.Cut(v, ":")
		if !ok {
			continue
		}
		t := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		t.TopicID = a.s.topicID(a.real(name))
		for _, p := range strings.Split(partitions, "+") {
			t.Partitions = append(t.Partitions, int32(atoi(p)))
		}
		out = append(out, t)
	}
	return out
}

func (s *script) formatConsumer(resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.ConsumerGroupHeartbeatResponse:
		member, assignment := "null", "null"
		if r.MemberID != nil {
			member = s.name(*r.MemberID)
		}
		if r.Assignment != nil {
			var topics []kmsg.AssignmentTopicPartition
			for _, t := range r.Assignment.Topics {
				topics = append(topics, kmsg.AssignmentTopicPartition{TopicID: t.TopicID, Partitions: t.Partitions})
			}
			assignment = s.formatPartitions(topics)
		}
		return fmt.Sprintf("%s message=%s member=%s epoch=%d interval=%d assignment=%s", code(r.ErrorCode),
			s.message(r.ErrorMessage), member, r.MemberEpoch, r.HeartbeatIntervalMillis, assignment)
	case *kmsg.ConsumerGroupDescribeResponse:
		var groups []string
		for i := range r.Groups {
			groups = append(groups, s.formatConsumerGroup(&r.Groups[i]))
		}
		slices.Sort(groups)
		return strings.Join(groups, "\n  ")
	}
	return s.formatShare(resp)
}

// message is an answer's text, without the prefix of the run and with names for ids.
func (s *script) message(text *string) string {
	if text == nil {
		return "null"
	}
	out := *text
	if s.prefix != "" {
		out = strings.ReplaceAll(out, s.prefix, "")
	}
	for id, name := range s.names {
		out = strings.ReplaceAll(out, id, name)
	}
	return strconv.Quote(out)
}

func (s *script) formatConsumerGroup(g *kmsg.ConsumerGroupDescribeResponseGroup) string {
	var members []string
	for i := range g.Members {
		m := &g.Members[i]
		topics := slices.Clone(m.SubscribedTopics)
		for i := range topics {
			topics[i] = s.write(topics[i])
		}
		slices.Sort(topics)
		regex := s.message(m.SubscribedTopicRegex)
		members = append(members, fmt.Sprintf("\n    %s instance=%s rack=%s epoch=%d client=%s topics=%v regex=%s type=%d has=%s target=%s", s.name(m.MemberID),
			nullable(m.InstanceID), nullable(m.RackID), m.MemberEpoch, m.ClientID, topics, regex, m.MemberType,
			s.formatPartitions(m.Assignment.TopicPartitions), s.formatPartitions(m.TargetAssignment.TopicPartitions)))
	}
	slices.Sort(members)
	return fmt.Sprintf("%s: %s message=%s state=%s epoch=%d target=%d assignor=%s%s", s.group(g.Group), code(g.ErrorCode),
		s.message(g.ErrorMessage), g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName, strings.Join(members, ""))
}

// formatPartitions prints "[@t1:0+1 @t2:0]".
func (s *script) formatPartitions(topics []kmsg.AssignmentTopicPartition) string {
	var out []string
	for _, t := range topics {
		out = append(out, s.topicText(t.TopicID)+":"+joined(t.Partitions))
	}
	slices.Sort(out)
	return "[" + strings.Join(out, " ") + "]"
}

func joined(partitions []int32) string {
	sorted := slices.Sorted(slices.Values(partitions))
	text := make([]string, len(sorted))
	for i, p := range sorted {
		text[i] = strconv.Itoa(int(p))
	}
	return strings.Join(text, "+")
}

func (s *script) topicText(id wire.TopicID) string {
	for name, written := range s.written {
		if s.topicID(name) == id {
			return written
		}
	}
	return "gone"
}

// formatConsumerRecord prints a record of a consumer group; ok is false if it is none.
func (s *script) formatConsumerRecord(rec wire.Record) (text string, ok bool) {
	kind := recordKind(binary.BigEndian.Uint16(rec.Key))
	if kind <= recordClassicGroup {
		return "", false
	}
	id, of, err := readConsumerKey(kind, rec.Key)
	if err != nil {
		panic(err)
	}
	name := fmt.Sprintf("%s %q %s", recordWords[kind], id, s.write(of))
	if rec.Value == nil {
		return strings.TrimSpace(name) + ": tombstone", true
	}
	r := &flexibleReader{rest: rec.Value[2:]}
	switch kind {
	case recordGroup:
		epoch, _ := readGroup(r)
		return fmt.Sprintf("%s: epoch=%d", name, epoch), true
	case recordTargetEpoch:
		return fmt.Sprintf("%s: epoch=%d", name, r.int32()), true
	case recordTarget:
		return fmt.Sprintf("%s: %s", name, s.assigned(r.assignment())), true
	case recordRegex:
		return fmt.Sprintf("%s: %v", name, readRegex(r).topics), true
	case recordMember:
		md := readMemberMetadata(r)
		return fmt.Sprintf("%s: instance=%s topics=%v regex=%q classic=%t", name, nullable(md.instanceID), md.topics, md.regex, md.classic != nil), true
	}
	c := readMemberCurrent(r)
	return fmt.Sprintf("%s: epoch=%d before=%d state=%d has=%s revokes=%s", name, c.epoch, c.previousEpoch, c.state,
		s.assigned(c.assigned), s.assigned(c.revoking)), true
}

var recordWords = map[recordKind]string{
	recordGroup: "consumer group", recordOldMetadata: "old metadata", recordMember: "member", recordTargetEpoch: "target epoch",
	recordTarget: "target", recordCurrent: "current", recordRegex: "regex",
}

func (s *script) assigned(a assignor.Assignment) string {
	var topics []kmsg.AssignmentTopicPartition
	for _, t := range a {
		topics = append(topics, kmsg.AssignmentTopicPartition{TopicID: t.Topic, Partitions: t.Partitions})
	}
	return s.formatPartitions(topics)
}

// assignmentText prints what a member of the classic protocol is assigned by the coordinator; other bytes as they stand.
func (s *script) assignmentText(b []byte) string {
	a := kmsg.NewConsumerMemberAssignment()
	if len(b) < 6 || a.ReadFrom(b) != nil {
		return strconv.Quote(string(b))
	}
	var out []string
	for _, t := range a.Topics {
		out = append(out, s.write(t.Topic)+":"+joined(t.Partitions))
	}
	slices.Sort(out)
	return fmt.Sprintf("v%d %v", a.Version, out)
}

func (m *machine) setTopic(name string, partitions int32) {
	created := m.topics.ByName(name) == nil
	if created {
		m.lastTopic++
		id := wire.TopicID{0: byte(len(name)), 15: m.lastTopic}
		m.changeTopics(created, image.TopicRecord{Name: name, ID: id, Partitions: partitions})
		return
	}
	m.changeTopics(false, image.PartitionsRecord{ID: m.topics.ByName(name).ID, Partitions: partitions})
}

func (m *machine) dropTopic(name string) {
	m.changeTopics(false, image.RemoveTopicRecord{ID: m.topics.ByName(name).ID})
	m.take(m.c.TopicDeleted(name))
}

func (m *machine) changeTopics(created bool, records ...image.Record) {
	next, err := m.topics.With(records...)
	if err != nil {
		panic(err)
	}
	m.topics = next
	m.c.SetTopics(next, created)
}

func (m *machine) setGroupConfig(id string, cfg *GroupConfig) { m.c.SetGroupConfig(id, cfg) }

func (m *machine) topicID(name string) wire.TopicID {
	if t := m.topics.ByName(name); t != nil {
		return t.ID
	}
	return wire.TopicID{}
}
