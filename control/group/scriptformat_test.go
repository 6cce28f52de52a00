package group

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// format prints an answer on one line, with everything in it that can differ.
func (s *script) format(resp kmsg.Response) string {
	switch r := resp.(type) {
	case *kmsg.JoinGroupResponse:
		return s.formatJoin(r)
	case *kmsg.SyncGroupResponse:
		return fmt.Sprintf("%s type=%s protocol=%s assignment=%s", code(r.ErrorCode), nullable(r.ProtocolType), nullable(r.Protocol), s.assignmentText(r.MemberAssignment))
	case *kmsg.HeartbeatResponse:
		return code(r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		return s.formatLeave(r)
	case *kmsg.OffsetCommitResponse:
		var parts []string
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				parts = append(parts, fmt.Sprintf("%s:%d:%s", s.write(t.Topic), p.Partition, code(p.ErrorCode)))
			}
		}
		return strings.Join(parts, " ")
	case *kmsg.OffsetFetchResponse:
		return s.formatFetch(r)
	case *kmsg.OffsetDeleteResponse:
		parts := []string{code(r.ErrorCode)}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				parts = append(parts, fmt.Sprintf("%s:%d:%s", s.write(t.Topic), p.Partition, code(p.ErrorCode)))
			}
		}
		return strings.Join(parts, " ")
	case *kmsg.DescribeGroupsResponse:
		return s.formatDescribe(r)
	case *kmsg.ListGroupsResponse:
		parts := []string{code(r.ErrorCode)}
		for _, g := range r.Groups {
			if strings.HasPrefix(g.Group, s.prefix) && g.Group != "" {
				parts = append(parts, fmt.Sprintf("%s:%s:%s:%s", s.group(g.Group), g.ProtocolType, g.GroupState, g.GroupType))
			}
		}
		slices.Sort(parts[1:])
		return strings.Join(parts, " ")
	case *kmsg.DeleteGroupsResponse:
		var parts []string
		for _, g := range r.Groups {
			parts = append(parts, s.group(g.Group)+":"+code(g.ErrorCode))
		}
		slices.Sort(parts)
		return strings.Join(parts, " ")
	}
	return s.formatConsumer(resp)
}

func nullable(v *string) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *v)
}

func (s *script) formatJoin(r *kmsg.JoinGroupResponse) string {
	members := make([]string, len(r.Members))
	for i, m := range r.Members {
		members[i] = s.name(m.MemberID) + ":" + s.topicsOf(m.ProtocolMetadata)
		if m.InstanceID != nil {
			members[i] += "/" + *m.InstanceID
		}
	}
	slices.Sort(members)
	return fmt.Sprintf("%s gen=%d type=%s protocol=%s leader=%s member=%s skip=%t members=%v", code(r.ErrorCode), r.Generation,
		nullable(r.ProtocolType), nullable(r.Protocol), s.name(r.LeaderID), s.name(r.MemberID), r.SkipAssignment, members)
}

func (s *script) topicsOf(metadata []byte) string {
	topics := strings.Split(topicsOf(metadata), "+")
	for i := range topics {
		topics[i] = s.write(topics[i])
	}
	return strings.Join(topics, "+")
}

// topicsOf is the opposite of subscription.
func topicsOf(metadata []byte) string {
	var meta kmsg.ConsumerMemberMetadata
	if meta.ReadFrom(metadata) != nil {
		return "!" + string(metadata)
	}
	return strings.Join(meta.Topics, "+")
}

func (s *script) formatLeave(r *kmsg.LeaveGroupResponse) string {
	parts := []string{code(r.ErrorCode)}
	for _, m := range r.Members {
		parts = append(parts, fmt.Sprintf("%s/%s:%s", s.name(m.MemberID), nullable(m.InstanceID), code(m.ErrorCode)))
	}
	return strings.Join(parts, " ")
}

func (s *script) formatFetch(r *kmsg.OffsetFetchResponse) string {
	parts := []string{code(r.ErrorCode)}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			parts = append(parts, fmt.Sprintf("%s:%d=%d/%d/%s:%s", s.write(t.Topic), p.Partition, p.Offset, p.LeaderEpoch, nullable(p.Metadata), code(p.ErrorCode)))
		}
	}
	for _, g := range r.Groups {
		parts = append(parts, s.group(g.Group)+":"+code(g.ErrorCode))
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				parts = append(parts, fmt.Sprintf("%s:%d=%d/%d/%s:%s", s.write(t.Topic), p.Partition, p.Offset, p.LeaderEpoch, nullable(p.Metadata), code(p.ErrorCode)))
			}
		}
	}
	slices.Sort(parts[1:])
	return strings.Join(parts, " ")
}

func (s *script) formatDescribe(r *kmsg.DescribeGroupsResponse) string {
	var groups []string
	for _, g := range r.Groups {
		text := fmt.Sprintf("%s:%s message=%s state=%s type=%q protocol=%q", s.group(g.Group), code(g.ErrorCode),
			s.message(g.ErrorMessage), g.State, g.ProtocolType, g.Protocol)
		var members []string
		for _, m := range g.Members {
			members = append(members, fmt.Sprintf("%s/%s/%s/%s/%s", s.name(m.MemberID), nullable(m.InstanceID), m.ClientID,
				s.topicsOf(m.ProtocolMetadata), s.assignmentText(m.MemberAssignment)))
		}
		slices.Sort(members)
		groups = append(groups, text+fmt.Sprintf(" members=%v", members))
	}
	slices.Sort(groups)
	return strings.Join(groups, "\n  ")
}
