package protocol

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// Without authentication everybody is User:ANONYMOUS, so that the tests tell clients apart by the address that they come from: those
// from keeper's may do everything, those from a guest's what the ACLs for it say.
const keeper = "127.0.0.1"

// guest is one of many.
func guest(n int) string { return fmt.Sprintf("127.0.0.%d", n+2) }

// authorized starts a node with an authorizer.
func authorized(t *testing.T) *harness.Node {
	t.Helper()
	node := harness.Start(t, harness.Options{Properties: map[string]string{
		"authorizer.class.name":                            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"allow.everyone.if.no.acl.found":                   "true",
		"super.users":                                      "User:nobody",
		"group.share.enable":                               "true",
		"share.coordinator.state.topic.num.partitions":     "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
	}})
	admin := dial(t, node)
	for _, r := range aclResources {
		admin.allow(r.all(keeper, kmsg.ACLOperationAll, kmsg.ACLPermissionTypeAllow))
	}
	return node
}

// dialFrom connects from an address.
func dialFrom(t *testing.T, node *harness.Node, address string) *conn {
	t.Helper()
	d := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	c, err := d.Dial("tcp", node.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &conn{t: t, net: c, format: format}
}

// aclResource is a kind of resource that can be restricted, with the operations that it has.
type aclResource struct {
	kind       kmsg.ACLResourceType
	name       string // of all of its kind
	operations []kmsg.ACLOperation
}

var aclResources = []aclResource{
	{kmsg.ACLResourceTypeTopic, "*", []kmsg.ACLOperation{kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationCreate, kmsg.ACLOperationDelete,
		kmsg.ACLOperationAlter, kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs, kmsg.ACLOperationAll}},
	{kmsg.ACLResourceTypeGroup, "*", []kmsg.ACLOperation{kmsg.ACLOperationRead, kmsg.ACLOperationDelete, kmsg.ACLOperationDescribe,
		kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs, kmsg.ACLOperationAll}},
	{kmsg.ACLResourceTypeCluster, "kafka-cluster", []kmsg.ACLOperation{kmsg.ACLOperationCreate, kmsg.ACLOperationAlter, kmsg.ACLOperationDescribe,
		kmsg.ACLOperationClusterAction, kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs, kmsg.ACLOperationIdempotentWrite, kmsg.ACLOperationAll}},
	{kmsg.ACLResourceTypeTransactionalId, "*", []kmsg.ACLOperation{kmsg.ACLOperationWrite, kmsg.ACLOperationDescribe, kmsg.ACLOperationAll}},
}

// all is an entry for all resources of the kind.
func (r aclResource) all(host string, op kmsg.ACLOperation, permission kmsg.ACLPermissionType) kmsg.CreateACLsRequestCreation {
	return kmsg.CreateACLsRequestCreation{ResourceType: r.kind, ResourceName: r.name, ResourcePatternType: kmsg.ACLResourcePatternTypeLiteral,
		Principal: "User:*", Host: host, Operation: op, PermissionType: permission}
}

// allow makes ACLs, and waits until the node knows of them.
func (c *conn) allow(acls ...kmsg.CreateACLsRequestCreation) {
	c.t.Helper()
	for _, r := range ask[*kmsg.CreateACLsResponse](c, 3, &kmsg.CreateACLsRequest{Creations: acls}).Results {
		wantCode(c.t, "CreateAcls "+text(r.ErrorMessage), r.ErrorCode, nil)
	}
	for _, a := range acls {
		harness.Await(c.t, "the ACL is known", func() bool { return c.describes(a) == 1 })
	}
	c.settle()
}

// describes counts the ACLs that are as a.
func (c *conn) describes(a kmsg.CreateACLsRequestCreation) (n int) {
	c.t.Helper()
	req := kmsg.NewPtrDescribeACLsRequest()
	req.ResourceType, req.ResourceName, req.ResourcePatternType = a.ResourceType, &a.ResourceName, a.ResourcePatternType
	req.Principal, req.Host, req.Operation, req.PermissionType = &a.Principal, &a.Host, a.Operation, a.PermissionType
	for _, r := range ask[*kmsg.DescribeACLsResponse](c, 3, req).Resources {
		n += len(r.ACLs)
	}
	return n
}

// settle: of Apache Kafka, whose controller has ACLs of its own, nothing tells when it knows of them.
func (c *conn) settle() {
	if harness.ChosenPeer() != harness.Ringmill {
		time.Sleep(200 * time.Millisecond)
	}
}

// guestMode is what one guest may do.
type guestMode struct {
	kind, word, host string
}

// The kinds of modes: guests that may do one thing and nothing else, and guests that may do everything but one.
const (
	onlyMode   = "only "
	allButMode = "all but "
)

// guestModes have a guest each; the first may do nothing, the last everything.
func guestModes(admin *conn) (modes []guestMode) {
	add := func(kind, word string, acls ...func(host string) kmsg.CreateACLsRequestCreation) {
		m := guestMode{kind, word, guest(len(modes))}
		modes = append(modes, m)
		var made []kmsg.CreateACLsRequestCreation
		for _, a := range acls {
			made = append(made, a(m.host))
		}
		if len(made) > 0 {
			admin.allow(made...)
		}
	}
	entry := func(r aclResource, op kmsg.ACLOperation, permission kmsg.ACLPermissionType) func(string) kmsg.CreateACLsRequestCreation {
		return func(host string) kmsg.CreateACLsRequestCreation { return r.all(host, op, permission) }
	}
	var all []func(string) kmsg.CreateACLsRequestCreation
	for _, r := range aclResources {
		all = append(all, entry(r, kmsg.ACLOperationAll, kmsg.ACLPermissionTypeAllow))
	}
	add("", "nothing")
	for _, r := range aclResources {
		for _, op := range r.operations {
			add(onlyMode, r.word(op), entry(r, op, kmsg.ACLPermissionTypeAllow))
			add(allButMode, r.word(op), append(slices.Clone(all), entry(r, op, kmsg.ACLPermissionTypeDeny))...)
		}
	}
	add("", "everything", all...)
	return modes
}

// TestAuthorization holds what guests are answered against Apache Kafka 4.1.1: each key's requests at each version where nothing is
// allowed; where one operation on all resources of a kind is; and where all is but that one. The answers are in testdata/authorization,
// one file a key, without those that are as where nothing, or everything, is allowed.
//
//	RINGMILL_TEST_PEER=kafka go test ./tests/protocol -run TestAuthorization -update
func TestAuthorization(t *testing.T) {
	t.Parallel()
	node := authorized(t)
	if *update && !node.IsKafka() {
		t.Fatal("only Apache Kafka's answers are the right ones: RINGMILL_TEST_PEER=kafka")
	}
	admin := dial(t, node)
	admin.makeOffsetsTopic()
	admin.findTransactions(harness.Name("any"))
	admin.awaitShareCoordinator(harness.Name("any") + ":" + base64ID([16]byte{1}) + ":0")
	modes := guestModes(admin)
	versions := map[wireKey][2]int16{}
	for _, api := range ask[*kmsg.ApiVersionsResponse](admin, 4, apiVersionsRequest()).ApiKeys {
		versions[wireKey(api.ApiKey)] = [2]int16{max(api.MinVersion, lowest[wireKey(api.ApiKey)]), api.MaxVersion}
	}
	for _, s := range authorizationSweeps() {
		name := fmt.Sprintf("%02d-%s", s.key, kmsg.NameForKey(int16(s.key)))
		r, served := versions[s.key]
		if !served {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &guestRun{t: t, node: node, key: s.key, shared: new(string)}
			var out strings.Builder
			for _, e := range s.exchanges {
				g.exchange(&out, e, modes, r[0], r[1])
			}
			holdGolden(t, "authorization", name, out.String())
		})
	}
}

func (r aclResource) word(op kmsg.ACLOperation) string { return r.kind.String() + " " + op.String() }

// guestRun is one key's exchanges.
type guestRun struct {
	t      *testing.T
	node   *harness.Node
	key    wireKey
	shared *string
}

// exchange writes one exchange's answers.
func (g *guestRun) exchange(out *strings.Builder, e exchange, modes []guestMode, low, high int16) {
	if only := onlyVersions[fmt.Sprintf("%d %s", g.key, e.name)]; only != 0 {
		low, high = only, only
	}
	first, last := low, ""
	for version := low; version <= high; version++ {
		text := g.answers(e, version, modes[:1])[0]
		if text != last && version > low {
			writeEntry(out, e.name+", nothing allowed,", first, version-1, last)
			first = version
		}
		last = text
	}
	writeEntry(out, e.name+", nothing allowed,", first, high, last)
	answers := g.answers(e, high, modes)
	writeModes(out, e.name, onlyMode, modes, answers, answers[0])
	writeModes(out, e.name, allButMode, modes, answers, answers[len(answers)-1])
}

// answers has the guest of each mode send an exchange's request, which the keeper prepares.
func (g *guestRun) answers(e exchange, version int16, modes []guestMode) (all []string) {
	var s *scene
	var request kmsg.Request
	for _, m := range modes {
		if s == nil || !repeatable[g.key] {
			if s != nil {
				s.conn.net.Close()
			}
			s = &scene{t: g.t, node: g.node, conn: dial(g.t, g.node), version: version, names: map[string]string{}, shared: g.shared}
			request = e.request(s)
			request.SetVersion(version)
		}
		answer := request.ResponseKind()
		c := dialFrom(g.t, g.node, m.host)
		c.receive(c.send(request), answer)
		c.net.Close()
		if e.trim != nil {
			e.trim(s, answer)
		}
		all = append(all, s.answerText(answer))
	}
	s.conn.net.Close()
	return all
}

// writeModes writes the modes of a kind whose answers are unlike the plain one; those that are alike share an entry.
func writeModes(out *strings.Builder, name, kind string, modes []guestMode, answers []string, plain string) {
	alike := map[string][]string{}
	var order []string
	for i, m := range modes {
		if m.kind != kind || answers[i] == plain {
			continue
		}
		if alike[answers[i]] == nil {
			order = append(order, answers[i])
		}
		alike[answers[i]] = append(alike[answers[i]], m.word)
	}
	for _, text := range order {
		fmt.Fprintf(out, "== %s, %s%s\n%s\n", name, kind, strings.Join(alike[text], ", "), text)
	}
}
