package api

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

// keyLine is a line of the table of API keys: key, name, Kafka's versions, the versions that are advertised here.
var keyLine = regexp.MustCompile(`(?m)^\| (\d+) \| (\w+) \| [^|]+ \| ([^|]+) \|`)

// The table of API keys in docs/compatibility.md has every key that is served, with its versions, and nothing of the others.
func TestCompatibilityPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[wire.APIKey]bool{}
	for _, line := range keyLine.FindAllStringSubmatch(string(page), -1) {
		n, err := strconv.Atoi(line[1])
		if err != nil {
			t.Fatal(err)
		}
		key := wire.APIKey(n)
		if told[key] {
			t.Errorf("key %d has two lines", key)
		}
		told[key] = true
		if want := key.String(); line[2] != want {
			t.Errorf("key %d is called %s, not %s", key, line[2], want)
		}
		if got, want := strings.TrimSpace(line[3]), versionsTold(key); got != want {
			t.Errorf("%s: the page says %s, the node %s", key, got, want)
		}
	}
	for i := range rows {
		if !told[rows[i].key] {
			t.Errorf("%s has no line", rows[i].key)
		}
	}
}

// versionsTold is how the page writes a key's versions: 0–9, 1 for a single one, a dash for a key that is not served.
func versionsTold(key wire.APIKey) string {
	r, known := Served(key)
	switch {
	case !known:
		return "–"
	case key == wire.KeyProduce:
		r.Min = 0 // advertised and refused: see produceRow
	}
	if r.Min == r.Max {
		return fmt.Sprint(r.Min)
	}
	return fmt.Sprintf("%d–%d", r.Min, r.Max)
}
