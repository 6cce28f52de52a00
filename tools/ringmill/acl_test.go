package main

import (
	"fmt"
	"math/rand/v2"
	"os"
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
	if code, said := status(t, "acl", "list", "-b", startNode(t).address); code != statusFailed || !strings.Contains(said, "SECURITY_DISABLED") {
		t.Errorf("without an authorizer: %d, %s", code, said)
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
