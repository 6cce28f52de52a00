package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/ringmill/ringmill/bench"
)

//go:embed page.tmpl
var pageText string

//go:embed page.css
var pageStyle string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(pageStyle) },
	"nobreak": strings.NewReplacer(" %", "\u00a0%", "end to end 99", "end\u00a0to\u00a0end 99").Replace,
	"isWords": func(cell string) bool { return strings.Contains(cell, " ") && !strings.ContainsAny(cell, "0123456789") },
}).Parse(pageText))

// document is what the template fills in.
type document struct {
	Title    string
	Verdict  verdict
	Reading  []string
	Sections []section
	Facts    []facts
	Command  string
	Foot     string
}

// verdict is how far a result can be believed.
type verdict struct {
	Class, Word string // Class is also of the style
	Reasons     []string
}

// section is a plot with what it shows in a table.
type section struct {
	ID, Title, Note string
	Plot            template.HTML
	Legend          []entry
	Table           grid
	// Folded tables are long ones.
	Folded bool
}

type entry struct {
	Style int
	Name  string
	// Area is a part of a bar, and no line.
	Area bool
}

// grid is a table. The first column names the rows.
type grid struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// facts are names with values.
type facts struct {
	Title string
	Rows  [][2]string
}

// Run writes the page of one result. Errors are the writer's, or of a result whose histograms cannot be read.
func Run(w io.Writer, r *bench.Report) error {
	curves, err := readCurves(r)
	if err != nil {
		return err
	}
	d := document{Title: "ringmill bench run", Verdict: verdictOf(r.Verdict, r.Error, r.Reasons), Reading: []string{r.Reading()}, Command: r.Command,
		Facts: []facts{configurationOf(r), hostOf(r)}, Foot: footOf(r)}
	d.Sections = append(d.Sections, percentiles(r, curves), latencyOverTime(r), throughputOverTime(r))
	if r.Backlog != nil {
		d.Sections = append(d.Sections, backlog(r))
	}
	if r.Loop == "open" && r.Produced.Latency.Count > 0 {
		d.Sections = append(d.Sections, whereTheTimeWent(r), partsOverTime(r))
	}
	d.Sections = append(d.Sections, beside(r)...)
	return pages.Execute(w, d)
}

func footOf(r *bench.Report) string {
	return fmt.Sprintf("%s, window from %s UTC, written by ringmill bench.", r.Schema, r.Started.UTC().Format("2006-01-02 15:04:05"))
}

// notBelieved is what an invalid result's page begins with.
const notBelieved = "Invalid: the figures are not to be believed"

// verdictOf is one of package bench's verdicts, with the reasons for it or the error that ended the run.
func verdictOf(class, broke string, reasons []string) verdict {
	switch class {
	case bench.VerdictValid:
		return verdict{class, "Valid", reasons}
	case bench.VerdictInvalid:
		return verdict{class, notBelieved, reasons}
	}
	return verdict{class, "Partial: it broke off", append([]string{broke}, reasons...)}
}

// figure is one of a result's latencies, with its histogram.
type figure struct {
	name   string
	style  int
	figure bench.LatencyFigure
	all    *bench.Histogram // nil if the result does not have it
}

// responseName is what the latency of the acknowledgements is called.
func responseName(r *bench.Report) string {
	if r.Loop == "closed" {
		return "request (closed loop)"
	}
	return "response"
}

// readCurves are the latencies that a result has.
func readCurves(r *bench.Report) (all []figure, err error) {
	add := func(name string, style int, f bench.LatencyFigure, encoded string) {
		if err != nil || f.Count == 0 {
			return
		}
		kept := figure{name: name, style: style, figure: f}
		if encoded != "" {
			kept.all, err = bench.DecodeHistogram(encoded)
		}
		all = append(all, kept)
	}
	add(responseName(r), 0, r.Produced.Latency, r.Produced.Histogram)
	if r.Consumed != nil {
		add("end to end", 1, r.Consumed.Latency, r.Consumed.Histogram)
	}
	if r.Loop == "open" {
		add("from sending", 2, r.Service, r.ServiceHistogram)
		add("generator late", 3, r.Lag, r.LagHistogram)
	}
	return all, err
}

// perDecade is how many points a curve has from one nine to the next.
const perDecade = 20

// curve is a histogram's quantiles, up to its greatest value.
func curve(f figure) line {
	l := line{name: f.name, style: f.style}
	end := newTail(f.all.Count()).nines
	for i := 0; float64(i)/perDecade < end; i++ {
		q := 1 - math.Pow(10, -float64(i)/perDecade)
		l.points = append(l.points, point{x: q, y: microseconds(f.all.Quantile(q).Nanoseconds())})
	}
	l.points = append(l.points, point{x: 1 - math.Pow(10, -end), y: microseconds(f.all.Max().Nanoseconds())})
	return l
}

func microseconds(ns int64) float64 { return float64(ns) / 1e3 }

// percentileChart draws curves of histograms.
func percentileChart(id, title string, curves []figure) (chart, []line) {
	var lines []line
	most := int64(0)
	for _, f := range curves {
		if f.all != nil {
			lines = append(lines, curve(f))
			most = max(most, f.all.Count())
		}
	}
	low, high := extent(lines)
	return chart{id: id, title: title, lines: lines, bare: true, desc: "Latency on a logarithmic scale against the percentile, whose scale is stretched towards 100 %.",
		x: axis{"percent of requests that took no longer", newTail(most)}, y: axis{"", newLogarithmic(low, high, latencyLabel)}}, lines
}

// percentileFigures are what tables have of a latency, in microseconds.
var percentileFigures = []struct {
	name string
	us   func(bench.LatencyFigure) float64
}{
	{"mean", func(f bench.LatencyFigure) float64 { return f.MeanUs }},
	{"50 %", func(f bench.LatencyFigure) float64 { return f.P50Us }},
	{"90 %", func(f bench.LatencyFigure) float64 { return f.P90Us }},
	{"99 %", func(f bench.LatencyFigure) float64 { return f.P99Us }},
	{"99.9 %", func(f bench.LatencyFigure) float64 { return f.P999Us }},
	{"greatest", func(f bench.LatencyFigure) float64 { return f.MaxUs }},
}

func percentiles(r *bench.Report, curves []figure) section {
	shown := curves
	if len(shown) > 3 {
		shown = shown[:3] // the generator's own lateness is in the table, and in a plot of its own
	}
	c, lines := percentileChart("percentiles", "Latency by percentile", shown)
	s := section{ID: "percentiles", Title: "Latency by percentile", Plot: c.svg(), Legend: legend(lines)}
	s.Table = grid{Caption: "Latencies", Head: []string{""}}
	for _, f := range curves {
		s.Table.Head = append(s.Table.Head, f.name)
	}
	for _, p := range percentileFigures {
		cells := []string{p.name}
		for _, f := range curves {
			cells = append(cells, bench.FormatLatency(p.us(f.figure)))
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	counts := []string{"count"}
	for _, f := range curves {
		counts = append(counts, count(f.figure.Count))
	}
	s.Table.Rows = append(s.Table.Rows, counts)
	s.Note = noteOnLatencies(r)
	return s
}

// noteOnLatencies says from when to when a result's latencies are.
func noteOnLatencies(r *bench.Report) string {
	switch {
	case r.Loop == "closed":
		return "Of single requests: a closed loop sends less while the node stalls, and has no response time."
	case r.Consumed == nil:
		return "From the instant at which a request was due to its acknowledgement."
	}
	note := "From the instant at which a request was due to its acknowledgement (response) or to a consumer (end to end)."
	if r.Backlog != nil {
		note += " What records waited in the backlog is in end to end."
	}
	return note
}

func legend(lines []line) (all []entry) {
	for _, l := range lines {
		all = append(all, entry{Style: l.style % stylesMax, Name: l.name})
	}
	return all
}

// whereTheTimeWent splits the mean latency, whose parts add up as percentiles' would not.
func whereTheTimeWent(r *bench.Report) section {
	lag, service, response := r.Lag.MeanUs, r.Service.MeanUs, r.Produced.Latency.MeanUs
	waiting, note := "waiting to be sent", "Parts of the mean, which add up. What waits to be sent waits for answers to what is out, for a leader, or for a connection."
	if r.Config.TransactionRecords > 0 {
		waiting, note = "waiting to be sent, and for the commit", "Parts of the mean, which add up. A record is acknowledged when its transaction is committed."
	}
	whole := bar{shares: []share{
		{"generator late", 3, lag},
		{waiting, 4, max(0, response-service-lag)},
		{"from sending to the acknowledgement", 2, service},
	}}
	if r.Consumed != nil && r.Consumed.Latency.MeanUs > response {
		whole.shares = append(whole.shares, share{"from there to the consumer", 1, r.Consumed.Latency.MeanUs - response})
	}
	p := parts{id: "parts", title: "Where the time went", desc: "A bar of the mean latency's parts: " + whole.words() + ".", bars: []bar{whole}}
	s := section{ID: p.id, Title: p.title, Plot: p.svg(), Legend: p.legend(), Note: note, Table: grid{Caption: "Parts of the mean latency", Head: []string{"", "mean", "share"}}}
	for _, part := range whole.shares {
		s.Table.Rows = append(s.Table.Rows, []string{part.name, bench.FormatLatency(part.us), fmt.Sprintf("%.1f %%", part.us/whole.whole()*100)})
	}
	return s
}
