package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var deleteGroupsRow = row{key: wire.KeyDeleteGroups, min: 0, max: 2, handle: on(deleteGroups)}

func deleteGroups(b Broker, r *Request, req *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	var refused []string
	req.Groups, refused = permitted(b, r, deleteGroup, distinct(req.Groups), itself)
	resp := coordinateEach[*kmsg.DeleteGroupsResponse](b, r, req)
	for _, id := range refused {
		g := kmsg.NewDeleteGroupsResponseGroup()
		g.Group, g.ErrorCode = id, int16(unauthorizedGroup.code)
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
