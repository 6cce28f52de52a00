package harness

import (
	"bufio"
	"strconv"
	"strings"
	"testing"
)

// Sample is one figure of a ringmill's metrics, by its name and labels as they are shown; 0 if there is none.
func (n *Node) Sample(tb testing.TB, name string) (v float64) {
	tb.Helper()
	n.samples(tb, func(sample string, value float64) {
		if sample == name {
			v = value
		}
	})
	return v
}

// Metric is the sum of a ringmill's metric over its labels; 0 if it has none of the name.
func (n *Node) Metric(tb testing.TB, name string) (sum float64) {
	tb.Helper()
	n.samples(tb, func(sample string, value float64) {
		if base, _, _ := strings.Cut(sample, "{"); base == name {
			sum += value
		}
	})
	return sum
}

// samples calls f with each sample of a ringmill's metrics, by its name and labels.
func (n *Node) samples(tb testing.TB, f func(sample string, value float64)) {
	tb.Helper()
	answer, err := n.web(Patience).Get("http://" + n.HTTP + "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		line := lines.Text()
		end := strings.LastIndexByte(line, ' ') // labels may have spaces in them
		if end < 0 || line[0] == '#' {
			continue
		}
		v, err := strconv.ParseFloat(line[end+1:], 64)
		if err != nil {
			tb.Fatalf("metric line %q: %v", line, err)
		}
		f(line[:end], v)
	}
}
