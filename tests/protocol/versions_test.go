package protocol

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

var update = flag.Bool("update", false, "write testdata/versions again: only with RINGMILL_TEST_PEER=kafka, whose answers are the right ones")

// sweep is one API key: its exchanges are held at every version that the node advertises for it.
type sweep struct {
	key       wireKey
	exchanges []exchange
}

type wireKey int16

// lowest is where a key's sweep begins if not at the lowest version that the node advertises: what is below is answered
// otherwise than Apache Kafka on purpose, and has tests of its own.
var lowest = map[wireKey]int16{
	0: 3, // Produce: TestProduceOldVersions
	1: 4, // Fetch: TestFetchOldVersions
}

// exchange is one request and its answer.
type exchange struct {
	name string
	// request prepares what the request needs and builds it for the scene's version.
	request func(s *scene) kmsg.Request
	// trim takes out of the answer what other tests on the same node put there; nil if they can't.
	trim func(s *scene, answer kmsg.Response)
}

var sweeps = concat(logSweeps, metadataSweeps, groupSweeps, transactionSweeps, topicSweeps, configSweeps, nodeSweeps)

// TestEveryVersion holds the answer to each version of each advertised key against the one that Apache Kafka 4.1.1 gives,
// field by field. The answers are in testdata/versions, one file a key, written by
//
//	RINGMILL_TEST_PEER=kafka go test ./tests/protocol -run TestEveryVersion -update
//
// without what differs from one node or run to the next: see answerText.
func TestEveryVersion(t *testing.T) {
	t.Parallel()
	node := harness.Shared(t)
	if *update && !node.IsKafka() {
		t.Fatal("only Apache Kafka's answers are the right ones: RINGMILL_TEST_PEER=kafka")
	}
	dial(t, node).makeOffsetsTopic()
	dial(t, node).findTransactions(harness.Name("any"))
	rows := map[wireKey]*sweep{}
	for i := range sweeps {
		rows[sweeps[i].key] = &sweeps[i]
	}
	for _, api := range ask[*kmsg.ApiVersionsResponse](dial(t, node), 4, apiVersionsRequest()).ApiKeys {
		key := wireKey(api.ApiKey)
		row := rows[key]
		if row == nil {
			if _, known := notSwept[key]; !known {
				t.Errorf("%s is advertised and has no sweep", kmsg.NameForKey(api.ApiKey))
			}
			continue
		}
		name := fmt.Sprintf("%02d-%s", key, kmsg.NameForKey(api.ApiKey))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holdGolden(t, "versions", name, row.run(t, node, max(api.MinVersion, lowest[key]), api.MaxVersion))
		})
	}
}

// run is every exchange at every version. Versions that are answered alike share an entry.
func (s *sweep) run(t *testing.T, node *harness.Node, from, to int16) string {
	t.Helper()
	var out strings.Builder
	topic := ""
	for _, e := range s.exchanges {
		first, last := from, ""
		for version := from; version <= to; version++ {
			text := e.run(&scene{t: t, node: node, conn: dial(t, node), version: version, names: map[string]string{}, shared: &topic})
			if text != last && version > from {
				writeEntry(&out, e.name, first, version-1, last)
				first = version
			}
			last = text
		}
		writeEntry(&out, e.name, first, to, last)
	}
	return out.String()
}

// run closes its connection: a sweep has many scenes.
func (e *exchange) run(s *scene) string {
	t, version := s.t, s.version
	t.Helper()
	defer s.conn.net.Close()
	request := e.request(s)
	if t.Failed() {
		t.Fatalf("%s, version %d: see above", e.name, version)
	}
	request.SetVersion(version)
	answer := request.ResponseKind()
	body := s.conn.receive(s.conn.send(request), answer)
	if again := answer.AppendTo(nil); !bytes.Equal(again, body) {
		t.Errorf("%s, version %d: the answer is\n%x, and encoded again\n%x", e.name, version, body, again)
	}
	if e.trim != nil {
		e.trim(s, answer)
	}
	return s.answerText(answer)
}

func writeEntry(out *strings.Builder, name string, first, last int16, text string) {
	versions := fmt.Sprintf("v%d", first)
	if last != first {
		versions += fmt.Sprintf("-v%d", last)
	}
	fmt.Fprintf(out, "== %s %s\n%s\n", name, versions, text)
}

func holdGolden(t *testing.T, folder, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", folder, name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: %s", path, differences(got, string(want)))
	}
}

// differences shows the entries that only one of two texts has.
func differences(got, want string) string {
	g, w := strings.SplitAfter(got, "\n\n"), strings.SplitAfter(want, "\n\n")
	only := func(in, other []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(in), func(entry string) bool { return slices.Contains(other, entry) }), "")
	}
	return fmt.Sprintf("answered\n%swant\n%s", only(g, w), only(w, g))
}

func concat[T any](parts ...[]T) (all []T) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}
