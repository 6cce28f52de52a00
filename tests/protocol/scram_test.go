package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// scramUsers are the users of one test, whose names begin alike; tests say what is behind that.
type scramUsers struct {
	conn   *conn
	prefix string
}

// alter asks for what the words say: "-USER MECHANISM" takes a credential away, "+USER MECHANISM ITERATIONS" sets one. It gives "USER
// CODE MESSAGE" of each result, in order of the users.
func (u scramUsers) alter(words ...string) string {
	u.conn.t.Helper()
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, w := range words {
		var mechanism int8
		var iterations int32
		name, rest, _ := strings.Cut(w[1:], " ")
		if name != "" {
			name = u.prefix + name
		}
		_, _ = fmt.Sscan(rest, &mechanism, &iterations)
		if w[0] == '-' {
			req.Deletions = append(req.Deletions, kmsg.AlterUserSCRAMCredentialsRequestDeletion{Name: name, Mechanism: mechanism})
			continue
		}
		req.Upsertions = append(req.Upsertions, kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
			Name: name, Mechanism: mechanism, Iterations: iterations, Salt: []byte("salt"), SaltedPassword: []byte("salted")})
	}
	return u.send(req)
}

func (u scramUsers) send(req *kmsg.AlterUserSCRAMCredentialsRequest) string {
	u.conn.t.Helper()
	var told []string
	for _, r := range ask[*kmsg.AlterUserSCRAMCredentialsResponse](u.conn, 0, req).Results {
		line := strings.TrimSuffix(fmt.Sprintf("%s %d %s", r.User, r.ErrorCode, text(r.ErrorMessage)), " <null>")
		told = append(told, strings.ReplaceAll(line, u.prefix, ""))
	}
	slices.Sort(told)
	return strings.Join(told, "; ")
}

// describe gives `USER CODE "MESSAGE" MECHANISM:ITERATIONS …` of each result, in order of the users; without names, of all of this test's.
func (u scramUsers) describe(users ...string) string {
	u.conn.t.Helper()
	var names []string
	for _, name := range users {
		names = append(names, u.prefix+name)
	}
	resp := ask[*kmsg.DescribeUserSCRAMCredentialsResponse](u.conn, 0, scramRequest(names...))
	wantCode(u.conn.t, "DescribeUserScramCredentials", resp.ErrorCode, nil)
	want(u.conn.t, "its message", text(resp.ErrorMessage), "")
	var told []string
	for _, r := range resp.Results {
		if !strings.HasPrefix(r.User, u.prefix) {
			continue
		}
		line := strings.ReplaceAll(fmt.Sprintf("%s %d %q", r.User, r.ErrorCode, text(r.ErrorMessage)), u.prefix, "")
		for _, info := range r.CredentialInfos {
			line += fmt.Sprintf(" %d:%d", info.Mechanism, info.Iterations)
		}
		told = append(told, line)
	}
	slices.Sort(told)
	return strings.Join(told, "; ")
}

func TestAlterUserScramCredentials(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	u := scramUsers{dial(t, node), harness.Name("scram")}
	t.Cleanup(func() { u.alter("-a 2", "-b 1") })
	const twice, absent = "92 A user credential cannot be altered twice in the same request", "91 Attempt to delete a user credential that does not exist"
	for _, row := range []struct {
		words []string
		want  string
	}{
		{nil, ""},
		{[]string{"+a 1 4096"}, "a 0"},
		{[]string{"+a 2 8192"}, "a 0"},
		{[]string{"+a 1 4095"}, "a 93 Too few iterations"},
		{[]string{"+a 1 16384"}, "a 0"},
		{[]string{"+a 1 16385"}, "a 93 Too many iterations"},
		{[]string{"+a 1 -1"}, "a 93 Too few iterations"},
		{[]string{"+a 3 4096"}, "a 33 Unknown SCRAM mechanism"},
		{[]string{"+a 0 1"}, "a 33 Unknown SCRAM mechanism"},
		{[]string{"+a -1 4096"}, "a 33 Unknown SCRAM mechanism"},
		{[]string{"+ 1 4096"}, " 93 Username must not be empty"},
		{[]string{"+ 3 4096"}, " 93 Username must not be empty"},
		{[]string{"- 1"}, " 93 Username must not be empty"},
		{[]string{"-a 3"}, "a 33 Unknown SCRAM mechanism"},
		{[]string{"+a 1 4096", "+a 2 4096"}, "a " + twice},
		{[]string{"+a 1 4096", "+a 1 4096", "+a 1 4096"}, "a " + twice},
		{[]string{"-a 1", "+a 1 4096"}, "a " + twice},
		{[]string{"-a 1", "+a 2 4096"}, "a " + twice},
		{[]string{"-a 1", "-a 2"}, "a " + twice},
		{[]string{"-a 1", "-a 1", "-a 1"}, "a " + twice},
		{[]string{"-b 1"}, "b " + absent},
		{[]string{"-b 1", "-b 1"}, "b " + absent},
		{[]string{"-b 1", "+b 1 4096"}, "b " + absent},
		{[]string{"+b 7 4096", "+b 1 4096"}, "b 33 Unknown SCRAM mechanism"},
		{[]string{"+b 1 4096", "+b 7 4096"}, "b " + twice},
		{[]string{"+b 1 5000", "+c 9 4096", "-d 1", "-a 1"}, "a 0; b 0; c 33 Unknown SCRAM mechanism; d " + absent},
		{[]string{"-a 1"}, "a " + absent},
	} {
		want(t, fmt.Sprint(row.words), u.alter(row.words...), row.want)
	}
	harness.Await(t, "what was set is told of", func() bool { return u.describe() == `a 0 "" 2:8192; b 0 "" 1:5000` })
	one := func(salt, saltedPassword string) *kmsg.AlterUserSCRAMCredentialsRequest {
		req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
			{Name: u.prefix + "b", Mechanism: 1, Iterations: 4096, Salt: []byte(salt), SaltedPassword: []byte(saltedPassword)}}
		return req
	}
	want(t, "no salt", u.send(one("", "x")), "b 0")
	want(t, "a long password", u.send(one("salt", strings.Repeat("x", 300))), "b 0")
	want(t, "no password", u.send(one("salt", "")), departure(node, "b -1", "b 93 The salted password must not be empty",
		"Kafka's cryptography throws, and the client is not told what is wrong"))
}

func TestAlterScramCredentialsOfMany(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	u := scramUsers{dial(t, node), harness.Name("many")}
	var words []string
	for i := range 10_001 {
		words = append(words, fmt.Sprintf("+%05d 1 4096", i))
	}
	refused := departure(node, "-1", "44 Request parameters do not satisfy the configured policy.", "as AlterClientQuotas says of too many")
	want(t, "too many", strings.HasPrefix(u.alter(words...), "00000 "+refused+"; 00001 "+refused), true)
	want(t, "none of them is set", u.describe(), "")
}

func TestDescribeUserScramCredentials(t *testing.T) {
	t.Parallel()
	u := scramUsers{dial(t, harness.Shared(t)), harness.Name("told")}
	t.Cleanup(func() {
		u.alter("-a 1", "-b 2")
		u.alter("-a 2")
	})
	want(t, "two users", u.alter("+a 2 4096", "+b 2 5000"), "a 0; b 0")
	want(t, "another mechanism", u.alter("+a 1 8192"), "a 0")
	harness.Await(t, "all are told of", func() bool { return u.describe() == `a 0 "" 1:8192 2:4096; b 0 "" 2:5000` })
	absent := func(name string) string {
		return name + ` 91 "Attempt to describe a user credential that does not exist: ` + name + `"`
	}
	want(t, "one", u.describe("b"), `b 0 "" 2:5000`)
	want(t, "one that has none", u.describe("z"), absent("z"))
	want(t, "several", u.describe("a", "a", "b", "z", "y", "z", "z"),
		`a 92 "Cannot describe SCRAM credentials for the same user twice in a single request: a"; b 0 "" 2:5000; `+absent("y")+
			`; z 92 "Cannot describe SCRAM credentials for the same user twice in a single request: z"`)
}
