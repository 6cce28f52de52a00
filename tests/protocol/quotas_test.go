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

// entity is a quota's, as "type=name"; "type=" with nothing behind it is the type's default.
type entity []string

func (e entity) parts() (parts []kmsg.AlterClientQuotasRequestEntryEntity) {
	for _, s := range e {
		kind, name, _ := strings.Cut(s, "=")
		part := kmsg.AlterClientQuotasRequestEntryEntity{Type: kind, Name: &name}
		switch name {
		case "":
			part.Name = nil
		case `""`:
			part.Name = ptr("")
		}
		parts = append(parts, part)
	}
	return parts
}

// setQuota is an entry that gives an entity values; "-" as the value takes one away.
func setQuota(e entity, values ...any) kmsg.AlterClientQuotasRequestEntry {
	entry := kmsg.AlterClientQuotasRequestEntry{Entity: e.parts()}
	for i := 0; i < len(values); i += 2 {
		op := kmsg.AlterClientQuotasRequestEntryOp{Key: values[i].(string)}
		switch v := values[i+1].(type) {
		case float64:
			op.Value = v
		case int:
			op.Value = float64(v)
		case string:
			op.Remove = true
		}
		entry.Ops = append(entry.Ops, op)
	}
	return entry
}

func (c *conn) alterQuotas(version int16, validateOnly bool, entries ...kmsg.AlterClientQuotasRequestEntry) []kmsg.AlterClientQuotasResponseEntry {
	c.t.Helper()
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.Entries, req.ValidateOnly = entries, validateOnly
	return ask[*kmsg.AlterClientQuotasResponse](c, version, req).Entries
}

// mustSetQuota sets a quota for the length of the test, and waits until it is told of.
func (c *conn) mustSetQuota(e entity, key string, value float64) {
	c.t.Helper()
	for _, r := range c.alterQuotas(1, false, setQuota(e, key, value)) {
		wantCode(c.t, "set "+key, r.ErrorCode, nil)
	}
	c.t.Cleanup(func() { dialAddress(c.t, c.net.RemoteAddr().String()).alterQuotas(1, false, setQuota(e, key, "-")) })
	harness.Await(c.t, "the quota is there", func() bool {
		told := c.describeQuotas(true, matchAll(e)...)
		return len(told) == 1 && strings.Contains(told[0], fmt.Sprintf("%s:%v", key, value))
	})
}

func matchAll(e entity) (filter []kmsg.DescribeClientQuotasRequestComponent) {
	for _, p := range e.parts() {
		f := kmsg.DescribeClientQuotasRequestComponent{EntityType: p.Type, Match: p.Name}
		if p.Name == nil {
			f.MatchType = kmsg.QuotasMatchTypeDefault
		}
		filter = append(filter, f)
	}
	return filter
}

// describeQuotas gives "type=name,… key:value …" of each entity, all in order.
func (c *conn) describeQuotas(strict bool, filter ...kmsg.DescribeClientQuotasRequestComponent) (told []string) {
	c.t.Helper()
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Components, req.Strict = filter, strict
	res := ask[*kmsg.DescribeClientQuotasResponse](c, 1, req)
	wantCode(c.t, "describe", res.ErrorCode, nil)
	want(c.t, "message", text(res.ErrorMessage), "")
	for _, entry := range res.Entries {
		var parts, values []string
		for _, p := range entry.Entity {
			parts = append(parts, p.Type+"="+text(p.Name))
		}
		for _, v := range entry.Values {
			values = append(values, fmt.Sprintf("%s:%v", v.Key, v.Value))
		}
		slices.Sort(parts)
		slices.Sort(values)
		told = append(told, strings.Join(parts, ",")+" "+strings.Join(values, " "))
	}
	slices.Sort(told)
	return told
}

func TestAlterClientQuotasRefusals(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	c := dial(t, node)
	const produce, connections = "producer_byte_rate", "connection_creation_rate"
	client := entity{"client-id=" + harness.Name("q")}
	duplicate := "Ignoring duplicate entity ClientQuotaEntity(entries={" + client[0] + "})"
	for _, row := range []struct {
		name    string
		entry   kmsg.AlterClientQuotasRequestEntry
		code    *kerr.Error
		message string
	}{
		{"fine", setQuota(client, produce, 1024), nil, ""},
		{"nothing to do", setQuota(client), nil, ""},
		{"absent", setQuota(client, produce, "-"), nil, ""},
		{"absent key", setQuota(client, "nope", "-"), nil, ""},
		{"type", setQuota(entity{"group=g"}, produce, 1), kerr.InvalidRequest, "Unhandled client quota entity type: group"},
		{"no parts", setQuota(entity{}, produce, 1), kerr.InvalidRequest, "Invalid empty client quota entity"},
		{"empty client id", setQuota(entity{`client-id=""`}, produce, 1), kerr.InvalidRequest, "Empty client-id not supported"},
		{"empty user", setQuota(entity{`user=""`}, produce, 1), kerr.InvalidRequest, "Empty user not supported"},
		{"address and user", setQuota(entity{"ip=127.0.0.1", "user=u"}, connections, 1), kerr.InvalidRequest,
			"Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"},
		{"no address", setQuota(entity{"ip=1.2.3.4.5"}, connections, 1), kerr.InvalidRequest, "1.2.3.4.5 is not a valid IP or resolvable host."},
		{"host", setQuota(entity{"ip=localhost"}, connections, 1), nil, ""},
		{"IPv6", setQuota(entity{"ip=::1"}, connections, 1), nil, ""},
		{"IPv6 in brackets", setQuota(entity{"ip=[::1]"}, connections, 1), nil, ""},
		{"all addresses", setQuota(entity{"ip="}, connections, 1), nil, ""},
		{"an address's bytes", setQuota(entity{"ip="}, produce, 1), kerr.InvalidRequest, "Invalid configuration key producer_byte_rate"},
		{"a client's connections", setQuota(client, connections, 1), kerr.InvalidRequest, "Invalid configuration key connection_creation_rate"},
		{"key", setQuota(client, "nope", 1), kerr.InvalidRequest, "Invalid configuration key nope"},
		{"zero", setQuota(client, produce, 0), kerr.InvalidRequest, "Quota producer_byte_rate must be greater than 0"},
		{"negative", setQuota(client, produce, -1), kerr.InvalidRequest, "Quota producer_byte_rate must be greater than 0"},
		{"fraction of a byte", setQuota(client, produce, 1.5), kerr.InvalidRequest, "producer_byte_rate cannot be a fractional value."},
		{"hardly a fraction", setQuota(client, produce, 1.0000001), nil, ""},
		{"fraction of a percent", setQuota(client, "request_percentage", 0.25), nil, ""},
		{"fraction of a mutation", setQuota(client, "controller_mutation_rate", 0.25), nil, ""},
		{"fraction of a connection", setQuota(entity{"ip="}, connections, 1.5), kerr.InvalidRequest, "connection_creation_rate cannot be a fractional value."},
		{"too many connections", setQuota(entity{"ip="}, connections, 3e9), kerr.InvalidRequest, "Proposed value for connection_creation_rate is too large for an INT."},
		{"too many bytes", setQuota(client, produce, 1e30), kerr.InvalidRequest, "Proposed value for producer_byte_rate is too large for a LONG."},
		{"as many bytes as can be", setQuota(client, produce, float64(1<<63-1)), nil, ""},
		{"a key twice", setQuota(client, produce, 1, produce, 2), kerr.InvalidRequest, duplicate},
		{"a type twice", setQuota(entity{"client-id=a", "client-id=b"}, produce, 1), nil, ""},
	} {
		for version := int16(0); version <= 1; version++ {
			got := c.alterQuotas(version, true, row.entry)
			want(t, row.name+": entries", len(got), 1)
			wantCode(t, row.name, got[0].ErrorCode, row.code)
			if row.code != nil {
				want(t, row.name, text(got[0].ErrorMessage), row.message)
			} else {
				want(t, row.name, text(got[0].ErrorMessage), "<null>")
			}
		}
	}
	want(t, "entries of none", len(c.alterQuotas(1, false)), 0)
	twice := c.alterQuotas(1, true, setQuota(client, produce, 1), setQuota(client, produce, 2))
	want(t, "an entity twice is answered once", len(twice), 1)
	want(t, "an entity twice", text(twice[0].ErrorMessage), duplicate)
	order := c.alterQuotas(1, true, setQuota(entity{"user=", client[0]}, produce, 1), setQuota(entity{client[0], "user="}, produce, 2))
	want(t, "the order of parts does not matter", text(order[0].ErrorMessage), "Ignoring duplicate entity ClientQuotaEntity(entries={"+client[0]+", user=null})")
}

func TestAlterClientQuotasOfSeveral(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	a, b := entity{"client-id=" + harness.Name("a")}, entity{"client-id=" + harness.Name("b")}
	t.Cleanup(func() { c.alterQuotas(1, false, setQuota(b, "producer_byte_rate", "-")) })
	codes := map[string]int16{}
	for _, r := range c.alterQuotas(1, false, setQuota(a, "consumer_byte_rate", 5, "producer_byte_rate", -1), setQuota(b, "producer_byte_rate", 7)) {
		codes[*r.Entity[0].Name] = r.ErrorCode
	}
	wantCode(t, "one bad value", codes[*a.parts()[0].Name], kerr.InvalidRequest)
	wantCode(t, "the other entity", codes[*b.parts()[0].Name], nil)
	harness.Await(t, "the good one is set", func() bool { return len(c.describeQuotas(true, matchAll(b)...)) == 1 })
	want(t, "of the bad one nothing is", len(c.describeQuotas(true, matchAll(a)...)), 0)

	var many []kmsg.AlterClientQuotasRequestEntry
	for i := range 10_001 {
		many = append(many, setQuota(entity{fmt.Sprint(a[0], i)}, "producer_byte_rate", 1))
	}
	refused := c.alterQuotas(1, true, many...)
	want(t, "entries", len(refused), len(many))
	for _, r := range refused[:3] {
		wantCode(t, "too many", r.ErrorCode, kerr.PolicyViolation)
		want(t, "too many", text(r.ErrorMessage), "Request parameters do not satisfy the configured policy.")
	}
	for _, r := range c.alterQuotas(1, true, many[1:]...)[:3] {
		wantCode(t, "as many as may be", r.ErrorCode, nil)
	}
}

func TestDescribeClientQuotas(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	id, user := harness.Name("c"), harness.Name("u")
	client, owner := "client-id="+id, "user="+user
	c.mustSetQuota(entity{client}, "producer_byte_rate", 1024)
	c.mustSetQuota(entity{client}, "consumer_byte_rate", 2048)
	c.mustSetQuota(entity{owner}, "producer_byte_rate", 5)
	c.mustSetQuota(entity{owner, client}, "request_percentage", 7.5)
	c.mustSetQuota(entity{owner, "client-id="}, "controller_mutation_rate", 0.5)
	ofClient := client + " consumer_byte_rate:2048 producer_byte_rate:1024"
	ofUser, ofBoth, ofDefault := owner+" producer_byte_rate:5", client+","+owner+" request_percentage:7.5", "client-id=<null>,"+owner+" controller_mutation_rate:0.5"
	exact := func(kind, name string) kmsg.DescribeClientQuotasRequestComponent {
		return kmsg.DescribeClientQuotasRequestComponent{EntityType: kind, Match: &name}
	}
	match := func(kind string, m kmsg.QuotasMatchType) kmsg.DescribeClientQuotasRequestComponent {
		return kmsg.DescribeClientQuotasRequestComponent{EntityType: kind, MatchType: m}
	}
	anyClient, anyUser := match("client-id", kmsg.QuotasMatchTypeAny), match("user", kmsg.QuotasMatchTypeAny)
	for _, row := range []struct {
		name   string
		strict bool
		filter []kmsg.DescribeClientQuotasRequestComponent
		want   []string
	}{
		{"client id", false, []kmsg.DescribeClientQuotasRequestComponent{exact("client-id", id)}, []string{ofClient, ofBoth}},
		{"client id, strictly", true, []kmsg.DescribeClientQuotasRequestComponent{exact("client-id", id)}, []string{ofClient}},
		{"user", false, []kmsg.DescribeClientQuotasRequestComponent{exact("user", user)}, []string{ofBoth, ofDefault, ofUser}},
		{"user, strictly", true, []kmsg.DescribeClientQuotasRequestComponent{exact("user", user)}, []string{ofUser}},
		{"user and any client id", true, []kmsg.DescribeClientQuotasRequestComponent{exact("user", user), anyClient}, []string{ofBoth, ofDefault}},
		{"user and default client id", true, []kmsg.DescribeClientQuotasRequestComponent{exact("user", user), match("client-id", kmsg.QuotasMatchTypeDefault)}, []string{ofDefault}},
		{"any user and client id", true, []kmsg.DescribeClientQuotasRequestComponent{anyUser, exact("client-id", id)}, []string{ofBoth}},
		{"nobody", false, []kmsg.DescribeClientQuotasRequestComponent{exact("user", id)}, nil},
		{"strictly nothing", true, nil, nil},
	} {
		if got := c.describeQuotas(row.strict, row.filter...); !slices.Equal(got, sorted(row.want)) {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	if all := c.describeQuotas(false); !slices.Contains(all, ofUser) || !slices.Contains(all, ofClient) || len(all) < 4 {
		t.Errorf("all: %q", all)
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

func TestDescribeClientQuotasRefusals(t *testing.T) {
	t.Parallel()
	c := dial(t, harness.Shared(t))
	type component = kmsg.DescribeClientQuotasRequestComponent
	for _, row := range []struct {
		filter  []component
		code    *kerr.Error
		message string
	}{
		{[]component{{Match: ptr("a")}}, kerr.InvalidRequest, "Invalid empty entity type."},
		{[]component{{EntityType: "user", Match: ptr("a")}, {EntityType: "user", MatchType: 1}}, kerr.InvalidRequest, "Entity type user cannot appear more than once in the filter."},
		{[]component{{EntityType: "zz", Match: ptr("a")}}, kerr.UnsupportedVersion, "Unsupported entity type zz"},
		{[]component{{EntityType: "user"}}, kerr.InvalidRequest, "Request specified MATCH_TYPE_EXACT, but set match string to null."},
		{[]component{{EntityType: "user", MatchType: 1, Match: ptr("x")}}, kerr.InvalidRequest, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."},
		{[]component{{EntityType: "user", MatchType: 2, Match: ptr("x")}}, kerr.InvalidRequest, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."},
		{[]component{{EntityType: "user", MatchType: 7}}, kerr.InvalidRequest, "Unknown match type 7"},
		{[]component{{EntityType: "user", MatchType: 2}, {EntityType: "ip", MatchType: 2}}, kerr.InvalidRequest,
			"Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component."},
	} {
		req := kmsg.NewPtrDescribeClientQuotasRequest()
		req.Components = row.filter
		for version := int16(0); version <= 1; version++ {
			res := ask[*kmsg.DescribeClientQuotasResponse](c, version, req)
			wantCode(t, row.message, res.ErrorCode, row.code)
			want(t, "message", text(res.ErrorMessage), row.message)
			want(t, "entries are null", res.Entries == nil, true)
		}
	}
}
