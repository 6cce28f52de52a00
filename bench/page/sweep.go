package page

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/ringmill/ringmill/bench"
)

// Sweep writes the page of a bench sweep, which command repeats. Errors are as Run's.
func Sweep(w io.Writer, s *bench.Sweep, command string) error {
	d := document{Title: "ringmill bench sweep", Verdict: verdictOfSweep(s), Command: command,
		Foot: fmt.Sprintf("%d settings, %s, written by ringmill bench.", len(s.Points), s.Schema)}
	for i := range s.Points {
		d.Reading = append(d.Reading, readingOfPoint(&s.Points[i], s.Bounds))
	}
	if len(d.Reading) > readingMost {
		d.Reading = []string{fmt.Sprintf("%d choices of settings, in the table.", len(s.Points))}
	}
	if bars := ratesBySettings(s); len(bars.Table.Rows) > 0 {
		d.Sections = append(d.Sections, bars, latenciesBySettings(s))
	}
	if stages, has := stagesBySettings(s); has {
		d.Sections = append(d.Sections, stages)
	}
	var runs []Named
	for i := range s.Points {
		for n, r := range s.Points[i].Runs {
			runs = append(runs, Named{strings.TrimSpace(fmt.Sprintf("%s %d", bench.NameSettings(s.Points[i].Settings), n+1)), r})
		}
	}
	if len(runs) > 0 {
		all := throughputAgainstLatency(runs)
		all.ID, all.Title, all.Note = "runs", "All runs", "Each run that there was, also of rates that did not hold. "+all.Note
		all.Folded = all.Plot != "" && len(runs) > readingMost
		d.Sections = append(d.Sections, all)
		d.Facts = append(d.Facts, alike(runs))
	}
	return pages.Execute(w, d)
}

// readingMost is how many sentences a reader is given.
const readingMost = 6

// nameOf is what a point is called on a page.
func nameOf(p *bench.SweepPoint) string {
	if name := bench.NameSettings(p.Settings); name != "" {
		return name
	}
	return "as it is"
}

func verdictOfSweep(s *bench.Sweep) verdict {
	v := verdict{Class: bench.VerdictValid, Word: "Valid"}
	for i := range s.Points {
		switch p := &s.Points[i]; {
		case p.Failed != "":
			v.Reasons = append(v.Reasons, nameOf(p)+": no rate holds: "+p.Failed)
		case p.ClientLimited:
			v.Reasons = append(v.Reasons, nameOf(p)+": the client was the limit, not the node")
		case p.Found == nil && len(s.Bounds) > 0 && len(p.Runs) > 0:
			v.Reasons = append(v.Reasons, nameOf(p)+": it broke off before a rate was found")
		case len(p.Runs) == 0:
			v.Reasons = append(v.Reasons, nameOf(p)+": it broke off before there was a run")
		}
	}
	if len(v.Reasons) > 0 {
		v.Class, v.Word = bench.VerdictInvalid, "Not all of it is valid"
	}
	return v
}

func readingOfPoint(p *bench.SweepPoint, bounds []string) string {
	name, held := "", strings.Join(bounds, " and ")
	if set := bench.NameSettings(p.Settings); set != "" {
		name = "With " + set + ": "
	}
	switch {
	case p.Failed != "":
		return fmt.Sprintf("%sno rate holds %s: %s.", name, held, p.Failed)
	case p.Found != nil && p.Found.Above > 0:
		return fmt.Sprintf("%s%s holds up to %s records/s; at %s it does not: %s.", name, held, bench.FormatCount(p.Found.Rate), bench.FormatCount(p.Found.Above), p.Found.Broken)
	case p.Found != nil:
		return fmt.Sprintf("%s%s holds at %s records/s.", name, held, bench.FormatCount(p.Found.Rate))
	case held != "":
		return fmt.Sprintf("%sno rate that holds %s was found before it broke off.", name, held)
	}
	rate, _ := median(p, "rate")
	p99, has := median(p, "p99")
	if !has {
		return name + "nothing was acknowledged."
	}
	return fmt.Sprintf("%s%s records/s, 99 %% within %s.", name, bench.FormatCount(rate), bench.FormatLatency(p99))
}

// median is that of a measure over a point's runs: a latency in microseconds, or records a second.
func median(p *bench.SweepPoint, measure string) (float64, bool) {
	m := measureNamed(measure)
	v, has := m.Median(p.Shown())
	return v * perUnit(m.Unit), has
}

// shownPoints are those that have a result.
func shownPoints(s *bench.Sweep) (all []*bench.SweepPoint) {
	for i := range s.Points {
		if p := &s.Points[i]; len(p.Shown()) > 0 && p.Failed == "" {
			all = append(all, p)
		}
	}
	return all
}

// ratesBySettings has a bar for each point.
func ratesBySettings(s *bench.Sweep) section {
	c := rowChart{id: "rates", title: "Rate by settings", desc: "A bar for each choice of settings: the records a second.", mark: math.NaN(), x: axis{"records/s", nil}}
	g := grid{Caption: "Rates", Head: []string{"", "records/s", "bytes/s"}}
	most := 0.0
	for _, p := range shownPoints(s) {
		rate, has := median(p, "rate")
		if !has {
			continue // nothing was acknowledged
		}
		most = max(most, rate)
		c.rows = append(c.rows, row{name: nameOf(p), to: rate, at: math.NaN()})
		bytes := 0.0
		for _, r := range p.Shown() {
			bytes += r.Produced.BytesPerSecond / float64(len(p.Shown()))
		}
		g.Rows = append(g.Rows, []string{nameOf(p), bench.FormatCount(rate), bench.FormatBytes(bytes)})
	}
	c.x.scale = newLinear(most, rateLabel)
	note := "Medians of the runs."
	if len(s.Bounds) > 0 {
		note = "The highest rate that holds " + strings.Join(s.Bounds, " and ") + "."
	}
	return section{ID: "rates", Title: "Rate by settings", Plot: c.svg(), Table: g, Note: note}
}

// latenciesBySettings has a bar for each point from the median to the 99.9th percentile, with a dot at the 99th.
func latenciesBySettings(s *bench.Sweep) section {
	c := rowChart{id: "latencies", title: "Latency by settings", mark: math.NaN(), x: axis{"response, on a logarithmic scale", nil},
		desc: "A bar for each choice of settings, from the 50th to the 99.9th percentile of the response, with a dot at the 99th, on a logarithmic scale."}
	g := grid{Caption: "Latencies", Head: []string{"", "50 %", "99 %", "99.9 %"}}
	least, most := math.Inf(1), 0.0
	for _, p := range shownPoints(s) {
		p50, _ := median(p, "p50")
		p99, _ := median(p, "p99")
		p999, has := median(p, "p99.9")
		if !has {
			continue // nothing was acknowledged
		}
		least, most = min(least, p50), max(most, p999)
		c.rows = append(c.rows, row{name: nameOf(p), style: 2, from: p50, to: p999, at: p99})
		g.Rows = append(g.Rows, []string{nameOf(p), bench.FormatLatency(p50), bench.FormatLatency(p99), bench.FormatLatency(p999)})
	}
	c.x.scale = newLogarithmic(least, most, latencyLabel)
	return section{ID: "latencies", Title: "Latency by settings", Plot: c.svg(), Table: g, Note: "Medians of the runs: from 50 % to 99.9 %, with a dot at 99 %."}
}
