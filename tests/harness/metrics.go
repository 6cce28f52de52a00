package harness

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// pageClient waits for a page however busy the machine is.
var pageClient = &http.Client{Timeout: Patience, Transport: &http.Transport{DisableKeepAlives: true}}

// Metric is the sum of a ringmill's metric over its labels; 0 if it has none of the name.
func (n *Node) Metric(tb testing.TB, name string) (sum float64) {
	tb.Helper()
	answer, err := pageClient.Get("http://" + n.HTTP + "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		sample, value, ok := strings.Cut(lines.Text(), " ")
		if base, _, _ := strings.Cut(sample, "{"); !ok || base != name {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			tb.Fatalf("metric line %q: %v", lines.Text(), err)
		}
		sum += v
	}
	return sum
}
