package load

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

// Client libraries whose producers a load may have besides its own.
const (
	Java       = "java"       // Apache Kafka's own
	Librdkafka = "librdkafka" // by its Python binding
)

// foreign is a producer in a process of its own, of another client library.
type foreign struct {
	child   *harness.Child
	history string // the file that it writes
}

// foreignProcess is the number of the first sender of the first foreign producer; the next one's is as much higher. Own senders have lower ones.
const foreignProcess = 1000

// AddForeign starts a producer of another client library, idempotent and with acks=all too, and returns when a record of it was acknowledged.
// enter is what its command line begins with.
func (l *Load) AddForeign(library string, enter []string) {
	l.tb.Helper()
	f := &foreign{history: filepath.Join(l.tb.TempDir(), library+".jsonl")}
	var addresses []string
	for _, n := range l.nodes {
		addresses = append(addresses, n.Address)
	}
	args := []string{strings.Join(addresses, ","), l.Topic, fmt.Sprint(l.Options.Partitions), fmt.Sprint(foreignProcess * (1 + len(l.foreign))),
		fmt.Sprint(l.Options.ValueBytes), fmt.Sprint(l.Options.Pace.Milliseconds()), f.history}
	var argv []string
	switch library {
	case Java:
		argv = harness.JavaApp(l.tb, "Numbered", args...)
	case Librdkafka:
		python := harness.Python(l.tb, "venv-ck", "confluent_kafka", "confluent-kafka==2.16.1")
		argv = append([]string{python, filepath.Join(harness.Root(), "tests", "peers", "numbered.py")}, args...)
	default:
		l.tb.Fatalf("BUG: no producer of %q", library)
	}
	f.child = harness.StartChild(l.tb, slices.Concat(enter, argv)...)
	l.foreign = append(l.foreign, f)
	harness.Await(l.tb, "a record of "+library+" is acknowledged", func() bool {
		text, err := os.ReadFile(f.history)
		return err == nil && strings.Contains(string(text), `"ok"`)
	})
}

// finish ends the producer, which waits for what it has sent; a record that it has given up is its exit status.
func (f *foreign) finish(tb testing.TB) {
	tb.Helper()
	f.child.Terminate(tb)
	if status := f.child.ExitStatus(); status != 0 {
		tb.Errorf("the producer of %s ended with status %d", filepath.Base(f.history), status)
	}
}
