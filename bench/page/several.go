package page

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/bench"
)

// Named is a result with what it is called on a page, such as its file's name.
type Named struct {
	Name   string
	Report *bench.Report
}

// Several writes a page that holds results against each other: throughput against latency, and percentiles. Errors are as Run's.
func Several(w io.Writer, results []Named) error {
	curves, err := overlay(results)
	if err != nil {
		return err
	}
	d := document{Title: "ringmill bench report", Verdict: verdictOfAll(results), Reading: []string{readingOf(results)},
		Sections: []section{throughputAgainstLatency(results), curves}, Facts: []facts{alike(results)},
		Foot: fmt.Sprintf("%d results of %s, written by ringmill bench.", len(results), bench.ReportSchema)}
	if g := differing(results); len(g.Rows) > 0 {
		d.Sections = append(d.Sections, section{ID: "differences", Title: "What differs", Table: g, Note: "Of configurations and hosts, by the names of the results."})
	}
	return pages.Execute(w, d)
}

// verdictOfAll is that of the worst.
func verdictOfAll(results []Named) verdict {
	v := verdict{Class: bench.VerdictValid, Word: "All are valid"}
	for _, r := range results {
		if r.Report.Verdict == bench.VerdictValid {
			continue
		}
		one := verdictOf(r.Report.Verdict, r.Report.Error, r.Report.Reasons)
		if v.Class != bench.VerdictInvalid {
			v.Class = one.Class
		}
		for _, reason := range one.Reasons {
			v.Reasons = append(v.Reasons, r.Name+": "+reason)
		}
		v.Word = "Some are not valid: their points are hollow"
	}
	return v
}

// readingOf names the ends of what was measured.
func readingOf(results []Named) string {
	sorted := byThroughput(results)
	first, last := sorted[0], sorted[len(sorted)-1]
	end := func(r Named) string {
		p := &r.Report.Produced
		if p.Latency.Count == 0 {
			return fmt.Sprintf("nothing that was acknowledged (%s)", r.Name)
		}
		return fmt.Sprintf("%s records/s with 99 %% within %s (%s)", bench.FormatCount(p.RecordsPerSecond), bench.FormatLatency(p.Latency.P99Us), r.Name)
	}
	return fmt.Sprintf("From %s to %s.", end(first), end(last))
}

func byThroughput(results []Named) []Named {
	return slices.SortedStableFunc(slices.Values(results), func(a, b Named) int {
		return int(math.Copysign(1, a.Report.Produced.RecordsPerSecond-b.Report.Produced.RecordsPerSecond))
	})
}

// Ratios of the greatest rate to the least: from spread on a logarithmic scale shows them better, and below alikeMax they are all the same on any.
const (
	spread   = 20
	alikeMax = 1.05
)

func throughputAgainstLatency(results []Named) section {
	sorted := byThroughput(results)
	through := func(name string, style int, of func(bench.LatencyFigure) float64) line {
		l := line{name: name, style: style}
		for _, r := range sorted {
			l.points = append(l.points, point{x: r.Report.Produced.RecordsPerSecond, y: of(r.Report.Produced.Latency), hollow: r.Report.Verdict != bench.VerdictValid})
		}
		return l
	}
	lines := []line{
		through("50 %", 0, func(f bench.LatencyFigure) float64 { return f.P50Us }),
		through("99 %", 1, func(f bench.LatencyFigure) float64 { return f.P99Us }),
		through("99.9 %", 2, func(f bench.LatencyFigure) float64 { return f.P999Us }),
	}
	least, most := sorted[0].Report.Produced.RecordsPerSecond, sorted[len(sorted)-1].Report.Produced.RecordsPerSecond
	x := axis{"records/s", newLinear(most, rateLabel)}
	if least > 0 && most/least >= spread {
		x.scale = newLogarithmic(least, most, rateLabel)
	}
	low, high := extent(lines)
	c := chart{id: "curve", title: "Latency against throughput", desc: "Lines of the 50th, 99th and 99.9th percentile of the response, on a logarithmic scale, against the records a second that were acknowledged; a point for each result.",
		lines: lines, x: x, y: axis{"", newLogarithmic(low, high, latencyLabel)}}
	s := section{ID: "curve", Title: "Latency against throughput", Table: resultsTable(sorted), Note: "From the instant at which a request was due to its acknowledgement, except for closed loops."}
	if len(sorted) == 1 || most/least >= alikeMax {
		s.Plot, s.Legend = c.svg(), legend(lines)
	}
	return s
}

// resultsTable has a row for each result.
func resultsTable(results []Named) grid {
	g := grid{Caption: "Results", Head: []string{"", "verdict", "records/s", "50 %", "99 %", "99.9 %", "end to end 99 %"}}
	for _, r := range results {
		p, endToEnd := &r.Report.Produced, "–"
		if r.Report.Consumed != nil {
			endToEnd = cellOf(r.Report.Consumed.Latency, r.Report.Consumed.Latency.P99Us)
		}
		g.Rows = append(g.Rows, []string{r.Name, r.Report.Verdict, bench.FormatCount(p.RecordsPerSecond), cellOf(p.Latency, p.Latency.P50Us),
			cellOf(p.Latency, p.Latency.P99Us), cellOf(p.Latency, p.Latency.P999Us), endToEnd})
	}
	return g
}

// overlay draws the responses' percentiles of the first results over each other.
func overlay(results []Named) (section, error) {
	var curves []figure
	for i, r := range results[:min(len(results), stylesMax)] {
		all, err := bench.DecodeHistogram(r.Report.Produced.Histogram)
		if err != nil {
			return section{}, fmt.Errorf("%s: %w", r.Name, err)
		}
		curves = append(curves, figure{r.Name, i, r.Report.Produced.Latency, all})
	}
	c, lines := percentileChart("percentiles", "Response by percentile", curves)
	s := section{ID: "percentiles", Title: "Response by percentile", Plot: c.svg(), Legend: legend(lines)}
	if len(results) > stylesMax {
		s.Note = fmt.Sprintf("The first %d of %d results.", stylesMax, len(results))
	}
	s.Table = grid{Caption: "Responses", Head: []string{""}}
	for _, p := range percentileFigures {
		s.Table.Head = append(s.Table.Head, p.name)
	}
	for _, f := range curves {
		row := []string{f.name}
		for _, p := range percentileFigures {
			row = append(row, cellOf(f.figure, p.us(f.figure)))
		}
		s.Table.Rows = append(s.Table.Rows, row)
	}
	return s, nil
}

// settings are a result's configuration and host as names and values.
func settings(r *bench.Report) (names []string, values map[string]string) {
	values = map[string]string{}
	for _, part := range []any{r.Config, r.Host} {
		text, err := json.Marshal(part)
		if err != nil {
			panic("BUG: a result cannot be written: " + err.Error())
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			panic("BUG: a result cannot be read again: " + err.Error())
		}
		for name, value := range fields {
			if name != "topic" { // a name drawn for each run
				names = append(names, name)
				values[name] = string(value)
			}
		}
	}
	slices.Sort(names)
	return names, values
}

// compared are the names of settings with each result's value.
func compared(results []Named) (names []string, values []map[string]string) {
	for _, r := range results {
		n, v := settings(r.Report)
		names, values = append(names, n...), append(values, v)
	}
	slices.Sort(names)
	return slices.Compact(names), values
}

func same(name string, values []map[string]string) bool {
	for _, v := range values {
		if v[name] != values[0][name] {
			return false
		}
	}
	return true
}

// differing is a table of the settings that are not the same in all results.
func differing(results []Named) grid {
	names, values := compared(results)
	g := grid{Caption: "What differs", Head: []string{""}}
	var which []string
	for _, name := range names {
		if !same(name, values) {
			which = append(which, name)
		}
	}
	g.Head = append(g.Head, which...)
	if len(which) == 0 {
		return g
	}
	for i, r := range results {
		row := []string{r.Name}
		for _, name := range which {
			row = append(row, plain(values[i][name]))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// alike are the settings that all results have.
func alike(results []Named) facts {
	names, values := compared(results)
	f := facts{Title: "What is the same, by the names of the results"}
	for _, name := range names {
		if value := plain(values[0][name]); same(name, values) && value != "" {
			f.Rows = append(f.Rows, [2]string{name, value})
		}
	}
	return f
}

// plain is a JSON value for people.
func plain(value string) string {
	var text string
	if json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal([]byte(value), &list) == nil {
		return strings.Join(list, ", ")
	}
	return value
}
