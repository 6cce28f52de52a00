package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// foreignAuthorizer names a node of another make that has an authorizer and takes everybody who does not authenticate for a super user, as
// host:port.
const foreignAuthorizer = "RINGMILL_TEST_AUTHORIZER"

func TestACLs(t *testing.T) {
	const withAuthorizer = "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
	n := startNode(t, "--set", withAuthorizer, "--set", "super.users=User:ANONYMOUS")
	runACLScripts(t, n.address)
	without := startNode(t)
	for _, args := range [][]string{
		{"list"}, {"add", "--principal", "ann", "--principal", "bob", "--topic", "t", "--operation", "read"}, {"remove", "--principal", "ann", "--principal", "bob"},
	} {
		var out, errs bytes.Buffer
		code := (&app{stdout: &out, stderr: &errs}).run(t.Context(), append([]string{"acl", "-b", without.address}, args...))
		if code != statusFailed || strings.Count(errs.String(), "SECURITY_DISABLED") != 1 || !strings.Contains(errs.String(), "set authorizer.class.name") || out.Len() > 0 {
			t.Errorf("%v without an authorizer: %d, %s%s", args, code, out.String(), errs.String())
		}
	}
}

// What the script expects was seen of Apache Kafka.
func TestACLsOfAnotherNode(t *testing.T) {
	address := os.Getenv(foreignAuthorizer)
	if address == "" {
		t.Skipf("%s names no node", foreignAuthorizer)
	}
	runACLScripts(t, address)
}

func runACLScripts(t *testing.T, address string) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/acl",
		Setup: func(env *testscript.Env) error {
			env.Setenv(bootstrapVariable, address)
			env.Setenv("NAME", fmt.Sprintf("cli-%08x", rand.Uint32()))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"eventually": eventually},
	})
}

// TestClusterWhoseStateIsHidden: who may not see what is wrong is told that, and a script does not take the cluster for sound.
func TestClusterWhoseStateIsHidden(t *testing.T) {
	n := startNode(t, "--set", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", "--set", "super.users=User:keeper")
	var out bytes.Buffer
	a := &app{stdout: &out, stderr: &out}
	if code := a.run(t.Context(), []string{"cluster", "status", "-o", "json", "-b", n.address}); code != statusOK {
		t.Fatal(out.String())
	}
	var s clusterStatus
	if err := json.Unmarshal(out.Bytes(), &s); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	var told []string
	for _, p := range s.Problems {
		told = append(told, p.Problem)
	}
	if want := []string{errTopicsHidden.Error(), errQuorumHidden.Error(), errDrainsHidden.Error()}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	for _, args := range [][]string{{"cluster", "balance"}, {"node", "drain", "1", "--dry-run"}, {"cluster", "voters", "list"}} {
		if code, said := status(t, append(args, "-b", n.address)...); code != statusFailed || !strings.Contains(said, "not allowed to see") {
			t.Errorf("%v: %d, %s", args, code, said)
		}
	}
}

// TestAuthorizerThatLetsNobodyIn: nobody could mend it by ACLs, so that the node says it.
func TestAuthorizerThatLetsNobodyIn(t *testing.T) {
	const words = "nobody may do anything"
	class := []string{"--set", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
	for _, c := range []struct {
		args []string
		said bool
	}{
		{nil, true}, {[]string{"--set", "super.users=User:admin"}, false}, {[]string{"--set", "allow.everyone.if.no.acl.found=true"}, false},
	} {
		n := startNode(t, slices.Concat(class, c.args)...)
		n.kill()
		if said := strings.Contains(n.stderr.String(), words) && strings.Contains(n.stderr.String(), "super.users"); said != c.said {
			t.Errorf("%v: %s", c.args, n.stderr.String())
		}
	}
}
