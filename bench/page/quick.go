package page

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/ringmill/ringmill/bench"
	"github.com/ringmill/ringmill/bench/quick"
)

// Quick writes the page of a bench quick. Errors are as Run's.
func Quick(w io.Writer, r *quick.Report) error {
	d := document{Title: "ringmill bench quick", Verdict: verdictOf(r.Verdict, r.Error, r.Reasons), Reading: r.Reading(), Command: r.Command,
		Foot: fmt.Sprintf("%s, begun at %s UTC, written by ringmill bench.", r.Schema, r.Started.UTC().Format("2006-01-02 15:04:05"))}
	if len(r.Shares) > 0 {
		d.Sections = append(d.Sections, sharesOfLimits(r))
	}
	if len(r.Points) > 0 {
		var results []Named
		for _, p := range r.Points {
			results = append(results, Named{fmt.Sprintf("%.0f %%", p.OfFound*100), p.Run})
		}
		curves, err := overlay(results)
		if err != nil {
			return err
		}
		d.Sections = append(d.Sections, throughputAgainstLatency(results), curves, useOfNode(r))
	}
	if len(r.Limits) > 0 {
		d.Sections = append(d.Sections, machineLimits(r))
	}
	if r.Capacity != nil {
		d.Facts = append(d.Facts, configurationOf(r.Capacity.Run), hostOf(r.Capacity.Run))
	}
	return pages.Execute(w, d)
}

// sharesOfLimits shows how near the load at capacity was to each limit.
func sharesOfLimits(r *quick.Report) section {
	c := rowChart{id: "shares", title: "How near each limit was", mark: math.NaN(),
		desc: "A bar for each limit: the part of it that was used while the node took as much as it acknowledges.", x: axis{"percent of the limit", nil}}
	most := 100.0
	g := grid{Caption: "Shares of the limits", Head: []string{"", "share", "used", "limit"}}
	var words []string
	for _, s := range r.Shares {
		most = max(most, s.Share*100)
		words = append(words, fmt.Sprintf("%s %.0f %%", s.Name, s.Share*100))
		c.rows = append(c.rows, row{name: s.Name, style: 0, from: 0, to: s.Share * 100, at: math.NaN()})
		g.Rows = append(g.Rows, []string{s.Name, fmt.Sprintf("%.0f %%", s.Share*100), quantity(s.Used, s.Unit), quantity(s.Limit, s.Unit)})
	}
	if r.Bottleneck.Near {
		c.rows[0].style = 1
	}
	c.x.scale = newLinear(most, secondLabel)
	c.desc += " " + strings.Join(words, ", ") + "."
	return section{ID: "shares", Title: "How near each limit was", Plot: c.svg(), Table: g,
		Note: fmt.Sprintf("At %s records/s, all that were acknowledged in a closed loop.", bench.FormatCount(r.Capacity.Run.Produced.RecordsPerSecond))}
}

// quantity is a value in a share's unit.
func quantity(v float64, unit string) string {
	switch unit {
	case "bytes/s":
		return bench.FormatBytes(v)
	case "processors", "share":
		return fmt.Sprintf("%.2f", v)
	}
	return bench.FormatCount(v) + "/s"
}

// useOfNode is what the node used at each point.
func useOfNode(r *quick.Report) section {
	g := grid{Caption: "What the node used", Head: []string{"", "processors", "busiest thread", "CPU a GB", "memory", "syncs/s", "machine busy"}}
	add := func(name string, l *quick.Load) {
		u := &l.Use
		row := []string{name, "–", "–", "–", "–", "–", "–"}
		if u.Processors > 0 {
			row[1], row[2] = fmt.Sprintf("%.2f", u.Processors), fmt.Sprintf("%.0f %%", u.BusiestThread*100)
			row[3] = fmt.Sprintf("%.2f s", u.CPUSeconds*1e9/max(float64(l.Run.Produced.Bytes), 1))
			row[4] = fmt.Sprintf("%.0f MB", float64(u.ResidentBytes)/1e6)
		}
		if u.SyncsPerSecond > 0 {
			row[5] = bench.FormatCount(u.SyncsPerSecond)
		}
		if u.MachineBusy > 0 {
			row[6] = fmt.Sprintf("%.0f %%", u.MachineBusy*100)
		}
		g.Rows = append(g.Rows, row)
	}
	for i := range r.Points {
		add(fmt.Sprintf("%.0f %%", r.Points[i].OfFound*100), &r.Points[i].Load)
	}
	add("capacity", r.Capacity)
	return section{ID: "use", Title: "What the node used", Table: g, Note: "Of a node on this machine: – is what could not be read."}
}

func machineLimits(r *quick.Report) section {
	g := grid{Caption: "What the machine allows", Head: []string{"", "a second", "bytes", "99 %"}}
	for _, l := range r.Limits {
		p99 := "–"
		if l.Latency.Count > 0 {
			p99 = bench.FormatLatency(l.Latency.P99Us)
		}
		g.Rows = append(g.Rows, []string{l.Name, bench.FormatCount(l.OperationsPerSecond), bench.FormatBytes(l.BytesPerSecond), p99})
	}
	if c := r.ClientAlone; c != nil {
		g.Rows = append(g.Rows, []string{"the client alone: records to a server that does nothing", bench.FormatCount(c.Produced.RecordsPerSecond), bench.FormatBytes(c.Produced.BytesPerSecond), cellOf(c.Produced.Latency, c.Produced.Latency.P99Us)})
	}
	return section{ID: "limits", Title: "What the machine allows", Table: g, Note: "The disk is that of " + r.Directory + "."}
}
