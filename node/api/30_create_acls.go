package api

import (
	"strings"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var createACLsRow = row{key: wire.KeyCreateACLs, min: 1, max: 3, handle: on(createACLs), authorize: inCluster(alterCluster, refusedACLs)}

// noAuthorizer is the refusal of a changed ACL.
var noAuthorizer = refusal{wire.SecurityDisabled, "No Authorizer is configured."}

// aclChangesMax bounds the ACLs that one request makes or takes away: Kafka's largest change of its metadata.
const aclChangesMax = 10_000

var tooManyACLs = refusal{wire.PolicyViolation, "Unable to perform excessively large batch operation."}

// createACLs makes those ACLs that are not there yet. What is wrong with one does not keep the others from being made.
func createACLs(b Broker, _ *Request, req *kmsg.CreateACLsRequest) *kmsg.CreateACLsResponse {
	switch {
	case b.Authorizer() == nil:
		return answeredACLs(req, func(int) refusal { return noAuthorizer })
	case len(req.Creations) > aclChangesMax:
		return answeredACLs(req, func(int) refusal { return tooManyACLs })
	}
	whys := make([]refusal, len(req.Creations))
	for i := range req.Creations {
		whys[i] = checkACL(aclOf(&req.Creations[i]))
	}
	code, message := b.ChangeMetadata(func(m *image.Image) (records []image.Record) {
		made := make(map[image.ACL]bool, len(req.Creations))
		for i := range req.Creations {
			a := aclOf(&req.Creations[i])
			if _, there := m.ACLID(a); whys[i].code == wire.None && !there && !made[a] {
				made[a] = true
				records = append(records, image.AccessControlEntryRecord{ID: b.NewTopicID(), ACL: a})
			}
		}
		return records
	})
	return answeredACLs(req, func(i int) refusal {
		if whys[i].code == wire.None {
			return refusal{code, message}
		}
		return whys[i]
	})
}

func answeredACLs(req *kmsg.CreateACLsRequest, why func(creation int) refusal) *kmsg.CreateACLsResponse {
	resp := kmsg.NewPtrCreateACLsResponse()
	for i := range req.Creations {
		out := kmsg.NewCreateACLsResponseResult()
		out.ErrorCode, out.ErrorMessage = int16(why(i).code), why(i).text()
		if out.ErrorCode == 0 {
			out.ErrorMessage = kmsg.StringPtr("") // as Kafka says that all is well
		}
		resp.Results = append(resp.Results, out)
	}
	return resp
}

func refusedACLs(req *kmsg.CreateACLsRequest, why refusal) kmsg.Response {
	return answeredACLs(req, func(int) refusal { return why })
}

func aclOf(c *kmsg.CreateACLsRequestCreation) image.ACL {
	return image.ACL{
		ResourceType: image.ACLResourceType(c.ResourceType), ResourceName: c.ResourceName, PatternType: image.ACLPatternType(c.ResourcePatternType),
		Principal: c.Principal, Host: c.Host, Operation: image.ACLOperation(c.Operation), Permission: image.ACLPermission(c.PermissionType),
	}
}

// checkACL judges a new ACL in Kafka's words, and order (AclApis.handleCreateAcls, AclControlManager.validateNewAcl).
func checkACL(a image.ACL) refusal {
	switch {
	case a.ResourceType == image.ACLResourceCluster && a.ResourceName != image.ACLClusterName:
		return refuse(wire.InvalidRequest, "The only valid name for the CLUSTER resource is %s", image.ACLClusterName)
	case a.ResourceName == "":
		return refuse(wire.InvalidRequest, "Invalid empty resource name")
	case !a.ResourceType.Known():
		return refuse(wire.InvalidRequest, "Invalid resourceType %s", kmsg.ACLResourceType(a.ResourceType))
	case a.PatternType != image.ACLPatternLiteral && a.PatternType != image.ACLPatternPrefixed:
		return refuse(wire.InvalidRequest, "Invalid patternType %s", kmsg.ACLResourcePatternType(a.PatternType))
	case !a.Operation.Known():
		return refuse(wire.InvalidRequest, "Invalid operation %s", kmsg.ACLOperation(a.Operation))
	case a.Permission != image.ACLDeny && a.Permission != image.ACLAllow:
		return refuse(wire.InvalidRequest, "Invalid permissionType %s", kmsg.ACLPermissionType(a.Permission))
	case !strings.Contains(a.Principal, ":"):
		return refuse(wire.InvalidRequest, "Could not parse principal from `%s` (no colon is present separating the principal type from the principal name)", a.Principal)
	case !utf8.ValidString(a.ResourceName) || !utf8.ValidString(a.Principal) || !utf8.ValidString(a.Host):
		return refuse(wire.InvalidRequest, "Names must be UTF-8")
	}
	return refusal{}
}
