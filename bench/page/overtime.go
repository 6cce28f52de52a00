package page

import (
	"fmt"
	"math"

	"github.com/ringmill/ringmill/bench"
)

// Bounds of a page: of a line's points, and of a table's rows. Longer runs have seconds taken together.
const (
	pointsMax = 600
	rowsMax   = 120
)

// span is some seconds of a run: latencies, in microseconds, are the greatest of any of them, counts their sums.
type span struct {
	from, seconds      int
	within             float64 // seconds of them that lie in the window
	waiting            float64 // records for consumers, at their end
	p50, p99, most     float64 // of what was acknowledged in them; NaN if nothing was
	service, lag       float64 // p99; NaN if there was none
	produced, consumed float64 // records
	consumedP99        float64
	errors             int64
}

// spans takes the seconds together so that there are no more than most.
func spans(r *bench.Report, most int) (all []span) {
	each := max(1, (len(r.Seconds)+most-1)/most)
	waiting := r.Waiting()
	for at := 0; at < len(r.Seconds); at += each {
		s := span{from: at, p50: math.NaN(), p99: math.NaN(), most: math.NaN(), service: math.NaN(), lag: math.NaN(), consumedP99: math.NaN()}
		for _, second := range r.Seconds[at:min(at+each, len(r.Seconds))] {
			s.add(second)
		}
		s.within = min(max(r.ElapsedSeconds-float64(at), 0), float64(s.seconds))
		s.waiting = float64(waiting[at+s.seconds-1])
		all = append(all, s)
	}
	return all
}

func (s *span) add(second bench.SecondFigures) {
	s.seconds++
	s.produced += float64(second.Produced.Records)
	s.errors += second.Produced.Errors
	if f := second.Produced.Latency; f.Count > 0 {
		s.p50, s.p99, s.most = greatest(s.p50, f.P50Us), greatest(s.p99, f.P99Us), greatest(s.most, f.MaxUs)
	}
	if second.Service != nil {
		s.service = greatest(s.service, second.Service.P99Us)
	}
	if second.Lag != nil {
		s.lag = greatest(s.lag, second.Lag.P99Us)
	}
	if c := second.Consumed; c != nil {
		s.consumed += float64(c.Records)
		s.errors += c.Errors
		if c.Latency.Count > 0 {
			s.consumedP99 = greatest(s.consumedP99, c.Latency.P99Us)
		}
	}
}

// greatest takes what is no number for nothing.
func greatest(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return max(a, b)
}

// middle is where a span is on the axis of time.
func (s *span) middle() float64 { return float64(s.from) + float64(s.seconds)/2 }

// name is the span in a table.
func (s *span) name() string {
	if s.seconds == 1 {
		return fmt.Sprint(s.from)
	}
	return fmt.Sprintf("%d–%d", s.from, s.from+s.seconds-1)
}

// over is a line through the spans.
func over(all []span, name string, style int, of func(*span) float64) line {
	l := line{name: name, style: style}
	for i := range all {
		l.points = append(l.points, point{x: all[i].middle(), y: of(&all[i])})
	}
	return l
}

// perSecond makes a count a rate, by the part of the seconds that lies in the window if that is most of them: a backlog's window, and one that broke
// off, end anywhere in a second.
func (s *span) perSecond(count float64) float64 {
	if whole := float64(s.seconds); s.within < whole/2 {
		return count / whole
	}
	return count / s.within
}

// timed is a chart over the seconds of a run.
func timed(r *bench.Report, id, title, desc string, lines []line) chart {
	return chart{id: id, title: title, desc: desc, lines: lines, beyond: r.WindowSeconds,
		x: axis{"second of the window", newSpan(float64(len(r.Seconds)), secondLabel)}}
}

// together says how seconds were taken together.
func together(all []span, what string) string {
	if len(all) == 0 || all[0].seconds == 1 {
		return ""
	}
	return fmt.Sprintf(" Each point is %s of %d seconds.", what, all[0].seconds)
}

func latencyOverTime(r *bench.Report) section {
	all := spans(r, pointsMax)
	lines := []line{
		over(all, "50 %", 0, func(s *span) float64 { return s.p50 }),
		over(all, "99 %", 1, func(s *span) float64 { return s.p99 }),
		over(all, "greatest", 2, func(s *span) float64 { return s.most }),
	}
	c := timed(r, "latency", "Latency over time", "Lines of the 50th and 99th percentile and of the greatest "+responseName(r)+" latency, second by second, on a logarithmic scale.", lines)
	low, high := extent(lines)
	c.y = axis{"", newLogarithmic(low, high, latencyLabel)}
	return section{ID: "latency", Title: "Latency over time", Plot: c.svg(), Legend: legend(lines), Table: secondsTable(r), Folded: true,
		Note: "Of what was acknowledged in a second; where nothing was, the line has a gap. Behind the window (shaded) there is what came late." + together(all, "the greatest")}
}

func secondsTable(r *bench.Report) grid {
	g := grid{Caption: "Seconds of the window", Head: []string{"second", "records/s", "50 %", "99 %", "greatest"}}
	all := spans(r, rowsMax)
	for i := range all {
		s := &all[i]
		row := []string{s.name(), bench.FormatCount(s.perSecond(s.produced)), latencyCell(s.p50), latencyCell(s.p99), latencyCell(s.most)}
		if r.Consumed != nil {
			row = append(row, bench.FormatCount(s.perSecond(s.consumed)), latencyCell(s.consumedP99))
		}
		if r.Backlog != nil {
			row = append(row, bench.FormatCount(s.waiting))
		}
		row = append(row, count(s.errors))
		g.Rows = append(g.Rows, row)
	}
	if r.Consumed != nil {
		g.Head = append(g.Head, "consumed/s", "end to end 99 %")
	}
	if r.Backlog != nil {
		g.Head = append(g.Head, "waiting")
	}
	g.Head = append(g.Head, "errors")
	return g
}

// latencyCell is empty where there was nothing.
func latencyCell(us float64) string {
	if math.IsNaN(us) {
		return "–"
	}
	return bench.FormatLatency(us)
}

// cellOf is one of a figure's values; empty where nothing was counted.
func cellOf(f bench.LatencyFigure, us float64) string {
	if f.Count == 0 {
		return latencyCell(math.NaN())
	}
	return latencyCell(us)
}

func throughputOverTime(r *bench.Report) section {
	all := spans(r, pointsMax)
	lines := []line{over(all, "produced", 0, func(s *span) float64 { return s.perSecond(s.produced) })}
	if r.Consumed != nil {
		lines = append(lines, over(all, "consumed", 1, func(s *span) float64 { return s.perSecond(s.consumed) }))
	}
	if rate := r.Config.RatePerSecond; rate > 0 {
		lines = append(lines, line{name: "due", style: 5, points: []point{{x: 0, y: rate}, {x: min(r.WindowSeconds, float64(len(r.Seconds))), y: rate}}})
	}
	if failed := failures(all); len(failed.points) > 0 {
		lines = append(lines, failed)
	}
	c := timed(r, "throughput", "Throughput over time", "Lines of the records that were acknowledged and that reached consumers, second by second.", lines)
	_, high := extent(lines)
	c.y = axis{"", newLinear(high, rateLabel)}
	return section{ID: "throughput", Title: "Throughput over time", Plot: c.svg(), Legend: legend(lines), Table: throughputTable(r),
		Note: "Records a second, in the second in which they were acknowledged or fetched." + together(all, "the mean")}
}

// failures is a line at the bottom where requests failed.
func failures(all []span) line {
	l := line{name: "errors", style: 6}
	for i := range all {
		if all[i].errors > 0 {
			l.points = append(l.points, point{x: all[i].middle() - 0.25}, point{x: all[i].middle() + 0.25}, point{x: all[i].middle(), y: math.NaN()})
		}
	}
	return l
}

func throughputTable(r *bench.Report) grid {
	g := grid{Caption: "Throughput", Head: []string{"", "records", "records/s", "bytes/s", "errors"}}
	add := func(name string, s *bench.ReportStream) {
		g.Rows = append(g.Rows, []string{name, count(s.Records), bench.FormatCount(s.RecordsPerSecond), bench.FormatBytes(s.BytesPerSecond), count(s.Errors)})
	}
	add("produced", &r.Produced)
	if r.Consumed != nil {
		add("consumed", r.Consumed)
	}
	return g
}

// partsOverTime shows second by second whether the node, the line before it or the generator made the response.
func partsOverTime(r *bench.Report) section {
	all := spans(r, pointsMax)
	lines := []line{
		over(all, "response", 0, func(s *span) float64 { return s.p99 }),
		over(all, "from sending", 2, func(s *span) float64 { return s.service }),
		over(all, "generator late", 3, func(s *span) float64 { return s.lag }),
	}
	c := timed(r, "parts-time", "What made the 99th percentile", "Lines of the 99th percentile of response, of the time from sending and of the generator's own lateness, second by second, on a logarithmic scale.", lines)
	low, high := extent(lines)
	c.y = axis{"", newLogarithmic(low, high, latencyLabel)}
	g := grid{Caption: "99th percentiles", Head: []string{"second", "response", "from sending", "generator late"}}
	rows := spans(r, rowsMax)
	for i := range rows {
		s := &rows[i]
		g.Rows = append(g.Rows, []string{s.name(), latencyCell(s.p99), latencyCell(s.service), latencyCell(s.lag)})
	}
	return section{ID: "parts-time", Title: "What made the 99th percentile", Plot: c.svg(), Legend: legend(lines), Table: g, Folded: true,
		Note: "Where response is far above the time from sending, requests waited in line. Where the generator was late, it measured itself." + together(all, "the greatest")}
}
