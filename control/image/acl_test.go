package image

import (
	"errors"
	"fmt"
	"testing"
)

// someACL lets alice read the topics whose names begin with "logs-".
var someACL = ACL{ACLResourceTopic, "logs-", ACLPatternPrefixed, "User:alice", "*", ACLOperationRead, ACLAllow}

// acl makes an ACL of a few, or takes one away that is there.
func (h *history) acl() Record {
	n := h.IntN(4)
	if _, there := h.image.ACLs()[id(n+1)]; there {
		return RemoveAccessControlEntryRecord{id(n + 1)}
	}
	a := someACL
	a.Principal, a.Operation = fmt.Sprintf("User:%d <&>", n), ACLOperationRead+ACLOperation(h.IntN(3))
	return AccessControlEntryRecord{id(n + 1), a}
}

func TestACLsAreChecked(t *testing.T) {
	m := must(new(Image).With(AccessControlEntryRecord{id(1), someACL}))
	for name, c := range map[string]struct {
		change func(*ACL)
		err    error
	}{
		"the same again":       {func(*ACL) {}, ErrACLExists},
		"no name":              {func(a *ACL) { a.ResourceName = "" }, ErrACL},
		"any resource":         {func(a *ACL) { a.ResourceType = ACLResourceAny }, ErrACL},
		"an unknown resource":  {func(a *ACL) { a.ResourceType = 8 }, ErrACL},
		"a pattern of filters": {func(a *ACL) { a.PatternType = ACLPatternMatch }, ErrACL},
		"any operation":        {func(a *ACL) { a.Operation = ACLOperationAny }, ErrACL},
		"an unknown operation": {func(a *ACL) { a.Operation = 16 }, ErrACL},
		"any permission":       {func(a *ACL) { a.Permission = ACLPermissionAny }, ErrACL},
		"a broken name":        {func(a *ACL) { a.ResourceName = "\xff" }, ErrNotUTF8},
		"a broken principal":   {func(a *ACL) { a.Principal = "\xff" }, ErrNotUTF8},
		"a broken host":        {func(a *ACL) { a.Host = "\xff" }, ErrNotUTF8},
		"another operation":    {func(a *ACL) { a.Operation = ACLOperationAll }, nil},
		"a denial":             {func(a *ACL) { a.Permission = ACLDeny }, nil},
		"of a user":            {func(a *ACL) { a.ResourceType, a.PatternType = ACLResourceUser, ACLPatternLiteral }, nil},
	} {
		a := someACL
		c.change(&a)
		if _, err := m.With(AccessControlEntryRecord{id(2), a}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
	if _, err := m.With(AccessControlEntryRecord{id(1), ACL{ACLResourceGroup, "g", ACLPatternLiteral, "User:a", "*", ACLOperationRead, ACLAllow}}); !errors.Is(err, ErrACLExists) {
		t.Errorf("an id again: %v", err)
	}
}

func TestACLsLeaveOldImagesAlone(t *testing.T) {
	one := must(new(Image).With(AccessControlEntryRecord{id(1), someACL}))
	two := must(one.With(RemoveAccessControlEntryRecord{id(1)}))
	three := must(two.With(topic("t", 1)))
	if _, found := one.ACLID(someACL); !found || len(one.ACLs()) != 1 || len(two.ACLs()) != 0 {
		t.Errorf("first image has %d ACLs, second %d", len(one.ACLs()), len(two.ACLs()))
	}
	if SameACLs(one, two) || !SameACLs(two, three) {
		t.Error("which images have the same ACLs is not told")
	}
}
