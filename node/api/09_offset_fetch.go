package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var offsetFetchRow = row{key: wire.KeyOffsetFetch, min: 1, max: 9, handle: on(offsetFetch)}

// offsetFetchManyFrom is the first version that asks for several groups at once (KIP-709).
const offsetFetchManyFrom = 8

func offsetFetch(b Broker, r *Request, req *kmsg.OffsetFetchRequest) *kmsg.OffsetFetchResponse {
	if req.Version < offsetFetchManyFrom {
		return b.Coordinate(req.Group, r.Client, req).(*kmsg.OffsetFetchResponse)
	}
	req.Groups = wholeGroupsOnce(req.Groups)
	return coordinateEach[*kmsg.OffsetFetchResponse](b, r, req)
}

// wholeGroupsOnce drops repetitions of a group whose every offset is asked for: a short request must not have a long
// answer repeated. Kafka answers each.
func wholeGroupsOnce(groups []kmsg.OffsetFetchRequestGroup) []kmsg.OffsetFetchRequestGroup {
	seen := make(map[string]struct{})
	kept := groups[:0]
	for _, g := range groups {
		if g.Topics == nil {
			if _, again := seen[g.Group]; again {
				continue
			}
			seen[g.Group] = struct{}{}
		}
		kept = append(kept, g)
	}
	return kept
}
