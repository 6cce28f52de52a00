package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var deleteGroupsRow = row{key: wire.KeyDeleteGroups, min: 0, max: 2, handle: on(deleteGroups)}

func deleteGroups(b Broker, r *Request, req *kmsg.DeleteGroupsRequest) *kmsg.DeleteGroupsResponse {
	req.Groups = distinct(req.Groups)
	return coordinateEach[*kmsg.DeleteGroupsResponse](b, r, req)
}
