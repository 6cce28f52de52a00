package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringmill/ringmill/bench"
)

// stageStyles are those of the stages that make up a request's total.
var stageStyles = map[string]int{"queued": 3, "handled": 5, "mailbox": 4, "purgatory": 7, "appended": 0, "synced": 1, "replicated": 6, "sent": 2}

// shownRequests are the kinds of requests that have a section.
var shownRequests = map[string]string{"Produce": "produces", "Fetch": "fetches", "FetchFollower": "replicas' fetches"}

// beside are the sections of what was read of nodes and processes.
func beside(r *bench.Report) (all []section) {
	if r.Stages != nil {
		for i := range r.Stages.Requests {
			if q := &r.Stages.Requests[i]; shownRequests[q.API] != "" {
				all = append(all, stagesOf(q, r.Stages.Nodes))
			}
		}
	}
	if len(r.Processes) > 0 {
		all = append(all, processes(r.Processes))
	}
	if len(r.Devices) > 0 {
		all = append(all, devices(r.Devices))
	}
	if len(r.Missing) > 0 {
		all = append(all, missing(r.Missing))
	}
	return all
}

// stagesOf splits the mean of a kind of request by the stages in the node.
func stagesOf(q *bench.RequestStages, nodes []string) section {
	s := section{Table: grid{Caption: "Stages of " + shownRequests[q.API], Head: []string{"", "requests", "mean", "50 %", "99 %", "of the mean"}}}
	var whole bar
	for _, f := range q.Stages {
		percent := "–"
		if whole.addStage(f.Stage, f.MeanUs) {
			percent = fmt.Sprintf("%.1f %%", f.Share*100)
		}
		s.Table.Rows = append(s.Table.Rows, []string{f.Stage, count(f.Count), bench.FormatLatency(f.MeanUs), bench.FormatLatency(f.P50Us), bench.FormatLatency(f.P99Us), percent})
	}
	s.Table.Rows = append(s.Table.Rows, []string{bench.StageTotal, count(q.Count), bench.FormatLatency(q.MeanUs), bench.FormatLatency(q.P50Us), bench.FormatLatency(q.P99Us), ""})
	s.Note = q.Reading + " As " + strings.Join(nodes, ", ") + " said, of what was answered in the window; a request that did not pass a stage was in it for no time."
	s.drawStages("In the node: ", q.API, "A bar of the stages of the mean: "+whole.words()+".", whole)
	return s
}

// addStage adds a stage's mean, in microseconds; false if the stage is not of those that add up to the total.
func (b *bar) addStage(stage string, us float64) bool {
	style, inTotal := stageStyles[stage]
	if inTotal {
		b.shares = append(b.shares, share{stage, style, us})
	}
	return inTotal
}

// drawStages makes the section one of the stages of a kind of request.
func (s *section) drawStages(where, api, desc string, bars ...bar) {
	p := parts{id: "stages-" + strings.ToLower(api), title: where + shownRequests[api], desc: desc, bars: bars}
	s.ID, s.Title, s.Plot, s.Legend = p.id, p.title, p.svg(), p.legend()
}

// stagesCompared show what the stages of each kind of request took on both sides, with the sentence on what makes the difference.
func stagesCompared(c *bench.StageComparison) (all []section) {
	for from, n := 0, 0; from < len(c.Stages); n++ {
		api := c.Stages[from].API
		s := section{Note: c.Readings[n] + " Means of all requests, which add up; medians of the runs.",
			Table: grid{Caption: "Stages of " + shownRequests[api], Head: []string{"", "A", "B", "B-A", "B is"}}}
		a, b := bar{name: "A"}, bar{name: "B"}
		for ; from < len(c.Stages) && c.Stages[from].API == api; from++ {
			f := &c.Stages[from]
			if a.addStage(f.Stage, f.A) {
				b.addStage(f.Stage, f.B)
			}
			s.Table.Rows = append(s.Table.Rows, []string{f.Stage, bench.FormatLatency(f.A), bench.FormatLatency(f.B), bench.FormatDifference(f.B - f.A), f.Verdict})
		}
		s.drawStages("In the nodes: ", api, fmt.Sprintf("Two bars of the stages of the mean, on one scale. A: %s. B: %s.", a.words(), b.words()), a, b)
		all = append(all, s)
	}
	return all
}

// stagesBySettings show where the time of produces went with each choice of settings; false if no node said.
func stagesBySettings(s *bench.Sweep) (section, bool) {
	const api = "Produce"
	measures, points := bench.StageMeasures(api), shownPoints(s)
	measures = slices.DeleteFunc(measures, func(m bench.Measure) bool {
		return !slices.ContainsFunc(points, func(p *bench.SweepPoint) bool { _, has := m.Median(p.Shown()); return has })
	})
	if len(measures) == 0 {
		return section{}, false
	}
	shown := section{Note: "Means of all requests, which add up; medians of the runs.", Table: grid{Caption: "Stages of " + shownRequests[api], Head: []string{"", "p99 made by"}}}
	for _, m := range measures {
		shown.Table.Head = append(shown.Table.Head, m.Name)
	}
	desc, bars := "A bar of the stages of the mean for each choice of settings, on one scale.", []bar{}
	for _, p := range points {
		b := bar{name: nameOf(p)}
		row := []string{b.name, cmp.Or(bench.P99Stage(p.Shown(), api), "–")}
		for _, m := range measures {
			us, has := m.Median(p.Shown()) // NaN if it has none
			row = append(row, latencyCell(us))
			if !has {
				us = 0 // a share all the same, so that the legend has all stages in their order
			}
			b.addStage(m.Name, us)
		}
		desc += " " + b.name + ": " + b.words() + "."
		bars, shown.Table.Rows = append(bars, b), append(shown.Table.Rows, row)
	}
	shown.drawStages("In the nodes: ", api, desc, bars...)
	return shown, true
}

// processes is what was used beside the run.
func processes(all []bench.ProcessFigure) section {
	s := section{ID: "processes", Title: "What processes used", Note: "In the window; memory at its end, and the most since the process began. A wait is for a processor, on average each time that a thread got one. Dirtied is what was written in the page cache, counted by its folios: a disk may have been given less of it.",
		Table: grid{Caption: "Processes", Head: []string{"", "processors", "switches", "forced", "wait", "memory", "peak", "disk read", "dirtied"}}}
	for i := range all {
		p := &all[i]
		wait, read, written := "–", "–", "–"
		if p.Runs > 0 {
			wait = bench.FormatLatency(p.WaitedSeconds * 1e6 / float64(p.Runs))
		}
		if p.DiskReadBytes != nil {
			read, written = mebibytes(*p.DiskReadBytes), mebibytes(*p.DiskWrittenBytes)
		}
		s.Table.Rows = append(s.Table.Rows, []string{fmt.Sprintf("%d %s", p.PID, p.Command), fmt.Sprintf("%.2f", p.Processors), count(p.VoluntarySwitches),
			count(p.InvoluntarySwitches), wait, mebibytes(p.ResidentBytes), mebibytes(p.PeakBytes), read, written})
	}
	return s
}

// devices is what the disks did on which they write.
func devices(all []bench.DeviceFigure) section {
	s := section{ID: "devices", Title: "What disks did", Note: "In the window, for whomever, of the block devices on which the processes have files open to write to. Busy is the share of the time in which there was any request.",
		Table: grid{Caption: "Disks", Head: []string{"", "read", "written", "reads", "writes", "flushes", "busy"}}}
	for i := range all {
		d := &all[i]
		flushes := "–"
		if d.Flushes != nil {
			flushes = count(*d.Flushes)
		}
		s.Table.Rows = append(s.Table.Rows, []string{d.Name, mebibytes(d.ReadBytes), mebibytes(d.WrittenBytes), count(d.Reads), count(d.Writes), flushes, fmt.Sprintf("%.0f %%", d.Busy*100)})
	}
	return s
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// missing is what could not be read.
func missing(all []string) section {
	s := section{ID: "missing", Title: "What could not be read", Table: grid{Caption: "What could not be read", Head: []string{"", "why"}}}
	for _, m := range all {
		what, why, _ := strings.Cut(m, ": ")
		s.Table.Rows = append(s.Table.Rows, []string{what, why})
	}
	return s
}
