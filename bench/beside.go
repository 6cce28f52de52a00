package bench

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// beside reads what nodes and processes tell of themselves at the beginning and the end of a window.
type beside struct {
	trial     *Trial
	nodes     []nodeReading
	processes []processReading
	devices   []deviceReading
	threads   map[int]ThreadCounters // of this process
}

type nodeReading struct {
	address string
	before  stageCounts
	err     error
}

type processReading struct {
	pid    int
	before Counters
	at     Instant
	err    error
}

// Beside is what was read beside a run.
type Beside struct {
	// Nodes are the status addresses whose stages are in Requests.
	Nodes    []string
	Requests []RequestStages
	// Processes are those that were there at both ends of the window.
	Processes []ProcessFigure
	// Devices are the block devices on which they write.
	Devices []DeviceFigure
	// Missing says what could not be read, and why.
	Missing []string
}

func beginBeside(t *Trial) *beside {
	b := &beside{trial: t}
	for _, pid := range t.PIDs {
		p := processReading{pid: pid, at: t.Clock.Now()}
		p.before, p.err = ReadCounters(pid)
		b.processes = append(b.processes, p)
	}
	b.devices = beginDevices(t.PIDs, t.Clock.Now)
	b.threads = t.Threads()
	b.nodes = make([]nodeReading, len(t.StatusAddresses))
	var reading sync.WaitGroup
	for i, address := range t.StatusAddresses {
		n := &b.nodes[i]
		n.address = address
		reading.Go(func() { n.before, n.err = readStages(address) })
	}
	reading.Wait()
	return b
}

// waited is how often the client's threads got a processor, and how long they waited for one.
func (b *beside) waited() ThreadCounters { return threadsSince(b.trial.Threads(), b.threads) }

func (b *beside) end() *Beside {
	var found Beside
	for i := range b.processes {
		p := &b.processes[i]
		var now Counters
		if p.err == nil {
			now, p.err = ReadCounters(p.pid)
		}
		if p.err != nil {
			found.miss(fmt.Sprintf("process %d", p.pid), p.err)
			continue
		}
		found.Processes = append(found.Processes, now.figure(p.pid, &p.before, b.trial.Clock.Now().Sub(p.at)))
	}
	for i := range b.devices {
		if f, ok := b.devices[i].end(b.trial.Clock.Now()); ok {
			found.Devices = append(found.Devices, f)
		}
	}
	b.endNodes(&found)
	return &found
}

func (b *beside) endNodes(found *Beside) {
	after := make([]stageCounts, len(b.nodes))
	var reading sync.WaitGroup
	for i := range b.nodes {
		if n := &b.nodes[i]; n.err == nil {
			reading.Go(func() {
				if after[i], n.err = readStages(n.address); n.err == nil {
					n.err = after[i].since(n.before)
				}
			})
		}
	}
	reading.Wait()
	sum := stageCounts{}
	for i, n := range b.nodes {
		if n.err != nil {
			found.miss("stages of "+n.address, n.err)
			continue
		}
		found.Nodes = append(found.Nodes, n.address)
		sum.merge(after[i])
	}
	found.Requests = sum.figures()
}

func (b *Beside) miss(what string, err error) {
	b.Missing = append(b.Missing, what+": "+strings.ReplaceAll(err.Error(), "bench: ", ""))
}

// waitShareMax is how long the client may wait for a processor, on average each time that it has something to do, as a share of the median
// response: it sends and reads each answer that much late.
const waitShareMax = 0.5

// starved says whether a client whose threads waited so for processors waited too long, beside the responses that it saw.
func starved(w ThreadCounters, response *Histogram) (reason string) {
	if w.Runs <= 0 || response.Count() == 0 {
		return ""
	}
	each, median := w.Waited/time.Duration(w.Runs), response.Quantile(0.5)
	if float64(each) <= waitShareMax*float64(median) {
		return ""
	}
	return fmt.Sprintf("the client waited %s for a processor each time that it had something to do, more than half of the median response's %s: it was measured too",
		FormatDuration(each), FormatDuration(median))
}
