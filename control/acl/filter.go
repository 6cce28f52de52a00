package acl

import (
	"slices"
	"strings"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// Filter picks ACLs (org.apache.kafka.common.acl.AclBindingFilter). A nil text is any.
type Filter struct {
	ResourceType    image.ACLResourceType
	ResourceName    *string
	PatternType     image.ACLPatternType
	Principal, Host *string
	Operation       image.ACLOperation
	Permission      image.ACLPermission
}

// Valid reports whether all of the filter is known.
func (f *Filter) Valid() bool {
	return (f.ResourceType == image.ACLResourceAny || f.ResourceType.Known()) &&
		f.PatternType >= image.ACLPatternAny && f.PatternType <= image.ACLPatternPrefixed &&
		(f.Operation == image.ACLOperationAny || f.Operation.Known()) &&
		f.Permission >= image.ACLPermissionAny && f.Permission <= image.ACLAllow
}

// Matches reports whether the filter picks an ACL.
func (f *Filter) Matches(a *image.ACL) bool {
	return (f.ResourceType == image.ACLResourceAny || f.ResourceType == a.ResourceType) && f.matchesPattern(a) &&
		(f.Principal == nil || *f.Principal == a.Principal) && (f.Host == nil || *f.Host == a.Host) &&
		(f.Operation == image.ACLOperationAny || f.Operation == a.Operation) && (f.Permission == image.ACLPermissionAny || f.Permission == a.Permission)
}

// matchesPattern: a pattern type picks patterns by their own names, but for "match", which picks those that are about the resource of
// that name.
func (f *Filter) matchesPattern(a *image.ACL) bool {
	switch {
	case f.PatternType == image.ACLPatternMatch && f.ResourceName != nil && a.PatternType == image.ACLPatternPrefixed:
		return strings.HasPrefix(*f.ResourceName, a.ResourceName)
	case f.PatternType == image.ACLPatternMatch && f.ResourceName != nil:
		return *f.ResourceName == a.ResourceName || a.ResourceName == image.ACLWildcard
	case f.PatternType != image.ACLPatternAny && f.PatternType != image.ACLPatternMatch && f.PatternType != a.PatternType:
		return false
	}
	return f.ResourceName == nil || *f.ResourceName == a.ResourceName
}

// Select gives the ACLs that the filter picks, in the order of image.CompareACLs.
func (f *Filter) Select(acls map[wire.UUID]image.ACL) (picked []image.AccessControlEntryRecord) {
	for id, a := range acls {
		if f.Matches(&a) {
			picked = append(picked, image.AccessControlEntryRecord{ID: id, ACL: a})
		}
	}
	slices.SortFunc(picked, func(a, b image.AccessControlEntryRecord) int { return image.CompareACLs(a.ACL, b.ACL) })
	return picked
}
