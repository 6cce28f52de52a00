package node

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/metrics.md names every metric of the node, and none that there is not.
func TestMetricsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	tn := startNode(t, nodeOptions{})
	var exposed bytes.Buffer
	tn.metrics.write(&exposed)
	name := regexp.MustCompile(`ringmill_[a-z_]+[a-z]`)
	there := make(map[string]bool)
	for _, line := range strings.Split(exposed.String(), "\n") {
		if family, ok := strings.CutPrefix(line, "# TYPE "); ok {
			there[name.FindString(family)] = true
		}
	}
	documented := make(map[string]bool)
	for _, n := range name.FindAllString(string(page), -1) {
		documented[n] = true
		if !there[n] {
			t.Errorf("docs/metrics.md names %s, which is not exposed", n)
		}
	}
	for n := range there {
		if n != "" && !documented[n] {
			t.Errorf("%s is not in docs/metrics.md", n)
		}
	}
}
