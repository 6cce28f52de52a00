package tests

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/tests/harness"
)

func script(name string) string {
	return filepath.Join(harness.Root(), "tests", "compat", "clients", name)
}

// runChecks runs a client's script and makes each of its "ok NAME" and "FAIL NAME" lines a subtest.
func runChecks(t *testing.T, command harness.Command) {
	t.Helper()
	command.Timeout = 4 * time.Minute
	stdout, stderr, err := command.Try()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
	}
	checks := 0
	for line := range strings.Lines(stdout) {
		outcome, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if outcome != "ok" && outcome != "FAIL" {
			continue
		}
		checks++
		name, _, _ := strings.Cut(rest, " ")
		t.Run(name, func(t *testing.T) {
			if outcome == "FAIL" {
				t.Errorf("%s\n%s", rest, stderr)
			}
		})
	}
	if checks == 0 {
		t.Fatalf("no check ran:\n%s\n%s", stdout, stderr)
	}
}

func TestConfluentPython(t *testing.T) {
	t.Parallel()
	python := harness.Python(t, "venv-ck", "confluent_kafka", "confluent-kafka==2.16.1")
	runChecks(t, harness.Command{Argv: []string{python, script("confluent.py"), harness.Shared(t).Address}})
}

func TestKafkaPython(t *testing.T) {
	t.Parallel()
	python := harness.Python(t, "venv-kafka-python", "kafka", "kafka-python==3.0.12")
	runChecks(t, harness.Command{Argv: []string{python, script("kafkapython.py"), harness.Shared(t).Address}})
}

// kafkajs and @platformatic/kafka.
func TestNodeClients(t *testing.T) {
	t.Parallel()
	harness.Apt(t, "npm", "nodejs", "npm")
	dir := harness.NodeModules(t, "node-clients", "kafkajs@2.2.4", "@platformatic/kafka@2.12.1")
	runChecks(t, harness.Command{
		Env:  []string{"NODE_DIR=" + dir, "KAFKAJS_NO_PARTITIONER_WARNING=1"},
		Argv: []string{"node", script("node.mjs"), harness.Shared(t).Address},
	})
}
