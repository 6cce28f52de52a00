package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/ringmill/ringmill/bench"
)

// listenersHere are the processes of this host that listen at addresses, as far as this user may see them.
func listenersHere(addresses []string) (pids []int) {
	for _, address := range addresses {
		if pid := bench.ListenerPID(address); pid != 0 && pid != os.Getpid() && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// metricsHere is where the ringmill node of some addresses tells its metrics if nobody said: at the port that it has by default, if the process that
// listens there is one of those that listen at the addresses. None if it is not, or cannot be seen.
func metricsHere(addresses []string) []string {
	const usual = "127.0.0.1:9644"
	if pid := bench.ListenerPID(usual); pid != 0 && slices.Contains(listenersHere(addresses), pid) {
		return []string{usual}
	}
	return nil
}

// benchClient says what the generator used, and how it waited for processors where the kernel tells.
func benchClient(w io.Writer, c *bench.ReportClient) {
	fmt.Fprintf(w, "client: %.0f %% of %d processors", c.Share*100, c.Processors)
	if c.Runs > 0 {
		fmt.Fprintf(w, ", waited %s for one each time", bench.FormatLatency(c.WaitedSeconds*1e6/float64(c.Runs)))
	}
	fmt.Fprintln(w)
}

// benchProcesses is what processes used beside the run.
func benchProcesses(w io.Writer, all []bench.ProcessFigure) {
	if len(all) == 0 {
		return
	}
	var rows [][]string
	for i := range all {
		p := &all[i]
		waited, read, written := "-", "-", "-"
		if p.Runs > 0 {
			waited = bench.FormatLatency(p.WaitedSeconds * 1e6 / float64(p.Runs))
		}
		if p.DiskReadBytes != nil {
			read, written = megabytes(*p.DiskReadBytes), megabytes(*p.DiskWrittenBytes)
		}
		rows = append(rows, []string{fmt.Sprintf("%d %s", p.PID, p.Command), fmt.Sprintf("%.2f", p.Processors), bench.FormatCount(float64(p.VoluntarySwitches)),
			bench.FormatCount(float64(p.InvoluntarySwitches)), waited, megabytes(p.ResidentBytes), megabytes(p.PeakBytes), read, written})
	}
	table(w, []string{"PROCESS", "PROCESSORS", "SWITCHES", "FORCED", "WAIT FOR ONE", "MB", "PEAK MB", "DISK READ MB", "DIRTIED MB"}, rows)
}

// benchDevices is what the disks did on which they write.
func benchDevices(w io.Writer, all []bench.DeviceFigure) {
	if len(all) == 0 {
		return
	}
	var rows [][]string
	for i := range all {
		d := &all[i]
		flushes := "-"
		if d.Flushes != nil {
			flushes = bench.FormatCount(float64(*d.Flushes))
		}
		rows = append(rows, []string{d.Name, megabytes(d.ReadBytes), megabytes(d.WrittenBytes), bench.FormatCount(float64(d.Reads)), bench.FormatCount(float64(d.Writes)), flushes, fmt.Sprintf("%.0f %%", d.Busy*100)})
	}
	table(w, []string{"DISK, FOR WHOMEVER", "READ MB", "WRITTEN MB", "READS", "WRITES", "FLUSHES", "BUSY"}, rows)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/1e6) }

// recordRequests are those that a person is shown; all are in the JSON.
var recordRequests = map[string]bool{"Produce": true, "Fetch": true, "FetchFollower": true}

// benchStages says where nodes' time went.
func benchStages(w io.Writer, s *bench.ReportStages) {
	if s == nil {
		return
	}
	var rows [][]string
	ms := func(us float64) string { return fmt.Sprintf("%.3f", us/1e3) }
	for i := range s.Requests {
		r := &s.Requests[i]
		if !recordRequests[r.API] {
			continue
		}
		for _, f := range r.Stages {
			rows = append(rows, []string{r.API, f.Stage, bench.FormatCount(float64(f.Count)), ms(f.MeanUs), ms(f.P50Us), ms(f.P99Us), fmt.Sprintf("%.1f %%", f.Share*100)})
		}
		rows = append(rows, []string{r.API, "total", bench.FormatCount(float64(r.Count)), ms(r.MeanUs), ms(r.P50Us), ms(r.P99Us), ""})
	}
	table(w, []string{"IN THE NODE", "STAGE", "REQUESTS", "MEAN MS", "P50", "P99", "OF THE MEAN"}, rows)
	for _, r := range s.Requests {
		if recordRequests[r.API] {
			fmt.Fprintln(w, r.Reading)
		}
	}
}
