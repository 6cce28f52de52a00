package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/ringmill/ringmill/bench"
)

// table collects figures by case and name, in the order of their first appearance.
type table struct {
	rows []*row
	// doubts are the runs whose figures may be the generator's own, a line each.
	doubts []string
}

// row is one figure of one case on both servers, a value a round.
type row struct {
	title  string
	figure figure
	values map[string]bench.Sample
}

// note adds one run's figures.
func (t *table) note(title, server string, figures []figure) {
	for _, f := range figures {
		r := t.row(title, f)
		r.values[server] = append(r.values[server], f.value)
	}
}

// doubt notes why a run's figures may be worth nothing, if there is a reason.
func (t *table) doubt(title, server, reason string) {
	if reason != "" {
		t.doubts = append(t.doubts, fmt.Sprintf("In doubt: %s on %s: %s", title, server, reason))
	}
}

func (t *table) row(title string, f figure) *row {
	for _, r := range t.rows {
		if r.title == title && r.figure.name == f.name {
			return r
		}
	}
	r := &row{title: title, figure: f, values: map[string]bench.Sample{}}
	t.rows = append(t.rows, r)
	return r
}

// print writes the table as markdown.
func (t *table) print(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| case | figure | ringmill | Kafka | ratio (range) | better |\n|---|---|---:|---:|---|---|\n")
	t.each(&b, func(r *row) {
		ours, theirs := r.values["ringmill"], r.values["kafka"]
		fmt.Fprintf(&b, " %s | %s | %s | %s |", number(ours.Median()), number(theirs.Median()), r.ratio(), r.better())
	})
	_, err := io.WriteString(w, b.String())
	return err
}

// each writes a line for each row, whose values cells writes, and the doubts behind them. A case's name stands once.
func (t *table) each(b *strings.Builder, cells func(*row)) {
	last := ""
	for _, r := range t.rows {
		title := r.title
		if title == last {
			title = ""
		}
		last = r.title
		fmt.Fprintf(b, "| %s | %s, %s |", title, r.figure.name, r.figure.unit)
		cells(r)
		b.WriteString("\n")
	}
	for _, d := range t.doubts {
		fmt.Fprintf(b, "\n%s\n", d)
	}
}

// printPeers writes a table of several servers, each but the first with the first one's ratio to it.
func (t *table) printPeers(w io.Writer, names []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| case | figure | %s |", names[0])
	for _, name := range names[1:] {
		fmt.Fprintf(&b, " %s | ratio (range) |", name)
	}
	b.WriteString("\n|---|---|---:|" + strings.Repeat("---:|---|", len(names)-1) + "\n")
	t.each(&b, func(r *row) {
		fmt.Fprintf(&b, " %s |", number(r.values[names[0]].Median()))
		for _, name := range names[1:] {
			fmt.Fprintf(&b, " %s | %s |", number(r.values[name].Median()), ratioOf(r.values[names[0]].Ratios(r.values[name])))
		}
	})
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *row) ratios() bench.Sample { return r.values["ringmill"].Ratios(r.values["kafka"]) }

// ratio is that of ringmill to Kafka.
func (r *row) ratio() string { return ratioOf(r.ratios()) }

// ratioOf is the median of the pairs' ratios with their range.
func ratioOf(ratios bench.Sample) string {
	if m := ratios.Median(); math.IsNaN(m) || math.IsInf(m, 0) {
		return "-"
	}
	least, greatest := ratios.Range()
	return fmt.Sprintf("%s (%s to %s)", number(ratios.Median()), number(least), number(greatest))
}

// better names the better one if every pair agrees on it.
func (r *row) better() string {
	least, greatest := r.ratios().Range()
	switch {
	case least > 1:
		return choose(r.figure.moreIsBetter, "ringmill", "Kafka")
	case greatest < 1:
		return choose(r.figure.moreIsBetter, "Kafka", "ringmill")
	}
	return "~"
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// number prints three significant digits, and no exponent.
func number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case size >= 100:
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 1 || size == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
