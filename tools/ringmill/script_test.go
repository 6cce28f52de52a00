package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ringmill": func() { os.Exit(run(context.Background(), os.Args[1:])) },
	})
}

// Scripts that need no node.
func TestOffline(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/offline"})
}

// foreignNode names a node of another make that the scripts are run against too, as host:port.
const foreignNode = "RINGMILL_TEST_BOOTSTRAP"

// The client commands are for any node that speaks Kafka's protocol. What the scripts expect was seen of Apache Kafka.
func TestAgainstAnotherNode(t *testing.T) {
	address := os.Getenv(foreignNode)
	if address == "" {
		t.Skipf("%s names no node", foreignNode)
	}
	runNodeScripts(t, address)
}

// runNodeScripts runs each script with names of its own, so that they share a node.
func runNodeScripts(t *testing.T, address string) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/node",
		Setup: func(env *testscript.Env) error {
			env.Setenv(bootstrapVariable, address)
			env.Setenv("NAME", fmt.Sprintf("cli-%08x", rand.Uint32()))
			return nil
		},
	})
}
