package api

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// alterSCRAM asks for what the words say: "-USER MECHANISM" takes a credential away, "+USER MECHANISM ITERATIONS" sets one. It gives
// "USER CODE MESSAGE" of each result.
func alterSCRAM(t *testing.T, b Broker, words ...string) string {
	t.Helper()
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, w := range words {
		var mechanism int8
		var iterations int32
		name, rest, _ := strings.Cut(w[1:], " ")
		_, _ = fmt.Sscan(rest, &mechanism, &iterations)
		if w[0] == '-' {
			req.Deletions = append(req.Deletions, kmsg.AlterUserSCRAMCredentialsRequestDeletion{Name: name, Mechanism: mechanism})
			continue
		}
		req.Upsertions = append(req.Upsertions, kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
			Name: name, Mechanism: mechanism, Iterations: iterations, Salt: []byte("salt"), SaltedPassword: []byte("salted")})
	}
	var told []string
	for _, r := range ask[*kmsg.AlterUserSCRAMCredentialsResponse](t, b, 0, req).Results {
		told = append(told, strings.TrimSuffix(fmt.Sprintf("%s %d %s", r.User, r.ErrorCode, text(r.ErrorMessage)), " <null>"))
	}
	return strings.Join(told, "; ")
}

// describeSCRAM gives `USER CODE "MESSAGE" MECHANISM:ITERATIONS …` of each result.
func describeSCRAM(t *testing.T, b Broker, users ...string) string {
	t.Helper()
	req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, name := range users {
		req.Users = append(req.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: name})
	}
	resp := ask[*kmsg.DescribeUserSCRAMCredentialsResponse](t, b, 0, req)
	if resp.ErrorCode != 0 || text(resp.ErrorMessage) != "" {
		t.Errorf("all of it: %d %s", resp.ErrorCode, text(resp.ErrorMessage))
	}
	var told []string
	for _, r := range resp.Results {
		line := fmt.Sprintf("%s %d %q", r.User, r.ErrorCode, text(r.ErrorMessage))
		for _, info := range r.CredentialInfos {
			line += fmt.Sprintf(" %d:%d", info.Mechanism, info.Iterations)
		}
		told = append(told, line)
	}
	return strings.Join(told, "; ")
}

// The words are those of Apache Kafka 4.1.1; tests/protocol holds both to them.
func TestAlterUserSCRAMCredentials(t *testing.T) {
	b := newFakeBroker(t)
	const twice, absent = "92 A user credential cannot be altered twice in the same request", "91 Attempt to delete a user credential that does not exist"
	for _, row := range []struct {
		words []string
		want  string
	}{
		{nil, ""},
		{[]string{"+a 1 4096"}, "a 0"},
		{[]string{"+a 2 16384"}, "a 0"},
		{[]string{"+a 1 4095"}, "a 93 Too few iterations"},
		{[]string{"+a 1 16385"}, "a 93 Too many iterations"},
		{[]string{"+a 3 4096"}, "a 33 Unknown SCRAM mechanism"},
		{[]string{"-a 0"}, "a 33 Unknown SCRAM mechanism"},
		{[]string{"+ 3 4096"}, " 93 Username must not be empty"},
		{[]string{"- 1"}, " 93 Username must not be empty"},
		{[]string{"+\xff 1 4096"}, "\xff 93 Username must be UTF-8"},
		{[]string{"+a 1 4096", "+a 2 4096", "+a 2 4096"}, "a " + twice},
		{[]string{"-a 1", "-a 2"}, "a " + twice},
		{[]string{"-a 1", "+a 2 4096"}, "a " + twice},
		{[]string{"-b 1", "-b 1", "+b 1 4096"}, "b " + absent},
		{[]string{"+b 7 4096", "+b 1 4096"}, "b 33 Unknown SCRAM mechanism"},
		{[]string{"+b 1 4096", "+b 7 4096"}, "b " + twice},
		{[]string{"+b 1 5000", "+c 9 4096", "-d 1", "-a 1"}, "d " + absent + "; a 0; b 0; c 33 Unknown SCRAM mechanism"},
		{[]string{"-a 1"}, "a " + absent},
	} {
		if got := alterSCRAM(t, b, row.words...); got != row.want {
			t.Errorf("%q: %s\nwant %s", row.words, got, row.want)
		}
	}
	if got := describeSCRAM(t, b); got != `a 0 "" 2:16384; b 0 "" 1:5000` {
		t.Errorf("set is %s", got)
	}
	version := b.image.Version()
	alterSCRAM(t, b, "-z 1", "+a 1 1")
	if b.image.Version() != version {
		t.Error("what is refused is written")
	}
}

func TestDescribeUserSCRAMCredentials(t *testing.T) {
	b := newFakeBroker(t)
	if got := describeSCRAM(t, b); got != "" {
		t.Errorf("without users: %s", got)
	}
	alterSCRAM(t, b, "+a 2 4096", "+b 1 5000")
	alterSCRAM(t, b, "+a 1 8192")
	if got := describeSCRAM(t, b); got != `a 0 "" 1:8192 2:4096; b 0 "" 1:5000` {
		t.Errorf("all: %s", got)
	}
	want := `b 0 "" 1:5000; z 91 "Attempt to describe a user credential that does not exist: z"; ` +
		`a 92 "Cannot describe SCRAM credentials for the same user twice in a single request: a"`
	if got := describeSCRAM(t, b, "b", "z", "a", "a", "a"); got != want {
		t.Errorf("by name: %s\nwant %s", got, want)
	}
}

// Apache Kafka's client and controller made the same keys of these passwords.
func TestSCRAMKeys(t *testing.T) {
	b := newFakeBroker(t)
	for _, c := range []struct {
		mechanism            image.SCRAMMechanism
		password, salt       string
		iterations           int
		storedKey, serverKey string
	}{
		{image.SCRAMSHA256, "secret-x", "aGJvd2Fib2QzcGFsNGd0d285aWZ6eWY0cA==", 8192,
			"AAgG/Y7UgCnm+HMLTFTU5C7UYOnqNP288qAaAYg/WoU=", "ES8sUGhQrWef18xLltwfomQQJKlLievFCqalWLQLv2M="},
		{image.SCRAMSHA512, "secret-y", "cXA5dHZ5amMwcTdoZHN1Zm03bG1ob3V1ZA==", 4096,
			"Rgeo4IZ+0mqdYMdgTb+erPjzqweCzWvYwqEjzXLAj8Dk6eokXZ3w391V0mvklle3+GMdBece7ypR/iouwXHi8A==",
			"7fQAGP3KGG/XQMA6HquMrveEaCd3XQ4UCuB5+vUe8R90vyIpgSPeqXpLAVMyeWrK8ZBx6m2oNQOAx69nFe9Vqg=="},
	} {
		salt, _ := base64.StdEncoding.DecodeString(c.salt)
		newHash, bytes := sha256.New, sha256.Size
		if c.mechanism == image.SCRAMSHA512 {
			newHash, bytes = sha512.New, sha512.Size
		}
		salted, err := pbkdf2.Key(func() hash.Hash { return newHash() }, c.password, salt, c.iterations, bytes)
		if err != nil {
			t.Fatal(err)
		}
		req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
		req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
			{Name: "alice", Mechanism: int8(c.mechanism), Iterations: int32(c.iterations), Salt: salt, SaltedPassword: salted}}
		if r := ask[*kmsg.AlterUserSCRAMCredentialsResponse](t, b, 0, req).Results[0]; r.ErrorCode != 0 {
			t.Fatal(text(r.ErrorMessage))
		}
		made := b.image.SCRAMCredential(image.SCRAMUser{Name: "alice", Mechanism: c.mechanism})
		stored, server := base64.StdEncoding.EncodeToString(made.StoredKey), base64.StdEncoding.EncodeToString(made.ServerKey)
		if stored != c.storedKey || server != c.serverKey || !slices.Equal(made.Salt, salt) || made.Iterations != int32(c.iterations) {
			t.Errorf("mechanism %d: stored key %s, server key %s", c.mechanism, stored, server)
		}
	}
}

func TestSCRAMIsRefusedAsAWhole(t *testing.T) {
	b := newFakeBroker(t)
	words := make([]string, 0, scramChangesMax+1)
	for i := range scramChangesMax + 1 {
		words = append(words, fmt.Sprintf("-u%d 1", i))
	}
	got := alterSCRAM(t, b, words...)
	if want := "u0 44 Request parameters do not satisfy the configured policy.; u1 44 "; !strings.HasPrefix(got, want) {
		t.Errorf("too many: %.200s", got)
	}
	b.notController = true
	if got := alterSCRAM(t, b, "+a 1 4096", "+a 2 4096", "-b 1"); got != "b 41 NOT_CONTROLLER; a 41 NOT_CONTROLLER" {
		t.Errorf("elsewhere: %s", got)
	}
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	req.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{{Name: "a", Mechanism: 1, Iterations: 4096, Salt: []byte("s")}}
	if r := ask[*kmsg.AlterUserSCRAMCredentialsResponse](t, newFakeBroker(t), 0, req).Results[0]; wire.ErrorCode(r.ErrorCode) != wire.UnacceptableCredential {
		t.Errorf("an empty password: %d %s", r.ErrorCode, text(r.ErrorMessage))
	}
}
