package acl

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// plainly decides by looking at every ACL, as the rules read.
func plainly(r Rules, acls map[wire.UUID]image.ACL, c Client, op image.ACLOperation, t image.ACLResourceType, name string) bool {
	for _, s := range r.SuperUsers {
		if s == c.Principal {
			return true
		}
	}
	about, allowed, denied := false, false, false
	for _, a := range acls {
		literal := a.PatternType == image.ACLPatternLiteral
		if a.ResourceType != t || !(literal && (a.ResourceName == name || a.ResourceName == "*") || !literal && strings.HasPrefix(name, a.ResourceName)) {
			continue
		}
		about = true
		if a.Principal != c.Principal && a.Principal != "User:*" || a.Host != c.Host && a.Host != "*" {
			continue
		}
		same := a.Operation == op || a.Operation == image.ACLOperationAll
		switch {
		case a.Permission == image.ACLDeny:
			denied = denied || same
		case same,
			op == image.ACLOperationDescribe && a.Operation >= image.ACLOperationRead && a.Operation <= image.ACLOperationAlter && a.Operation != image.ACLOperationCreate,
			op == image.ACLOperationDescribeConfigs && a.Operation == image.ACLOperationAlterConfigs:
			allowed = true
		}
	}
	return !denied && (allowed || !about && r.AllowEveryone)
}

func TestDecisionsAreThoseOfEveryACL(t *testing.T) {
	names := []string{"a", "ab", "abc", "b", "*", "*a", ""}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(from ...string) string { return from[r.IntN(len(from))] }
		rules := Rules{AllowEveryone: r.IntN(2) == 0}
		if r.IntN(4) == 0 {
			rules.SuperUsers = []string{"User:s"}
		}
		acls := map[wire.UUID]image.ACL{}
		for i := range r.IntN(30) {
			acls[wire.UUID{byte(i + 1)}] = image.ACL{
				ResourceType: image.ACLResourceTopic + image.ACLResourceType(r.IntN(2)), ResourceName: pick(names[:6]...),
				PatternType: image.ACLPatternLiteral + image.ACLPatternType(r.IntN(2)), Principal: pick("User:a", "User:b", "User:*"),
				Host: pick("*", "1.1.1.1"), Operation: image.ACLOperationAll + image.ACLOperation(r.IntN(11)), Permission: image.ACLDeny + image.ACLPermission(r.IntN(2)),
			}
		}
		index := rules.Authorizer(acls)
		for range 200 {
			c := Client{pick("User:a", "User:b", "User:s"), pick("1.1.1.1", "2.2.2.2")}
			op, kind, name := image.ACLOperationRead+image.ACLOperation(r.IntN(10)), image.ACLResourceTopic+image.ACLResourceType(r.IntN(2)), pick(names...)
			if got, want := index.Allows(c, op, kind, name), plainly(rules, acls, c, op, kind, name); got != want {
				t.Fatalf("seed %d: %+v may %d on %d %q: %v, want %v\n%+v", seed, c, op, kind, name, got, want, acls)
			}
		}
	}
}

func TestFiltersPickWhatTheyName(t *testing.T) {
	name := "abc"
	acls := map[wire.UUID]image.ACL{}
	for i, line := range []string{
		"TOPIC LITERAL abc User:a * READ ALLOW", "TOPIC LITERAL * User:a * READ ALLOW", "TOPIC PREFIXED ab User:a * READ DENY",
		"TOPIC PREFIXED abcd User:a * READ ALLOW", "GROUP LITERAL abc User:b 1.1.1.1 ALL ALLOW",
	} {
		acls[wire.UUID{byte(i + 1)}] = aclOf(t, line)
	}
	for pattern, want := range map[image.ACLPatternType]string{
		image.ACLPatternAny: "abc abc", image.ACLPatternLiteral: "abc abc", image.ACLPatternPrefixed: "", image.ACLPatternMatch: "* ab abc abc",
	} {
		f := Filter{ResourceType: image.ACLResourceAny, ResourceName: &name, PatternType: pattern, Operation: image.ACLOperationAny, Permission: image.ACLPermissionAny}
		var got []string
		for _, a := range f.Select(acls) {
			got = append(got, a.ResourceName)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("pattern type %d picks %q, want %q", pattern, got, want)
		}
	}
	for _, f := range []Filter{
		{},
		{ResourceType: 8, PatternType: image.ACLPatternAny, Operation: image.ACLOperationAny, Permission: image.ACLPermissionAny},
		{ResourceType: image.ACLResourceAny, PatternType: 5, Operation: image.ACLOperationAny, Permission: image.ACLPermissionAny},
		{ResourceType: image.ACLResourceAny, PatternType: image.ACLPatternAny, Operation: 16, Permission: image.ACLPermissionAny},
		{ResourceType: image.ACLResourceAny, PatternType: image.ACLPatternAny, Operation: image.ACLOperationAny, Permission: 4},
	} {
		if f.Valid() {
			t.Errorf("%+v is taken for valid", f)
		}
	}
}

// many gives so many ACLs: of users for topics of their own, and by prefix.
func many(n int) map[wire.UUID]image.ACL {
	acls := make(map[wire.UUID]image.ACL, n)
	for i := range n {
		a := image.ACL{
			ResourceType: image.ACLResourceTopic, ResourceName: fmt.Sprintf("topic-%06d", i), PatternType: image.ACLPatternLiteral,
			Principal: fmt.Sprintf("User:%d", i%1000), Host: "*", Operation: image.ACLOperationWrite, Permission: image.ACLAllow,
		}
		if i%10 == 0 {
			a.PatternType, a.ResourceName = image.ACLPatternPrefixed, fmt.Sprintf("team-%d-", i)
		}
		acls[wire.UUID{byte(i), byte(i >> 8), byte(i >> 16), 1}] = a
	}
	return acls
}

// BenchmarkAllows is one decision, among so many ACLs.
func BenchmarkAllows(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprintf("acls=%d", n), func(b *testing.B) {
			a, c := Rules{}.Authorizer(many(n)), Client{"User:7", "10.0.0.1"}
			b.ReportAllocs()
			for b.Loop() {
				if !a.Allows(c, image.ACLOperationWrite, image.ACLResourceTopic, "topic-000007") {
					b.Fatal("denied")
				}
			}
		})
	}
}

// BenchmarkAuthorizer is the making of an index.
func BenchmarkAuthorizer(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprintf("acls=%d", n), func(b *testing.B) {
			acls := many(n)
			for b.Loop() {
				Rules{}.Authorizer(acls)
			}
		})
	}
}
