package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/acl"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var deleteACLsRow = row{key: wire.KeyDeleteACLs, min: 1, max: 3, handle: on(deleteACLs), authorize: inCluster(alterCluster, refusedACLDeletions)}

// deleteACLs takes away what the filters pick, and tells it of each: an ACL that several pick is told of as often.
func deleteACLs(b Broker, _ *Request, req *kmsg.DeleteACLsRequest) *kmsg.DeleteACLsResponse {
	if b.Authorizer() == nil {
		return answeredACLDeletions(req, noAuthorizer)
	}
	resp := kmsg.NewPtrDeleteACLsResponse()
	tooMany := false
	code, message := b.ChangeMetadata(func(m *image.Image) []image.Record {
		resp.Results = make([]kmsg.DeleteACLsResponseResult, len(req.Filters))
		picked := make(map[wire.UUID]bool)
		var records []image.Record
		for i := range req.Filters {
			for _, a := range pickACLs(&resp.Results[i], &req.Filters[i], m) {
				if !picked[a.ID] {
					picked[a.ID] = true
					records = append(records, image.RemoveAccessControlEntryRecord{ID: a.ID})
				}
			}
		}
		if tooMany = len(records) > aclChangesMax; tooMany {
			return nil
		}
		return records
	})
	switch {
	case code != wire.None:
		return answeredACLDeletions(req, refusal{code, message})
	case tooMany:
		return answeredACLDeletions(req, tooManyACLs)
	}
	return resp
}

// pickACLs answers one filter.
func pickACLs(out *kmsg.DeleteACLsResponseResult, f *kmsg.DeleteACLsRequestFilter, m *image.Image) []image.AccessControlEntryRecord {
	out.Default()
	filter := acl.Filter{
		ResourceType: image.ACLResourceType(f.ResourceType), ResourceName: f.ResourceName, PatternType: image.ACLPatternType(f.ResourcePatternType),
		Principal: f.Principal, Host: f.Host, Operation: image.ACLOperation(f.Operation), Permission: image.ACLPermission(f.PermissionType),
	}
	if !filter.Valid() {
		out.ErrorCode, out.ErrorMessage = int16(unknownFilter.code), unknownFilter.text()
		return nil
	}
	all := filter.Select(m.ACLs())
	for _, a := range all {
		told := kmsg.NewDeleteACLsResponseResultMatchingACL()
		told.ResourceType, told.ResourceName = kmsg.ACLResourceType(a.ResourceType), a.ResourceName
		told.ResourcePatternType = kmsg.ACLResourcePatternType(a.PatternType)
		told.Principal, told.Host = a.Principal, a.Host
		told.Operation, told.PermissionType = kmsg.ACLOperation(a.Operation), kmsg.ACLPermissionType(a.Permission)
		out.MatchingACLs = append(out.MatchingACLs, told)
	}
	return all
}

func answeredACLDeletions(req *kmsg.DeleteACLsRequest, why refusal) *kmsg.DeleteACLsResponse {
	resp := kmsg.NewPtrDeleteACLsResponse()
	for range req.Filters {
		out := kmsg.NewDeleteACLsResponseResult()
		out.ErrorCode, out.ErrorMessage = int16(why.code), why.text()
		resp.Results = append(resp.Results, out)
	}
	return resp
}

func refusedACLDeletions(req *kmsg.DeleteACLsRequest, why refusal) kmsg.Response {
	return answeredACLDeletions(req, why)
}
