package page

import (
	"fmt"
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
	if len(r.Missing) > 0 {
		all = append(all, missing(r.Missing))
	}
	return all
}

// stagesOf splits the mean of a kind of request by the stages in the node.
func stagesOf(q *bench.RequestStages, nodes []string) section {
	title := "In the node: " + shownRequests[q.API]
	p := parts{id: "stages-" + strings.ToLower(q.API), title: title}
	s := section{ID: p.id, Title: title, Table: grid{Caption: "Stages of " + shownRequests[q.API], Head: []string{"", "requests", "mean", "50 %", "99 %", "of the mean"}}}
	var words []string
	for _, f := range q.Stages {
		percent := "–"
		if style, inTotal := stageStyles[f.Stage]; inTotal {
			percent = fmt.Sprintf("%.1f %%", f.Share*100)
			words = append(words, f.Stage+" "+percent)
			p.shares = append(p.shares, share{f.Stage, style, f.MeanUs})
			s.Legend = append(s.Legend, entry{style, f.Stage, true})
		}
		s.Table.Rows = append(s.Table.Rows, []string{f.Stage, bench.FormatCount(float64(f.Count)), bench.FormatLatency(f.MeanUs), bench.FormatLatency(f.P50Us), bench.FormatLatency(f.P99Us), percent})
	}
	s.Table.Rows = append(s.Table.Rows, []string{"total", bench.FormatCount(float64(q.Count)), bench.FormatLatency(q.MeanUs), bench.FormatLatency(q.P50Us), bench.FormatLatency(q.P99Us), ""})
	p.desc = "A bar of the stages of the mean: " + strings.Join(words, ", ") + "."
	s.Plot = p.svg()
	s.Note = q.Reading + " As " + strings.Join(nodes, ", ") + " said, of what was answered in the window; a request that did not pass a stage was in it for no time."
	return s
}

// processes is what was used beside the run.
func processes(all []bench.ProcessFigure) section {
	s := section{ID: "processes", Title: "What processes used", Note: "In the window; memory at its end, and the most since the process began. A wait is for a processor, on average each time that a thread got one.",
		Table: grid{Caption: "Processes", Head: []string{"", "processors", "switches", "forced", "wait", "memory", "peak", "disk read", "written"}}}
	for i := range all {
		p := &all[i]
		wait, read, written := "–", "–", "–"
		if p.Runs > 0 {
			wait = bench.FormatLatency(p.WaitedSeconds * 1e6 / float64(p.Runs))
		}
		if p.DiskReadBytes != nil {
			read, written = mebibytes(*p.DiskReadBytes), mebibytes(*p.DiskWrittenBytes)
		}
		s.Table.Rows = append(s.Table.Rows, []string{fmt.Sprintf("%d %s", p.PID, p.Command), fmt.Sprintf("%.2f", p.Processors), bench.FormatCount(float64(p.VoluntarySwitches)),
			bench.FormatCount(float64(p.InvoluntarySwitches)), wait, mebibytes(p.ResidentBytes), mebibytes(p.PeakBytes), read, written})
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
