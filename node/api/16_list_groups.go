package api

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var listGroupsRow = row{key: wire.KeyListGroups, min: 0, max: 5, handle: on(listGroups)}

// listGroups puts the coordinators' lists together; the first that is not ready speaks for all, as an incomplete list
// would look complete.
func listGroups(b Broker, r *Request, req *kmsg.ListGroupsRequest) *kmsg.ListGroupsResponse {
	resp := kmsg.NewPtrListGroupsResponse()
	for _, answered := range b.CoordinateAll(r.Client, req) {
		part := answered.(*kmsg.ListGroupsResponse)
		if part.ErrorCode != 0 {
			resp.ErrorCode, resp.Groups = part.ErrorCode, nil
			return resp
		}
		resp.Groups = append(resp.Groups, part.Groups...)
	}
	if !r.allowsInCluster(b, describeClusterNeed) {
		resp.Groups = slices.DeleteFunc(resp.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return !r.allows(b, describeGroup, g.Group) })
	}
	return resp
}
