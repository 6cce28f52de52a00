package acl

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// Rules are what of the configuration an Authorizer follows.
type Rules struct {
	// SuperUsers are principals ("User:admin") that may do everything.
	SuperUsers []string
	// AllowEveryone says that what no ACL is about is everybody's (allow.everyone.if.no.acl.found).
	AllowEveryone bool
}

// Client is who wants to do something: a principal ("User:alice"), and the address that it comes from, as Host gives it.
type Client struct{ Principal, Host string }

// Host is the form of an address in which hosts are compared; other texts stay as they are.
func Host(address string) string {
	if address == image.ACLWildcard {
		return address
	}
	if a, err := netip.ParseAddr(address); err == nil {
		return a.Unmap().String()
	}
	return address
}

// Authorizer decides for one moment of the metadata. It never changes; all methods may be called from anywhere at any time.
type Authorizer struct {
	superUsers map[string]struct{}
	fallback   bool // the decision about what no ACL is about
	kinds      [image.ACLResourceUser + 1]kind
}

// kind is the ACLs of one kind of resources, by the resource that they are about.
type kind struct {
	literal  map[string][]entry
	wildcard []entry
	prefixed map[string][]entry
	lengths  []int // that prefixes have, in order
}

// entry is an ACL without its resource.
type entry struct {
	principal, host string
	operation       image.ACLOperation
	permission      image.ACLPermission
}

// Authorizer makes the index over ACLs.
func (r Rules) Authorizer(acls map[wire.UUID]image.ACL) *Authorizer {
	a := &Authorizer{superUsers: make(map[string]struct{}, len(r.SuperUsers)), fallback: r.AllowEveryone}
	for _, name := range r.SuperUsers {
		a.superUsers[name] = struct{}{}
	}
	for _, one := range acls {
		a.kinds[one.ResourceType].add(&one)
	}
	for i := range a.kinds {
		a.kinds[i].measure()
	}
	return a
}

func (k *kind) add(a *image.ACL) {
	e := entry{a.Principal, Host(a.Host), a.Operation, a.Permission}
	switch {
	case a.PatternType == image.ACLPatternPrefixed:
		k.prefixed = with(k.prefixed, a.ResourceName, e)
	case a.ResourceName == image.ACLWildcard:
		k.wildcard = append(k.wildcard, e)
	default:
		k.literal = with(k.literal, a.ResourceName, e)
	}
}

func with(entries map[string][]entry, name string, e entry) map[string][]entry {
	if entries == nil {
		entries = make(map[string][]entry)
	}
	entries[name] = append(entries[name], e)
	return entries
}

func (k *kind) measure() {
	lengths := make(map[int]struct{})
	for prefix := range k.prefixed {
		lengths[len(prefix)] = struct{}{}
	}
	k.lengths = slices.Sorted(maps.Keys(lengths))
}

// Super reports whether a principal is a super user.
func (a *Authorizer) Super(principal string) bool {
	_, super := a.superUsers[principal]
	return super
}

// Allows decides whether a client may do something with a resource.
func (a *Authorizer) Allows(c Client, op image.ACLOperation, t image.ACLResourceType, name string) bool {
	if a.Super(c.Principal) {
		return true
	}
	k, v := &a.kinds[t], verdict{client: c, operation: op}
	v.hear(k.wildcard)
	v.hear(k.literal[name])
	for _, n := range k.lengths {
		if n > len(name) {
			break
		}
		v.hear(k.prefixed[name[:n]])
	}
	switch {
	case v.denied:
		return false
	case v.allowed:
		return true
	}
	return !v.any && a.fallback
}

// verdict gathers what ACLs say.
type verdict struct {
	client               Client
	operation            image.ACLOperation
	any, allowed, denied bool
}

func (v *verdict) hear(entries []entry) {
	v.any = v.any || len(entries) > 0
	for i := range entries {
		e := &entries[i]
		if !e.about(v.client) {
			continue
		}
		if e.permission == image.ACLDeny {
			v.denied = v.denied || e.operation == v.operation || e.operation == image.ACLOperationAll
		} else {
			v.allowed = v.allowed || implies(e.operation, v.operation)
		}
	}
}

func (e *entry) about(c Client) bool {
	return (e.principal == image.ACLWildcardPrincipal || e.principal == c.Principal) && (e.host == image.ACLWildcard || e.host == c.Host)
}

// implies reports whether who is allowed one operation may do another.
func implies(allowed, wanted image.ACLOperation) bool {
	switch {
	case allowed == wanted || allowed == image.ACLOperationAll:
		return true
	case wanted == image.ACLOperationDescribe:
		return allowed == image.ACLOperationRead || allowed == image.ACLOperationWrite || allowed == image.ACLOperationDelete || allowed == image.ACLOperationAlter
	case wanted == image.ACLOperationDescribeConfigs:
		return allowed == image.ACLOperationAlterConfigs
	}
	return false
}

// AllowsSome decides whether there may be a resource of a kind with which a client may do something
// (Authorizer.authorizeByResourceType of KIP-679): one that an ACL allows, and that no ACL with a name as long or shorter denies.
func (a *Authorizer) AllowsSome(c Client, op image.ACLOperation, t image.ACLResourceType) bool {
	k := &a.kinds[t]
	switch {
	case a.Allows(c, op, t, someName):
		return true
	case says(k.wildcard, c, op, image.ACLDeny):
		return false
	case says(k.wildcard, c, op, image.ACLAllow):
		return true
	}
	for name, entries := range k.literal {
		if says(entries, c, op, image.ACLAllow) && !says(entries, c, op, image.ACLDeny) && !k.prefixDenied(c, op, name) {
			return true
		}
	}
	for prefix, entries := range k.prefixed {
		if says(entries, c, op, image.ACLAllow) && !k.prefixDenied(c, op, prefix) {
			return true
		}
	}
	return false
}

// someName is the name of no resource in particular, the one that Kafka asks about.
const someName = "hardcode"

// says reports whether one of entries is about a client and just that operation, or all, and allows or denies it.
func says(entries []entry, c Client, op image.ACLOperation, permission image.ACLPermission) bool {
	return slices.ContainsFunc(entries, func(e entry) bool {
		return e.permission == permission && (e.operation == op || e.operation == image.ACLOperationAll) && e.about(c)
	})
}

// prefixDenied reports whether all that begins as name does is denied.
func (k *kind) prefixDenied(c Client, op image.ACLOperation, name string) bool {
	for _, n := range k.lengths {
		if n > len(name) {
			break
		}
		if says(k.prefixed[name[:n]], c, op, image.ACLDeny) {
			return true
		}
	}
	return false
}

// operations are those that a kind of resource has (AclEntry.supportedOperations).
var operations = map[image.ACLResourceType][]image.ACLOperation{
	image.ACLResourceTopic: {image.ACLOperationRead, image.ACLOperationWrite, image.ACLOperationCreate, image.ACLOperationDescribe, image.ACLOperationDelete,
		image.ACLOperationAlter, image.ACLOperationDescribeConfigs, image.ACLOperationAlterConfigs},
	image.ACLResourceGroup: {image.ACLOperationRead, image.ACLOperationDescribe, image.ACLOperationDelete, image.ACLOperationDescribeConfigs, image.ACLOperationAlterConfigs},
	image.ACLResourceCluster: {image.ACLOperationCreate, image.ACLOperationClusterAction, image.ACLOperationDescribeConfigs, image.ACLOperationAlterConfigs,
		image.ACLOperationIdempotentWrite, image.ACLOperationAlter, image.ACLOperationDescribe},
	image.ACLResourceTransactionalID: {image.ACLOperationDescribe, image.ACLOperationWrite, image.ACLOperationTwoPhaseCommit},
	image.ACLResourceDelegationToken: {image.ACLOperationDescribe},
	image.ACLResourceUser:            {image.ACLOperationCreateTokens, image.ACLOperationDescribeTokens},
}

// Operations are those that a kind of resource has, without the one that stands for all. An ACL of another is never asked for.
func Operations(t image.ACLResourceType) []image.ACLOperation { return slices.Clone(operations[t]) }

// Allowed are the operations of a resource that a client may do, each a bit (KIP-430).
func (a *Authorizer) Allowed(c Client, t image.ACLResourceType, name string) (bits int32) {
	for _, op := range operations[t] {
		if a.Allows(c, op, t, name) {
			bits |= 1 << op
		}
	}
	return bits
}
