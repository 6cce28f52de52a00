package api

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/quota"
	"github.com/ringmill/ringmill/wire"
)

// quotaEntry reads "type=name type=name: key=value key=-": a type with nothing behind it is the default, "-" takes away.
func quotaEntry(line string) kmsg.AlterClientQuotasRequestEntry {
	var entry kmsg.AlterClientQuotasRequestEntry
	parts, ops, _ := strings.Cut(line, ":")
	for _, p := range strings.Fields(parts) {
		kind, name, _ := strings.Cut(p, "=")
		part := kmsg.AlterClientQuotasRequestEntryEntity{Type: kind, Name: &name}
		if name == "" {
			part.Name = nil
		}
		entry.Entity = append(entry.Entity, part)
	}
	for _, o := range strings.Fields(ops) {
		key, value, _ := strings.Cut(o, "=")
		op := kmsg.AlterClientQuotasRequestEntryOp{Key: key, Remove: value == "-"}
		if !op.Remove {
			_, _ = fmt.Sscan(value, &op.Value)
		}
		entry.Ops = append(entry.Ops, op)
	}
	return entry
}

// alterQuotas gives "code message" of each entity's answer.
func alterQuotas(t *testing.T, b Broker, validateOnly bool, lines ...string) (told []string) {
	t.Helper()
	req := kmsg.NewPtrAlterClientQuotasRequest()
	req.ValidateOnly = validateOnly
	for _, line := range lines {
		req.Entries = append(req.Entries, quotaEntry(line))
	}
	for _, e := range ask[*kmsg.AlterClientQuotasResponse](t, b, 1, req).Entries {
		told = append(told, strings.TrimSuffix(fmt.Sprintf("%d %s", e.ErrorCode, text(e.ErrorMessage)), " <null>"))
	}
	return told
}

// The words are those of Apache Kafka 4.1.1; tests/protocol holds both to them.
func TestAlterClientQuotas(t *testing.T) {
	b := newFakeBroker(t)
	for _, row := range []struct {
		lines []string
		want  string
	}{
		{[]string{"client-id=a: producer_byte_rate=10 consumer_byte_rate=20", "user=: request_percentage=0.5", "ip=10.0.0.1: connection_creation_rate=5"}, "0;0;0"},
		{[]string{"client-id=a: consumer_byte_rate=- producer_byte_rate=11"}, "0"},
		{[]string{"group=a: producer_byte_rate=1"}, "42 Unhandled client quota entity type: group"},
		{[]string{": producer_byte_rate=1"}, "42 Invalid empty client quota entity"},
		{[]string{"ip=10.0.0.1 user=u: connection_creation_rate=1"}, "42 Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"},
		{[]string{"ip=999.1.1.1: connection_creation_rate=1"}, "42 999.1.1.1 is not a valid IP or resolvable host."},
		{[]string{"ip=: producer_byte_rate=1"}, "42 Invalid configuration key producer_byte_rate"},
		{[]string{"user=u: producer_byte_rate=0"}, "42 Quota producer_byte_rate must be greater than 0"},
		{[]string{"user=u: producer_byte_rate=1.5"}, "42 producer_byte_rate cannot be a fractional value."},
		{[]string{"user=u: consumer_byte_rate=1e30"}, "42 Proposed value for consumer_byte_rate is too large for a LONG."},
		{[]string{"ip=: connection_creation_rate=3000000000"}, "42 Proposed value for connection_creation_rate is too large for an INT."},
		{[]string{"user=u: producer_byte_rate=NaN"}, "42 Quota producer_byte_rate must be a number."},
		{[]string{"user=u: request_percentage=+Inf"}, "42 Proposed value for request_percentage is too large for a DOUBLE."},
		{[]string{"user=u: producer_byte_rate=1 producer_byte_rate=2"}, "42 Ignoring duplicate entity ClientQuotaEntity(entries={user=u})"},
		{[]string{"user=v: producer_byte_rate=1", "user=v: producer_byte_rate=2"}, "42 Ignoring duplicate entity ClientQuotaEntity(entries={user=v})"},
		{[]string{"user=w: producer_byte_rate=0", "client-id=w: producer_byte_rate=3"}, "42 Quota producer_byte_rate must be greater than 0;0"},
	} {
		if got := strings.Join(alterQuotas(t, b, false, row.lines...), ";"); got != row.want {
			t.Errorf("%q: %s\nwant %s", row.lines, got, row.want)
		}
	}
	want := "ip=10.0.0.1{connection_creation_rate=5} client-id=a{producer_byte_rate=11} client-id=w{producer_byte_rate=3} user=v{producer_byte_rate=1} user=<null>{request_percentage=0.5}"
	if got := describedQuotas(t, b); got != want {
		t.Errorf("set is\n%s\nwant\n%s", got, want)
	}
	version := b.image.Version()
	alterQuotas(t, b, true, "user=x: producer_byte_rate=1")
	alterQuotas(t, b, false, "client-id=a: producer_byte_rate=11", "client-id=b: producer_byte_rate=-")
	if b.image.Version() != version {
		t.Error("what changes nothing, or is only to be validated, is written")
	}
}

// describedQuotas is what DescribeClientQuotas tells of the entities that filter picks.
func describedQuotas(t *testing.T, b Broker, filter ...kmsg.DescribeClientQuotasRequestComponent) string {
	t.Helper()
	req := kmsg.NewPtrDescribeClientQuotasRequest()
	req.Components = filter
	var told []string
	for _, e := range ask[*kmsg.DescribeClientQuotasResponse](t, b, 1, req).Entries {
		var parts, values []string
		for _, p := range e.Entity {
			parts = append(parts, p.Type+"="+text(p.Name))
		}
		for _, v := range e.Values {
			values = append(values, fmt.Sprintf("%s=%v", v.Key, v.Value))
		}
		told = append(told, strings.Join(parts, ",")+"{"+strings.Join(values, ",")+"}")
	}
	return strings.Join(told, " ")
}

func TestDescribeClientQuotasByPart(t *testing.T) {
	b := newFakeBroker(t)
	alterQuotas(t, b, false, "user=u: producer_byte_rate=1", "user=u client-id=c: producer_byte_rate=2", "user=u client-id=: producer_byte_rate=3", "client-id=c: producer_byte_rate=4")
	for match, want := range map[kmsg.QuotasMatchType]string{
		kmsg.QuotasMatchTypeExact:   "client-id=c{producer_byte_rate=4} client-id=c,user=u{producer_byte_rate=2}",
		kmsg.QuotasMatchTypeDefault: "client-id=<null>,user=u{producer_byte_rate=3}",
		kmsg.QuotasMatchTypeAny:     "client-id=c{producer_byte_rate=4} client-id=c,user=u{producer_byte_rate=2} client-id=<null>,user=u{producer_byte_rate=3}",
	} {
		f := kmsg.DescribeClientQuotasRequestComponent{EntityType: "client-id", MatchType: match}
		if match == kmsg.QuotasMatchTypeExact {
			f.Match = kmsg.StringPtr("c")
		}
		if got := describedQuotas(t, b, f); got != want {
			t.Errorf("match %d: %s\nwant %s", match, got, want)
		}
	}
}

// A name that reads like two parts is not taken for them.
func TestQuotaEntitiesAreToldApart(t *testing.T) {
	like := []quotaPart{{kind: "client-id", name: kmsg.StringPtr("a, user=b")}}
	two := []quotaPart{{kind: "client-id", name: kmsg.StringPtr("a")}, {kind: "user", name: kmsg.StringPtr("b")}}
	if quotaEntityText(like) != quotaEntityText(two) || quotaEntityKey(like) == quotaEntityKey(two) {
		t.Errorf("%s, %s", quotaEntityKey(like), quotaEntityKey(two))
	}
}

// mutate asks for topics as a client, and gives the codes and the wait.
func mutate(t *testing.T, b *fakeBroker, version int16, req kmsg.Request) (wait int32, resp kmsg.Response) {
	t.Helper()
	resp = ask[kmsg.Response](t, b, version, req)
	wait, _ = resp.(kmsg.ThrottleResponse).Throttle()
	return wait, resp
}

func TestControllerMutationsAreCharged(t *testing.T) {
	b := newFakeBroker(t)
	alterQuotas(t, b, false, "client-id=test: controller_mutation_rate=1")
	create := func(name string, partitions int32) *kmsg.CreateTopicsRequest {
		return &kmsg.CreateTopicsRequest{Topics: []kmsg.CreateTopicsRequestTopic{{Topic: name, NumPartitions: partitions, ReplicationFactor: 1}}}
	}
	if wait, _ := mutate(t, b, 7, create("a", 21)); wait != 0 { // eleven are saved up: ten are owed
		t.Errorf("the first waits %d ms", wait)
	}
	wait, resp := mutate(t, b, 7, create("b", 1))
	if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != int16(wire.ThrottlingQuotaExceeded) || wait != 10_000 {
		t.Errorf("the second: code %d, %d ms", code, wait)
	}
	if b.image.ByName("b") != nil {
		t.Error("it was made")
	}
	wait, resp = mutate(t, b, 5, create("b", 1))
	if code := resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 || wait != 11_000 {
		t.Errorf("an old client's: code %d, %d ms", code, wait)
	}
	metadata := &kmsg.MetadataRequest{AllowAutoTopicCreation: true, Topics: []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("auto")}}}
	if got := ask[*kmsg.MetadataResponse](t, b, 12, metadata); got.Topics[0].ErrorCode != int16(wire.UnknownTopicOrPartition) || b.image.ByName("auto") != nil {
		t.Errorf("a topic is made by asking for it: %+v", got.Topics[0])
	}
	b.nowMS += 11_000
	if ask[*kmsg.MetadataResponse](t, b, 12, metadata); b.image.ByName("auto") == nil {
		t.Error("nor later")
	}
}

// The longest wait is told, in every answer that can tell one.
func TestAnswersTellTheWait(t *testing.T) {
	b := newFakeBroker(t)
	for _, key := range []wire.APIKey{wire.KeyApiVersions, wire.KeyMetadata, wire.KeyListGroups, wire.KeyDescribeClientQuotas} {
		req := kmsg.RequestForKey(int16(key))
		req.SetVersion(1)
		charged := 0
		r := &Request{Header: wire.RequestHeader{Key: key, Version: 1}, Body: req.AppendTo(nil), ThrottleMS: 5, Charge: func() int32 { charged++; return 7 }}
		body, err := Answer(nil, b, r)
		if err != nil {
			t.Fatal(err)
		}
		resp := req.ResponseKind()
		if err := resp.ReadFrom(body); err != nil {
			t.Fatal(err)
		}
		wait, _ := resp.(kmsg.ThrottleResponse).Throttle()
		if key == wire.KeyMetadata {
			wait = 7 // version 1 has no room for it
		}
		if wait != 7 || r.ThrottleMS != 7 || charged != 1 {
			t.Errorf("%s: tells %d ms, mutes for %d, charged %d times", key, wait, r.ThrottleMS, charged)
		}
	}
}

func TestQuotaValuesThatAreNoNumbers(t *testing.T) {
	if why := checkQuotaValue(clientQuotaKeys, quota.RequestPercentage, math.NaN()); why.code != wire.InvalidRequest {
		t.Error(why)
	}
}
