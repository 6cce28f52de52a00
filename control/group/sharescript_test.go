package group

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (a arguments) shareRequest(cmd string) kmsg.Request {
	switch cmd {
	case "share":
		return a.share()
	case "describe-share":
		r := kmsg.NewPtrShareGroupDescribeRequest()
		r.GroupIDs = a.groups()
		return r
	case "share-offsets":
		return a.shareOffsets()
	case "alter-share":
		return a.alterShare()
	case "delete-share":
		r := kmsg.NewPtrDeleteShareGroupOffsetsRequest()
		r.GroupID = a.group()
		names, _ := a.values("topics")
		for _, name := range names {
			r.Topics = append(r.Topics, kmsg.DeleteShareGroupOffsetsRequestTopic{Topic: a.real(name)})
		}
		return r
	}
	return nil
}

// share is a ShareGroupHeartbeat, with what the line says.
func (a arguments) share() *kmsg.ShareGroupHeartbeatRequest {
	r := kmsg.NewPtrShareGroupHeartbeatRequest()
	r.GroupID, r.MemberID, r.MemberEpoch, r.RackID = a.group(), a.text("member", ""), int32(a.number("epoch", 0)), a.optional("rack")
	if names, ok := a.values("topics"); ok {
		r.SubscribedTopicNames = []string{}
		for _, name := range names {
			if name != "" {
				r.SubscribedTopicNames = append(r.SubscribedTopicNames, a.real(name))
			}
		}
	}
	return r
}

// shareOffsets is a DescribeShareGroupOffsets for the groups; of "@t1:0+1", or of all topics if none are named.
func (a arguments) shareOffsets() *kmsg.DescribeShareGroupOffsetsRequest {
	r := kmsg.NewPtrDescribeShareGroupOffsetsRequest()
	for _, id := range a.groups() {
		g := kmsg.NewDescribeShareGroupOffsetsRequestGroup()
		g.GroupID = id
		if topics, ok := a.values("topics"); ok {
			g.Topics = []kmsg.DescribeShareGroupOffsetsRequestGroupTopic{}
			for _, v := range topics {
				name, partitions, ok := strings.Cut(v, ":")
				if !ok {
					continue
				}
				t := kmsg.NewDescribeShareGroupOffsetsRequestGroupTopic()
				t.Topic = a.real(name)
				for _, p := range strings.Split(partitions, "+") {
					t.Partitions = append(t.Partitions, int32(atoi(p)))
				}
				g.Topics = append(g.Topics, t)
			}
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

// alterShare is an AlterShareGroupOffsets of "@t1:0:17".
func (a arguments) alterShare() *kmsg.AlterShareGroupOffsetsRequest {
	r := kmsg.NewPtrAlterShareGroupOffsetsRequest()
	r.GroupID = a.group()
	offsets, _ := a.values("offsets")
	for _, v := range offsets {
		f := strings.Split(v, ":")
		if len(f) != 3 {
			continue
		}
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != a.real(f[0]) {
			r.Topics = append(r.Topics, kmsg.AlterShareGroupOffsetsRequestTopic{Topic: a.real(f[0])})
		}
		last := &r.Topics[len(r.Topics)-1]
		last.Partitions = append(last.Partitions, kmsg.AlterShareGroupOffsetsRequestTopicPartition{Partition: int32(atoi(f[1])), StartOffset: int64(atoi(f[2]))})
	}
	return r
}

func (s *script) formatShare(resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.ShareGroupHeartbeatResponse:
		assignment := "null"
		if r.Assignment != nil {
			var topics []kmsg.AssignmentTopicPartition
			for _, t := range r.Assignment.TopicPartitions {
				topics = append(topics, kmsg.AssignmentTopicPartition{TopicID: t.TopicID, Partitions: t.Partitions})
			}
			assignment = s.formatPartitions(topics)
		}
		return fmt.Sprintf("%s message=%s member=%s epoch=%d interval=%d assignment=%s", code(r.ErrorCode), s.message(r.ErrorMessage),
			nullable(r.MemberID), r.MemberEpoch, r.HeartbeatIntervalMillis, assignment)
	case *kmsg.ShareGroupDescribeResponse:
		var groups []string
		for i := range r.Groups {
			groups = append(groups, s.formatShareGroup(&r.Groups[i]))
		}
		slices.Sort(groups)
		return strings.Join(groups, "\n  ")
	case *kmsg.DescribeShareGroupOffsetsResponse:
		return s.formatShareOffsets(r)
	case *kmsg.AlterShareGroupOffsetsResponse:
		parts := []string{code(r.ErrorCode) + " message=" + s.message(r.ErrorMessage)}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				parts = append(parts, fmt.Sprintf("%s/%s:%d:%s/%s", s.write(t.Topic), s.topicText(t.TopicID), p.Partition, code(p.ErrorCode), s.message(p.ErrorMessage)))
			}
		}
		slices.Sort(parts[1:])
		return strings.Join(parts, " ")
	case *kmsg.DeleteShareGroupOffsetsResponse:
		parts := []string{code(r.ErrorCode) + " message=" + s.message(r.ErrorMessage)}
		for _, t := range r.Topics {
			parts = append(parts, fmt.Sprintf("%s/%s:%s/%s", s.write(t.Topic), s.topicText(t.TopicID), code(t.ErrorCode), s.message(t.ErrorMessage)))
		}
		return strings.Join(parts, " ")
	}
	panic(fmt.Sprintf("no format for %T", resp))
}

func (s *script) formatShareGroup(g *kmsg.ShareGroupDescribeResponseGroup) string {
	var members []string
	for i := range g.Members {
		m := &g.Members[i]
		topics := slices.Clone(m.SubscribedTopicNames)
		for i := range topics {
			topics[i] = s.write(topics[i])
		}
		slices.Sort(topics)
		var has []kmsg.AssignmentTopicPartition
		for _, t := range m.Assignment.TopicPartitions {
			has = append(has, kmsg.AssignmentTopicPartition{TopicID: t.TopicID, Partitions: t.Partitions})
		}
		members = append(members, fmt.Sprintf("\n    %s rack=%s epoch=%d client=%s topics=%v has=%s", m.MemberID, nullable(m.RackID),
			m.MemberEpoch, m.ClientID, topics, s.formatPartitions(has)))
	}
	slices.Sort(members)
	return fmt.Sprintf("%s: %s message=%s state=%s epoch=%d target=%d assignor=%s%s", s.group(g.GroupID), code(g.ErrorCode),
		s.message(g.ErrorMessage), g.GroupState, g.GroupEpoch, g.AssignmentEpoch, g.Assignor, strings.Join(members, ""))
}

func (s *script) formatShareOffsets(r *kmsg.DescribeShareGroupOffsetsResponse) string {
	var groups []string
	for _, g := range r.Groups {
		var parts []string
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				parts = append(parts, fmt.Sprintf("%s/%s:%d=%d/%d/%s", s.write(t.Topic), s.topicText(t.TopicID), p.Partition, p.StartOffset, p.LeaderEpoch, code(p.ErrorCode)))
			}
		}
		slices.Sort(parts)
		groups = append(groups, fmt.Sprintf("%s: %s message=%s %v", s.group(g.GroupID), code(g.ErrorCode), s.message(g.ErrorMessage), parts))
	}
	slices.Sort(groups)
	return strings.Join(groups, "\n  ")
}

// formatShareRecord prints a record of a share group; ok is false if it is none.
func (s *script) formatShareRecord(rec wire.Record) (text string, ok bool) {
	kind := recordKind(binary.BigEndian.Uint16(rec.Key))
	if !kind.isShare() {
		return "", false
	}
	id, of, err := readConsumerKey(kind, rec.Key)
	if err != nil {
		panic(err)
	}
	name := strings.TrimSpace(fmt.Sprintf("%s %q %s", shareRecordWords[kind], id, of))
	if rec.Value == nil {
		return name + ": tombstone", true
	}
	r := &flexibleReader{rest: rec.Value[2:]}
	switch kind {
	case recordShareGroup, recordShareTargetEpoch:
		return fmt.Sprintf("%s: epoch=%d", name, r.int32()), true
	case recordShareTarget:
		return fmt.Sprintf("%s: %s", name, s.assigned(r.assignment())), true
	case recordShareMember:
		md := readShareMetadata(r)
		return fmt.Sprintf("%s: rack=%s client=%s topics=%v", name, nullable(md.rackID), md.client.ID, md.topics), true
	case recordShareCurrent:
		at := readShareCurrent(r)
		return fmt.Sprintf("%s: epoch=%d before=%d has=%s", name, at.epoch, at.previousEpoch, s.assigned(at.assigned)), true
	}
	t := readShareTopics(r)
	var deleting []string
	for _, id := range t.deleting {
		deleting = append(deleting, t.names[id])
	}
	return fmt.Sprintf("%s: initializing=%s initialized=%s deleting=%v", name, s.assigned(t.initializing), s.assigned(t.initialized), deleting), true
}

var shareRecordWords = map[recordKind]string{
	recordShareGroup: "share group", recordShareMember: "share member", recordShareTargetEpoch: "share target epoch",
	recordShareTarget: "share target", recordShareCurrent: "share current", recordShareState: "share state",
}

// shareStates stands for the share coordinators: it keeps where each partition of each group begins.
type shareStates map[shareStateKey]int64

type shareStateKey struct {
	group string
	topicPartition
}

// answer does what a call asks for.
func (s shareStates) answer(req kmsg.Request) kmsg.Response {
	resp := RefuseState(req, wire.None)
	switch r := req.(type) {
	case *kmsg.InitializeShareGroupStateRequest:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				s[shareStateKey{r.GroupID, topicPartition{t.TopicID, p.Partition}}] = p.StartOffset
			}
		}
	case *kmsg.DeleteShareGroupStateRequest:
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				delete(s, shareStateKey{r.GroupID, topicPartition{t.TopicID, p.Partition}})
			}
		}
	case *kmsg.ReadShareGroupStateSummaryRequest:
		out := resp.(*kmsg.ReadShareGroupStateSummaryResponse)
		for i := range out.Topics {
			for j := range out.Topics[i].Partitions {
				p := &out.Topics[i].Partitions[j]
				start, ok := s[shareStateKey{r.GroupID, topicPartition{out.Topics[i].TopicID, p.Partition}}]
				if p.StartOffset = start; !ok {
					p.StartOffset = -1
				}
			}
		}
	}
	return resp
}
