package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var describeGroupsRow = row{key: wire.KeyDescribeGroups, min: 0, max: 6, handle: on(describeGroups)}

// groupOperations is what a client may do with a group where nobody is restricted: read, delete, describe,
// describe-configs, alter-configs. See topicOperations.
const groupOperations = 3400

// allowedOnGroup is what a client is told that it may do with a group, if it asked and the group could be described.
func (r *Request) allowedOnGroup(b Broker, id string, asked bool, code int16) int32 {
	if asked && code == 0 {
		return r.allowedOperations(b, image.ACLResourceGroup, id, groupOperations)
	}
	return operationsUnknown
}

func describeGroups(b Broker, r *Request, req *kmsg.DescribeGroupsRequest) *kmsg.DescribeGroupsResponse {
	var refused []string
	req.Groups, refused = permitted(b, r, describeGroup, distinct(req.Groups), itself)
	resp := coordinateEach[*kmsg.DescribeGroupsResponse](b, r, req)
	for i := range resp.Groups {
		g := &resp.Groups[i]
		g.AuthorizedOperations = r.allowedOnGroup(b, g.Group, req.IncludeAuthorizedOperations, g.ErrorCode)
	}
	for _, id := range refused {
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.Group, g.ErrorCode = id, int16(unauthorizedGroup.code)
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
