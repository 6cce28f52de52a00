package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var describeGroupsRow = row{wire.KeyDescribeGroups, 0, 6, on(describeGroups)}

// groupOperations is what a client may do with a group where nobody is restricted, as bits: read, delete, describe and,
// from Apache Kafka 4.0 on, describe-configs and alter-configs.
const groupOperations = 3400

func describeGroups(b Broker, r *Request, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	resp := kmsg.NewPtrDescribeGroupsResponse()
	for _, group := range distinct(req.Groups) {
		one := *req
		one.Groups = []string{group}
		answered := b.Coordinate(group, r.Client, &one).(*kmsg.DescribeGroupsResponse)
		resp.Groups = append(resp.Groups, answered.Groups...)
	}
	for i := range resp.Groups {
		g := &resp.Groups[i]
		g.AuthorizedOperations = operationsUnknown
		if req.IncludeAuthorizedOperations && g.ErrorCode == 0 {
			g.AuthorizedOperations = groupOperations
		}
	}
	return resp
}

// distinct gives each name once, in order: naming a large group a million times must not have it described as often.
func distinct(names []string) []string {
	seen := make(map[string]struct{}, len(names))
	out := make([]string, 0, len(names))
	for _, name := range names {
		if _, again := seen[name]; !again {
			seen[name] = struct{}{}
			out = append(out, name)
		}
	}
	return out
}
