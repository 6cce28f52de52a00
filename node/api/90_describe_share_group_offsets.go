package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var describeShareGroupOffsetsRow = row{
	key: wire.KeyDescribeShareGroupOffsets, min: 0, max: 0, handle: on(describeShareGroupOffsets),
}

func describeShareGroupOffsets(b Broker, r *Request, req *kmsg.DescribeShareGroupOffsetsRequest) *kmsg.DescribeShareGroupOffsetsResponse {
	if servesShareGroups(b) {
		return coordinateEach[*kmsg.DescribeShareGroupOffsetsResponse](b, r, req)
	}
	resp := kmsg.NewPtrDescribeShareGroupOffsetsResponse()
	for i := range req.Groups {
		g := kmsg.NewDescribeShareGroupOffsetsResponseGroup()
		g.GroupID, g.ErrorCode = req.Groups[i].GroupID, unsupportedVersion
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
