package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

// kcat runs kcat (Debian's, on librdkafka 2.0.2) against the node.
func kcat(t *testing.T, node *harness.Node, input string, args ...string) string {
	t.Helper()
	return harness.Command{Argv: append([]string{"kcat", "-b", node.Address}, args...), Input: input}.Output(t)
}

// numbers are the lines 1 to count.
func numbers(count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintln(&b, i+1)
	}
	return b.String()
}

// A codec is kept as it was produced. librdkafka 2.0.2 leaves compression out without a word when the node's lowest Produce
// version is not 0 (confluentinc/librdkafka#4956), so the stored batch is what counts.
func TestKcatCodecsAreStored(t *testing.T) {
	t.Parallel()
	harness.Apt(t, "kcat", "kcat")
	node := harness.Shared(t)
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(numbers(2000)), 0o644); err != nil {
		t.Fatal(err)
	}
	for codec, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(name, func(t *testing.T) {
			topic := harness.Name("kcat-" + name)
			kcat(t, node, "", "-P", "-t", topic, "-p", "0", "-z", name, "-l", file)
			if got := kcat(t, node, "", "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q"); got != numbers(2000) {
				t.Errorf("%d bytes came back, %d went in", len(got), len(numbers(2000)))
			}
			wantCodec(t, node.Stored(t, topic, 0), codec)
		})
	}
}

// wantCodec looks at batches of some size: librdkafka sends what compression makes longer as it is.
func wantCodec(t *testing.T, batches []harness.StoredBatch, codec int) {
	t.Helper()
	judged := 0
	for _, batch := range batches {
		if batch.RecordCount < 100 {
			continue
		}
		judged++
		if batch.Codec != codec {
			t.Errorf("offset %d: %d records stored with codec %d, want %d", batch.BaseOffset, batch.RecordCount, batch.Codec, codec)
		}
	}
	if judged == 0 {
		t.Errorf("no batch of 100 records among %d", len(batches))
	}
}

func TestKcatKeysAndHeaders(t *testing.T) {
	t.Parallel()
	harness.Apt(t, "kcat", "kcat")
	node, topic := harness.Shared(t), harness.Name("kcat-keys")
	kcat(t, node, "k1:v1\n", "-P", "-t", topic, "-p", "0", "-K:", "-H", "a=1", "-H", "b=2")
	kcat(t, node, "k2:\n", "-P", "-t", topic, "-p", "0", "-K:", "-Z")
	got := kcat(t, node, "", "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-f", "%k|%s|%S|%h\\n")
	if want := "k1|v1|2|a=1,b=2\nk2||-1|\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKcatGroup(t *testing.T) {
	t.Parallel()
	harness.Apt(t, "kcat", "kcat")
	node, topic, group := harness.Shared(t), harness.Name("kcat-group"), harness.Name("kcat-group")
	kcat(t, node, numbers(2000), "-P", "-t", topic, "-p", "0", "-X", "enable.idempotence=true")
	read := func(count string) string {
		return kcat(t, node, "", "-G", group, "-X", "auto.offset.reset=earliest", "-c", count, "-q", topic)
	}
	if got := read("1500") + read("500"); got != numbers(2000) {
		t.Errorf("the group's two readers got %d lines", strings.Count(got, "\n"))
	}
}

func TestKcatOffsets(t *testing.T) {
	t.Parallel()
	harness.Apt(t, "kcat", "kcat")
	node, topic := harness.Shared(t), harness.Name("kcat-offsets")
	kcat(t, node, numbers(10), "-P", "-t", topic, "-p", "0")
	for query, want := range map[string]string{"-2": "0", "-1": "10", "0": "0", "99999999999999": "-1"} {
		got := kcat(t, node, "", "-Q", "-t", topic+":0:"+query)
		if !strings.Contains(got, "offset "+want) {
			t.Errorf("offset at %s: %q, want %s", query, got, want)
		}
	}
	if got := kcat(t, node, "", "-C", "-t", topic, "-p", "0", "-o", "-3", "-e", "-q"); got != "8\n9\n10\n" {
		t.Errorf("the last three: %q", got)
	}
	if got := kcat(t, node, "", "-L", "-J", "-t", topic); !strings.Contains(got, `"topic":"`+topic+`"`) {
		t.Errorf("metadata: %s", got)
	}
}
