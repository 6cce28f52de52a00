package page

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/bench"
)

// Compare writes the page of a comparison of two sides' runs, which command repeats; it is empty where the runs are not made again. Errors are as Run's.
func Compare(w io.Writer, c *bench.Comparison, sideA, sideB []*bench.Report, command string) error {
	d := document{Title: "ringmill bench compare", Verdict: verdictOfComparison(c), Reading: []string{readingOfComparison(c)}, Command: command,
		Facts: []facts{factsOfSide("A", &c.A), factsOfSide("B", &c.B)}, Foot: fmt.Sprintf("%s, written by ringmill bench.", c.Schema)}
	if len(c.Figures) > 0 {
		d.Sections = append(d.Sections, ratiosOf(c), runsOf("p99", "Response at 99 %, run by run", sideA, sideB), runsOf("rate", "Rate, run by run", sideA, sideB))
	}
	if c.Stages != nil {
		d.Sections = append(d.Sections, stagesCompared(c.Stages)...)
	}
	if len(c.Differs) > 0 {
		g := grid{Caption: "What differs", Head: []string{"", "A, B"}}
		for _, text := range c.Differs {
			name, values, _ := strings.Cut(text, ": ")
			g.Rows = append(g.Rows, []string{name, values})
		}
		d.Sections = append(d.Sections, section{ID: "differences", Title: "What differs", Table: g})
	}
	return pages.Execute(w, d)
}

func verdictOfComparison(c *bench.Comparison) verdict {
	v := verdict{Class: bench.VerdictValid, Word: "Valid"}
	for _, side := range []struct {
		name string
		of   *bench.Side
	}{{"A", &c.A}, {"B", &c.B}} {
		if side.of.LostRequests > 0 {
			v.Reasons = append(v.Reasons, fmt.Sprintf("%s: %s acknowledged requests reached no consumer", side.name, count(side.of.LostRequests)))
		}
		if side.of.Runs == 0 {
			v.Reasons = append(v.Reasons, side.name+": it has no valid run")
		}
	}
	if len(v.Reasons) > 0 {
		v.Class, v.Word = bench.VerdictInvalid, notBelieved
	}
	return v
}

// readingOfComparison says what differs beyond doubt.
func readingOfComparison(c *bench.Comparison) string {
	words := map[string][]string{}
	for _, f := range c.Figures {
		words[f.Verdict] = append(words[f.Verdict], fmt.Sprintf("%s (%.2f)", f.Measure, f.Ratio))
	}
	var said []string
	for _, v := range []string{bench.VerdictBetter, bench.VerdictWorse} {
		if len(words[v]) > 0 {
			said = append(said, fmt.Sprintf("B is %s in %s", v, strings.Join(words[v], ", ")))
		}
	}
	switch {
	case len(said) > 0:
		return strings.Join(said, "; ") + "."
	case len(words[bench.VerdictTooFew]) > 0:
		return "There are too few runs for a verdict: each side needs four."
	case len(c.Figures) == 0:
		return "There is nothing to compare."
	}
	return "No difference was seen."
}

func factsOfSide(name string, s *bench.Side) facts {
	f := facts{Title: name, Rows: [][2]string{{"nodes", strings.Join(s.Addresses, ", ")}, {"valid runs", fmt.Sprint(s.Runs)}}}
	for _, why := range s.LeftOut {
		f.Rows = append(f.Rows, [2]string{"left out", why})
	}
	return f
}

// ratiosOf shows each measure's ratio with its interval.
func ratiosOf(c *bench.Comparison) section {
	chart := rowChart{id: "ratios", title: "B against A", mark: 1, x: axis{"B/A, on a logarithmic scale", nil},
		desc: "For each measure a bar over the interval that holds the ratio of B to A in 95 of 100 cases, with a dot at the ratio; a line at 1."}
	g := grid{Caption: "Measures", Head: []string{"", "A", "B", "B/A", "B is", "95 % interval", "P", "run to run"}}
	least, most := 1.0, 1.0
	for _, f := range c.Figures {
		low, high, interval := f.Ratio, f.Ratio, "–"
		if f.Low > 0 {
			low, high, interval = f.Low, f.High, fmt.Sprintf("%.3f to %.3f", f.Low, f.High)
		}
		least, most = min(least, low), max(most, high)
		style := map[string]int{bench.VerdictBetter: 2, bench.VerdictWorse: 6}[f.Verdict]
		if f.Verdict == bench.VerdictSame || f.Verdict == bench.VerdictTooFew {
			style = 5
		}
		chart.rows = append(chart.rows, row{name: f.Measure + ": " + f.Verdict, style: style, from: low, to: high, at: f.Ratio})
		g.Rows = append(g.Rows, []string{f.Measure, measured(f.A, f.Unit), measured(f.B, f.Unit), fmt.Sprintf("%.3f", f.Ratio), f.Verdict, interval,
			fmt.Sprintf("%.3f", f.P), fmt.Sprintf("%.1f %%", f.Noise*100)})
	}
	chart.x.scale = newRatios(least, most)
	return section{ID: "ratios", Title: "B against A", Plot: chart.svg(), Table: g, Note: "The ratio with the interval that holds it in 95 of 100 cases; where it leaves out 1, the difference is beyond doubt."}
}

// runsOf draws a measure over the valid runs of both sides in their order, so that a trend can be seen.
func runsOf(measure, title string, sides ...[]*bench.Report) section {
	m := measureNamed(measure)
	var lines []line
	g := grid{Caption: title, Head: []string{"run"}}
	most := 0
	for i, name := range []string{"A", "B"} {
		l := line{name: name, style: i}
		for n, value := range m.Sample(inOrder(sides[i])) {
			l.points = append(l.points, point{x: float64(n + 1), y: value * perUnit(m.Unit)})
		}
		lines, most = append(lines, l), max(most, len(l.points))
		g.Head = append(g.Head, name)
	}
	label := labelOf(m.Unit)
	for n := range most {
		cells := []string{fmt.Sprint(n + 1)}
		for _, l := range lines {
			cell := "–"
			if n < len(l.points) {
				cell = label(l.points[n].y)
			}
			cells = append(cells, cell)
		}
		g.Rows = append(g.Rows, cells)
	}
	low, high := extent(lines)
	c := chart{id: measure, title: title, desc: "A line for each side, over its valid runs in their order, on a logarithmic scale.", lines: lines,
		x: axis{"run", newSpan(float64(most)+0.5, wholeLabel)}, y: axis{"", newLogarithmic(low, high, label)}}
	return section{ID: measure, Title: title, Plot: c.svg(), Legend: legend(lines), Table: g, Folded: most > readingMost}
}

// wholeLabel leaves out what lies between runs.
func wholeLabel(v float64) string {
	if v != math.Trunc(v) || v == 0 {
		return ""
	}
	return secondLabel(v)
}

// inOrder are the valid runs of a side as they began.
func inOrder(side []*bench.Report) []*bench.Report {
	valid := slices.DeleteFunc(slices.Clone(side), func(r *bench.Report) bool { return r.Verdict != bench.VerdictValid })
	slices.SortStableFunc(valid, func(a, b *bench.Report) int { return a.Started.Compare(b.Started) })
	return valid
}
