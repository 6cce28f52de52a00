package acl

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

// The transcripts of testdata/transcripts:
//
//	rules [super=P,P] [everyone]     begins anew
//	acls                             a line each: TYPE PATTERN NAME PRINCIPAL HOST OPERATION PERMISSION
//	allows principal=P [host=H]      a line each: OPERATION TYPE NAME; prints the decisions
//	some principal=P [host=H]        a line each: OPERATION TYPE
//	operations principal=P TYPE=NAME prints the bits
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		p := &play{}
		datadriven.RunTest(t, path, p.run)
	})
}

type play struct {
	rules Rules
	acls  map[wire.UUID]image.ACL
}

func (p *play) run(t *testing.T, d *datadriven.TestData) string {
	client := Client{Host: Host("10.0.0.1")}
	for _, a := range d.CmdArgs {
		switch a.Key {
		case "principal":
			client.Principal = a.Vals[0]
		case "host":
			client.Host = Host(a.Vals[0])
		}
	}
	var out strings.Builder
	switch d.Cmd {
	case "rules":
		*p = play{rules: Rules{AllowEveryone: d.HasArg("everyone")}, acls: map[wire.UUID]image.ACL{}}
		for _, a := range d.CmdArgs {
			if a.Key == "super" {
				p.rules.SuperUsers = a.Vals
			}
		}
		return "ok"
	case "acls":
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			p.acls[wire.UUID{byte(len(p.acls) + 1)}] = aclOf(t, line)
		}
		return fmt.Sprintf("%d in all", len(p.acls))
	case "allows":
		a := p.rules.Authorizer(p.acls)
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			w := strings.Fields(line)
			fmt.Fprintf(&out, "%s: %v\n", line, a.Allows(client, wordAs[image.ACLOperation](t, operationWords, w[0]), wordAs[image.ACLResourceType](t, typeWords, w[1]), w[2]))
		}
	case "some":
		a := p.rules.Authorizer(p.acls)
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			w := strings.Fields(line)
			fmt.Fprintf(&out, "%s: %v\n", line, a.AllowsSome(client, wordAs[image.ACLOperation](t, operationWords, w[0]), wordAs[image.ACLResourceType](t, typeWords, w[1])))
		}
	case "operations":
		a := p.rules.Authorizer(p.acls)
		last := d.CmdArgs[len(d.CmdArgs)-1]
		bits := a.Allowed(client, wordAs[image.ACLResourceType](t, typeWords, last.Key), last.Vals[0])
		for i, name := range operationWords {
			if name != "" && bits&(1<<i) != 0 {
				fmt.Fprintf(&out, "%s ", name)
			}
		}
		return fmt.Sprintf("%s(%d)", &out, bits)
	}
	return out.String()
}

var (
	typeWords      = []string{"", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"}
	patternWords   = []string{"", "ANY", "MATCH", "LITERAL", "PREFIXED"}
	operationWords = []string{"", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
		"ALTER_CONFIGS", "IDEMPOTENT_WRITE"}
	permissionWords = []string{"", "ANY", "DENY", "ALLOW"}
)

// number is a type whose values are the places of their words.
type number interface {
	image.ACLResourceType | image.ACLPatternType | image.ACLOperation | image.ACLPermission
}

func wordAs[N number](t *testing.T, words []string, w string) N {
	t.Helper()
	i := slices.Index(words, w)
	if i < 1 {
		t.Fatalf("%q is none of %q", w, words)
	}
	return N(i)
}

func aclOf(t *testing.T, line string) image.ACL {
	t.Helper()
	w := strings.Fields(line)
	if len(w) != 7 {
		t.Fatalf("%q is no ACL", line)
	}
	return image.ACL{
		ResourceType: wordAs[image.ACLResourceType](t, typeWords, w[0]), PatternType: wordAs[image.ACLPatternType](t, patternWords, w[1]), ResourceName: w[2],
		Principal: w[3], Host: w[4], Operation: wordAs[image.ACLOperation](t, operationWords, w[5]), Permission: wordAs[image.ACLPermission](t, permissionWords, w[6]),
	}
}
