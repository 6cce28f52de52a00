package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var describeGroupsRow = row{key: wire.KeyDescribeGroups, min: 0, max: 6, handle: on(describeGroups)}

// groupOperations is what a client may do with a group where nobody is restricted: read, delete, describe,
// describe-configs, alter-configs. See topicOperations.
const groupOperations = 3400

func describeGroups(b Broker, r *Request, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	req.Groups = distinct(req.Groups)
	resp := coordinateEach[*kmsg.DescribeGroupsRequest, *kmsg.DescribeGroupsResponse](b, r, req, firstDescribedGroup)
	for i := range resp.Groups {
		g := &resp.Groups[i]
		g.AuthorizedOperations = operationsUnknown
		if req.IncludeAuthorizedOperations && g.ErrorCode == 0 {
			g.AuthorizedOperations = groupOperations
		}
	}
	return resp
}

func firstDescribedGroup(req *kmsg.DescribeGroupsRequest) string {
	if len(req.Groups) == 0 {
		return ""
	}
	return req.Groups[0]
}
