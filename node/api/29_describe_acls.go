package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var describeACLsRow = row{key: wire.KeyDescribeACLs, min: 1, max: 3, handle: on(describeACLs), authorize: inCluster(describeClusterNeed, refusedWhole)}

// describeACLs lists the ACLs that a filter picks, those of one pattern together. Tools ask in this way whether there is an authorizer.
func describeACLs(b Broker, _ *Request, req *kmsg.DescribeACLsRequest) *kmsg.DescribeACLsResponse {
	resp := kmsg.NewPtrDescribeACLsResponse()
	resp.ErrorMessage = kmsg.StringPtr("") // as Kafka says that all is well
	filter := acl.Filter{
		ResourceType: image.ACLResourceType(req.ResourceType), ResourceName: req.ResourceName, PatternType: image.ACLPatternType(req.ResourcePatternType),
		Principal: req.Principal, Host: req.Host, Operation: image.ACLOperation(req.Operation), Permission: image.ACLPermission(req.PermissionType),
	}
	var why refusal
	switch {
	case b.Authorizer() == nil:
		why = refuse(wire.SecurityDisabled, "No Authorizer is configured on the broker")
	case !filter.Valid():
		why = unknownFilter
	}
	if why.code != wire.None {
		resp.ErrorCode, resp.ErrorMessage = int16(why.code), why.text()
		return resp
	}
	for _, a := range filter.Select(b.Image().ACLs()) {
		last := len(resp.Resources) - 1
		if last < 0 || !samePattern(&resp.Resources[last], &a.ACL) {
			out := kmsg.NewDescribeACLsResponseResource()
			out.ResourceType, out.ResourceName = kmsg.ACLResourceType(a.ResourceType), a.ResourceName
			out.ResourcePatternType = kmsg.ACLResourcePatternType(a.PatternType)
			resp.Resources = append(resp.Resources, out)
			last++
		}
		out := kmsg.NewDescribeACLsResponseResourceACL()
		out.Principal, out.Host = a.Principal, a.Host
		out.Operation, out.PermissionType = kmsg.ACLOperation(a.Operation), kmsg.ACLPermissionType(a.Permission)
		resp.Resources[last].ACLs = append(resp.Resources[last].ACLs, out)
	}
	return resp
}

// unknownFilter is the refusal of a filter that says what is not known, which costs Kafka's clients their connection.
var unknownFilter = refusal{wire.InvalidRequest, "The filter contains unknown elements."}

func samePattern(r *kmsg.DescribeACLsResponseResource, a *image.ACL) bool {
	return image.ACLResourceType(r.ResourceType) == a.ResourceType && r.ResourceName == a.ResourceName && image.ACLPatternType(r.ResourcePatternType) == a.PatternType
}
