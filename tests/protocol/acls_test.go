package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// aclWords reads "TYPE PATTERN NAME PRINCIPAL HOST OPERATION PERMISSION" as Kafka's tools write them; a number stands for itself, * of a
// name or host is a literal one.
func aclWords(t *testing.T, words string) (a kmsg.CreateACLsRequestCreation) {
	t.Helper()
	w := strings.Fields(words)
	if len(w) != 7 {
		t.Fatalf("%q is no ACL", words)
	}
	set := func(word string, number any, known error) {
		if known == nil {
			return
		}
		if _, err := fmt.Sscan(word, number); err != nil {
			t.Fatalf("%q of %q", word, words)
		}
	}
	var err error
	a.ResourceType, err = kmsg.ParseACLResourceType(w[0])
	set(w[0], (*int8)(&a.ResourceType), err)
	a.ResourcePatternType, err = kmsg.ParseACLResourcePatternType(w[1])
	set(w[1], (*int8)(&a.ResourcePatternType), err)
	a.ResourceName, a.Principal, a.Host = strings.Trim(w[2], `"`), strings.Trim(w[3], `"`), strings.Trim(w[4], `"`)
	a.Operation, err = kmsg.ParseACLOperation(w[5])
	set(w[5], (*int8)(&a.Operation), err)
	a.PermissionType, err = kmsg.ParseACLPermissionType(w[6])
	set(w[6], (*int8)(&a.PermissionType), err)
	return a
}

func aclText(rt kmsg.ACLResourceType, pt kmsg.ACLResourcePatternType, name, principal, host string, op kmsg.ACLOperation, permission kmsg.ACLPermissionType) string {
	return fmt.Sprintf("%s %s %s %s %s %s %s", rt, pt, name, principal, host, op, permission)
}

// created gives "CODE MESSAGE" of each.
func (c *conn) created(acls ...string) string {
	c.t.Helper()
	req := &kmsg.CreateACLsRequest{}
	for _, words := range acls {
		req.Creations = append(req.Creations, aclWords(c.t, words))
	}
	var out []string
	for _, r := range ask[*kmsg.CreateACLsResponse](c, 3, req).Results {
		out = append(out, strings.TrimSpace(strings.TrimSuffix(fmt.Sprintf("%d %s", r.ErrorCode, text(r.ErrorMessage)), "<null>")))
	}
	return strings.Join(out, "; ")
}

// filterOf reads words as aclWords does; "any" of a text is null.
func filterOf(t *testing.T, words string) kmsg.DeleteACLsRequestFilter {
	t.Helper()
	a := aclWords(t, words)
	f := kmsg.NewDeleteACLsRequestFilter()
	f.ResourceType, f.ResourcePatternType, f.Operation, f.PermissionType = a.ResourceType, a.ResourcePatternType, a.Operation, a.PermissionType
	for to, word := range map[**string]string{&f.ResourceName: a.ResourceName, &f.Principal: a.Principal, &f.Host: a.Host} {
		if word != "any" {
			*to = &word
		}
	}
	return f
}

// described gives the ACLs that a filter picks, in order.
func (c *conn) described(words string) string {
	c.t.Helper()
	f := filterOf(c.t, words)
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourceName, req.ResourcePatternType = f.ResourceType, f.ResourceName, f.ResourcePatternType
	req.Principal, req.Host, req.Operation, req.PermissionType = f.Principal, f.Host, f.Operation, f.PermissionType
	res := ask[*kmsg.DescribeACLsResponse](c, 3, req)
	if res.ErrorCode != 0 {
		return fmt.Sprintf("%d %s", res.ErrorCode, text(res.ErrorMessage))
	}
	var out []string
	for _, r := range res.Resources {
		for _, a := range r.ACLs {
			out = append(out, aclText(r.ResourceType, r.ResourcePatternType, r.ResourceName, a.Principal, a.Host, a.Operation, a.PermissionType))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// deleted gives what each filter took away, in order, or "CODE MESSAGE".
func (c *conn) deleted(filters ...string) string {
	c.t.Helper()
	req := &kmsg.DeleteACLsRequest{}
	for _, words := range filters {
		req.Filters = append(req.Filters, filterOf(c.t, words))
	}
	var out []string
	for _, r := range ask[*kmsg.DeleteACLsResponse](c, 3, req).Results {
		var of []string
		if r.ErrorCode != 0 {
			of = append(of, strings.TrimSpace(fmt.Sprintf("%d %s", r.ErrorCode, text(r.ErrorMessage))))
		}
		for _, a := range r.MatchingACLs {
			of = append(of, aclText(a.ResourceType, a.ResourcePatternType, a.ResourceName, a.Principal, a.Host, a.Operation, a.PermissionType))
		}
		slices.Sort(of)
		out = append(out, "["+strings.Join(of, "; ")+"]")
	}
	return strings.Join(out, " ")
}

// TestACLs makes ACLs, asks for them and takes them away.
func TestACLs(t *testing.T) {
	t.Parallel()
	node := authorized(t)
	c := dial(t, node)
	const unknownError = "the client is told what is wrong, and the other ACLs of its request are made"
	for _, row := range []struct{ acl, want string }{
		{"TOPIC LITERAL a User:u * READ ALLOW", "0"},
		{"TOPIC LITERAL a User:u * READ ALLOW", "0"},
		{"TOPIC LITERAL * User:u * WRITE DENY", "0"},
		{"TOPIC PREFIXED ab User:v 10.0.0.1 ALL ALLOW", "0"},
		{"GROUP LITERAL a User:* * DESCRIBE ALLOW", "0"},
		{"CLUSTER LITERAL kafka-cluster User:u * READ ALLOW", "0"}, // which there is no need of
		{"CLUSTER LITERAL other User:u * ALTER ALLOW", "42 The only valid name for the CLUSTER resource is kafka-cluster"},
		{`TOPIC LITERAL "" User:u * READ ALLOW`, "42 Invalid empty resource name"},
		{"ANY LITERAL a User:u * READ ALLOW", departure(node, "-1", "42 Invalid resourceType ANY", unknownError)},
		{"TOPIC ANY a User:u * READ ALLOW", departure(node, "-1", "42 Invalid patternType ANY", unknownError)},
		{"TOPIC MATCH a User:u * READ ALLOW", departure(node, "-1", "42 Invalid patternType MATCH", unknownError)},
		{"TOPIC LITERAL a User:u * ANY ALLOW", departure(node, "-1", "42 Invalid operation ANY", unknownError)},
		{"TOPIC LITERAL a User:u * READ ANY", departure(node, "-1", "42 Invalid permissionType ANY", unknownError)},
	} {
		want(t, row.acl, c.created(row.acl), row.want)
	}
	want(t, "several", c.created("TOPIC LITERAL b User:w * READ ALLOW", "CLUSTER LITERAL b User:w * READ ALLOW", "TOPIC LITERAL b User:w * READ ALLOW", "TOPIC LITERAL b User:w * WRITE ALLOW"),
		"0; 42 The only valid name for the CLUSTER resource is kafka-cluster; 0; 0")
	const au, all, prefixed, b1, b2 = "TOPIC LITERAL a User:u * READ ALLOW", "TOPIC LITERAL * User:u * WRITE DENY", "TOPIC PREFIXED ab User:v 10.0.0.1 ALL ALLOW",
		"TOPIC LITERAL b User:w * READ ALLOW", "TOPIC LITERAL b User:w * WRITE ALLOW"
	harness.Await(t, "the ACLs are known", func() bool { return c.described("TOPIC ANY b any any ANY ANY") == b1+"; "+b2 })
	for _, row := range []struct{ filter, want string }{
		{"TOPIC ANY a any any ANY ANY", au},
		{"TOPIC LITERAL a any any ANY ANY", au},
		{"TOPIC PREFIXED a any any ANY ANY", ""},
		{"TOPIC PREFIXED ab any any ANY ANY", prefixed},
		{"TOPIC MATCH abc any 10.0.0.1 ANY ANY", prefixed},
		{"TOPIC MATCH abc User:u any ANY ANY", all},
		{"TOPIC MATCH a User:u any ANY ANY", all + "; " + au},
		{"ANY ANY a any any ANY ANY", "GROUP LITERAL a User:* * DESCRIBE ALLOW; " + au},
		{"ANY ANY any User:w any WRITE ANY", b2},
		{"ANY ANY any User:w any ANY DENY", ""},
		{"TOPIC ANY any User:u any ANY DENY", all},
		{"ANY ANY any any 10.0.0.1 ANY ANY", prefixed},
		{"ANY LITERAL any User:w * ALL ANY", ""},
	} {
		want(t, row.filter, c.described(row.filter), row.want)
	}
	want(t, "what is not there", c.deleted("TOPIC ANY nothing any any ANY ANY"), "[]")
	want(t, "an ACL of two filters", c.deleted("TOPIC ANY b any any READ ANY", "TOPIC MATCH b User:w any ANY ANY"), "["+b1+"] ["+b1+"; "+b2+"]")
	harness.Await(t, "they are gone", func() bool { return c.described("TOPIC ANY b any any ANY ANY") == "" })
	want(t, "the rest of a user", c.deleted("ANY ANY any User:u any ANY ANY"), "[CLUSTER LITERAL kafka-cluster User:u * READ ALLOW; "+all+"; "+au+"]")
	for acl, answer := range map[string]string{
		"TOPIC LITERAL p User: * READ ALLOW":   "0",
		"TOPIC LITERAL p :a * READ ALLOW":      "0",
		"TOPIC LITERAL p Group:g * READ ALLOW": "0",
		`TOPIC LITERAL p User:a "" READ ALLOW`: "0",
		"TOPIC LITERAL p alice * READ ALLOW":   "42 Could not parse principal from `alice` (no colon is present separating the principal type from the principal name)",
		`TOPIC LITERAL p "" * READ ALLOW`:      "42 Could not parse principal from `` (no colon is present separating the principal type from the principal name)",
	} {
		want(t, acl, c.created(acl), answer)
	}
}

// TestACLsDecide: what patterns, principals and hosts do, on topics that are produced to and fetched.
func TestACLsDecide(t *testing.T) {
	t.Parallel()
	node := authorized(t)
	admin := dial(t, node)
	visitor := guest(0)
	topics := map[string]string{}
	for _, name := range []string{"plain", "team-a", "team-ab", "team-b", "hidden"} {
		topics[name] = harness.Name(name)
		node.CreateNamedTopic(t, topics[name], 1)
		admin.mustProduce(topics[name], newBatch(record("v")))
	}
	allow := func(words string) {
		a := aclWords(t, words)
		if full := topics[a.ResourceName]; full != "" {
			a.ResourceName = full
		}
		admin.allow(a)
	}
	deny := func(words string) { admin.deleted(words); admin.settle() }
	c := dialFrom(t, node, visitor)
	// may gives what the visitor may do with a topic: p(roduce), f(etch), d(escribe)
	may := func(name string) (word string) {
		topic := topics[name]
		if ask[*kmsg.ProduceResponse](c, 9, produceRequest(topic, 0, newBatch(record("w")).bytes())).Topics[0].Partitions[0].ErrorCode == 0 {
			word += "p"
		}
		if ask[*kmsg.FetchResponse](c, 12, fetchRequest(topic, 0, 0)).Topics[0].Partitions[0].ErrorCode == 0 {
			word += "f"
		}
		if ask[*kmsg.MetadataResponse](c, 9, metadataRequest(topic)).Topics[0].ErrorCode == 0 {
			word += "d"
		}
		return word
	}
	all := func() string {
		return fmt.Sprintf("%s/%s/%s/%s/%s", may("plain"), may("team-a"), may("team-ab"), may("team-b"), may("hidden"))
	}
	want(t, "nothing is allowed", all(), "////")
	allow("TOPIC LITERAL plain User:ANONYMOUS " + visitor + " WRITE ALLOW")
	want(t, "one topic by its name", all(), "pd////")
	allow("TOPIC PREFIXED team-a User:ANONYMOUS * READ ALLOW")
	want(t, "topics by a prefix", all(), "pd/fd///")
	allow("TOPIC PREFIXED team- User:ANONYMOUS * READ ALLOW")
	want(t, "by a shorter one", all(), "pd/fd/fd/fd/")
	allow("TOPIC LITERAL team-ab User:* * ALL DENY")
	want(t, "everybody is denied one", all(), "pd/fd//fd/")
	allow("TOPIC LITERAL * User:* " + visitor + " DESCRIBE ALLOW")
	want(t, "all topics may be described", all(), "pd/fd//fd/d")
	allow("TOPIC PREFIXED team- User:ANONYMOUS " + visitor + " READ DENY")
	want(t, "a prefix is denied", all(), "pd/d//d/d")
	allow("TOPIC LITERAL plain User:other * DESCRIBE DENY")
	want(t, "another user is denied", all(), "pd/d//d/d")
	deny("TOPIC ANY any any " + visitor + " ANY ANY")
	want(t, "what spoke of the visitor's host is gone", all(), "/fd//fd/")
}

// TestFetchSessionsAreAuthorizedAnew: a topic that a session reads is refused with the next request of it, and given again.
func TestFetchSessionsAreAuthorizedAnew(t *testing.T) {
	t.Parallel()
	node := authorized(t)
	admin, topic := dial(t, node), node.CreateTopic(t, "session", 1)
	admin.mustProduce(topic, newBatch(record("v")))
	read := kmsg.CreateACLsRequestCreation{ResourceType: kmsg.ACLResourceTypeTopic, ResourceName: topic, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
		Principal: "User:*", Host: guest(0), Operation: kmsg.ACLOperationRead, PermissionType: kmsg.ACLPermissionTypeAllow}
	admin.allow(read)
	c := dialFrom(t, node, guest(0))
	req := fetchRequest(topic, 0, 0)
	req.SessionEpoch = 0
	res := ask[*kmsg.FetchResponse](c, 12, req)
	want(t, "read", res.Topics[0].Partitions[0].ErrorCode, 0)
	next := fetchRequest(topic, 0, 0)
	next.SessionID, next.SessionEpoch, next.Topics = res.SessionID, 0, nil
	again := func() string {
		next.SessionEpoch++
		res := ask[*kmsg.FetchResponse](c, 12, next)
		wantCode(t, "session", res.ErrorCode, nil)
		if len(res.Topics) == 0 {
			return "nothing new"
		}
		return codeName(res.Topics[0].Partitions[0].ErrorCode)
	}
	want(t, "read again", again(), "NONE")
	admin.deleted("TOPIC ANY " + topic + " any " + guest(0) + " ANY ANY")
	harness.Await(t, "it is refused", func() bool { return again() == "TOPIC_AUTHORIZATION_FAILED" })
	admin.allow(read)
	harness.Await(t, "it is given", func() bool { return again() == "NONE" })
	other := dialFrom(t, node, guest(1)) // who knows the number of a session may not read by it
	next.SessionEpoch++
	stolen := ask[*kmsg.FetchResponse](other, 12, next)
	want(t, "another's session", codeName(stolen.Topics[0].Partitions[0].ErrorCode), "TOPIC_AUTHORIZATION_FAILED")
}

// TestUnansweredRefusals are those that Apache Kafka never answers.
func TestUnansweredRefusals(t *testing.T) {
	t.Parallel()
	node := authorized(t)
	if node.IsKafka() {
		t.Skip("its answer to DescribeUserScramCredentials of all users fails where it is refused, and never comes")
	}
	res := ask[*kmsg.DescribeUserSCRAMCredentialsResponse](dialFrom(t, node, guest(0)), 0, scramRequest())
	wantCode(t, "DescribeUserScramCredentials", res.ErrorCode, kerr.ClusterAuthorizationFailed)
}

// TestACLsSurviveARestart: they are in the metadata, and in force before the first request.
func TestACLsSurviveARestart(t *testing.T) {
	t.Parallel()
	node := authorized(t)
	topic := node.CreateTopic(t, "kept", 1)
	node.Stop(t)
	node.Restart(t)
	refused := ask[*kmsg.MetadataResponse](dialFrom(t, node, guest(0)), 9, metadataRequest(topic)).Topics[0]
	want(t, "the guest", codeName(refused.ErrorCode), "TOPIC_AUTHORIZATION_FAILED")
	known := ask[*kmsg.MetadataResponse](dial(t, node), 9, metadataRequest(topic)).Topics[0]
	want(t, "the keeper", codeName(known.ErrorCode), "NONE")
}

// TestSuperUsers may do everything, whatever is denied.
func TestSuperUsers(t *testing.T) {
	t.Parallel()
	node := harness.Start(t, harness.Options{Properties: map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users": "User:nobody;User:ANONYMOUS",
	}})
	c := dial(t, node)
	want(t, "denied", c.created("TOPIC LITERAL * User:* * ALL DENY", "CLUSTER LITERAL kafka-cluster User:* * ALL DENY"), "0; 0")
	topic := node.CreateTopic(t, "super", 1)
	c.mustProduce(topic, newBatch(record("v")))
}
