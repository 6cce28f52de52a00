package quick

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// Node is what is known of the node, or of all nodes of the cluster, besides what they answer.
type Node struct {
	Addresses []string `json:"addresses"`
	// Local: all of them are on this machine, so that its disk and processors are theirs.
	Local bool `json:"local"`
	// PIDs are their processes; none if they are elsewhere or cannot be seen.
	PIDs []int `json:"pids"`
	// Metrics is where the only node tells its metrics, as host:port; empty if it does not, or is no ringmill node.
	Metrics string `json:"metrics,omitempty"`
	// Loops are those of a ringmill node that tells its metrics.
	Loops int `json:"loops,omitempty"`

	dir string // on the disk of a local one
}

// findNode looks for the nodes where a trial runs. Metrics are asked for at an address; only if it is trusted, or the node's own process listens
// there, they are the node's.
func findNode(ctx context.Context, t bench.Trial, metrics string, trusted bool) (Node, error) {
	n := Node{PIDs: []int{}}
	var err error
	if n.Addresses, err = t.Nodes(ctx); err != nil {
		return n, err
	}
	n.Local = true
	for _, address := range n.Addresses {
		n.Local = n.Local && bench.IsLocal(address)
		if pid := bench.ListenerPID(address); pid != 0 && !slices.Contains(n.PIDs, pid) {
			n.PIDs = append(n.PIDs, pid)
		}
	}
	if len(n.PIDs) != len(n.Addresses) {
		n.PIDs = []int{} // a sum over some of them would be none
	}
	if len(n.Addresses) != 1 || !trusted && (len(n.PIDs) == 0 || bench.ListenerPID(metrics) != n.PIDs[0]) {
		return n, nil
	}
	told, err := readMetrics(ctx, metrics)
	if err != nil && trusted {
		return n, err
	}
	if n.Loops = told.loops; n.Loops > 0 {
		n.Metrics = metrics
	}
	return n, nil
}

// metricsTimeout bounds one question for metrics.
const metricsTimeout = 2 * time.Second

// told is what quick wants of a ringmill node's metrics.
type told struct {
	loops                        int
	syncs, syncedBytes, appended float64 // rounds of syncs; bytes and records that were appended
}

// readMetrics asks a node for its metrics; one that is no ringmill node has no loops.
func readMetrics(ctx context.Context, address string) (told, error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTimeout)
	defer cancel()
	text, err := bench.ReadMetrics(ctx, address)
	if err != nil {
		return told{}, fmt.Errorf("metrics of the node: %w", err)
	}
	return parseMetrics(bytes.NewReader(text))
}

// parseMetrics reads Prometheus' text format, of which it knows as much as a ringmill node writes.
func parseMetrics(r io.Reader) (t told, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		base, _, _ := strings.Cut(name, "{")
		var sum *float64
		switch base {
		case "ringmill_sync_rounds_total":
			t.loops++
			sum = &t.syncs
		case "ringmill_appended_bytes_total":
			sum = &t.syncedBytes
		case "ringmill_appended_records_total":
			sum = &t.appended
		default:
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return t, fmt.Errorf("metrics of the node: %q: %w", lines.Text(), err)
		}
		*sum += v
	}
	return t, lines.Err()
}

// sample is what had been used at an instant.
type sample struct {
	at             bench.Instant
	node           bench.Usage
	threads        map[int]time.Duration
	written, disk  int64 // by the processes, and on the disk
	busy, all      time.Duration
	told           told
	hasCPU, hasIO  bool
	hasDisk        bool
	hasMetrics     bool
	hasMachineTime bool
}

// sample reads all that can be read; what cannot is left out.
func (n *Node) sample(ctx context.Context) sample {
	s := sample{hasCPU: len(n.PIDs) > 0, hasIO: len(n.PIDs) > 0, threads: map[int]time.Duration{}}
	if n.Metrics != "" {
		var err error
		s.told, err = readMetrics(ctx, n.Metrics)
		s.hasMetrics = err == nil
	}
	s.at = bench.Now()
	for _, pid := range n.PIDs {
		used, err := bench.ReadUsage(pid)
		threads, noThreads := bench.ThreadsCPU(pid)
		s.hasCPU = s.hasCPU && err == nil && noThreads == nil
		s.node.User, s.node.System = s.node.User+used.User, s.node.System+used.System
		s.node.ResidentBytes += used.ResidentBytes
		for id, cpu := range threads {
			s.threads[id] = cpu
		}
		written, err := bench.WrittenBytes(pid)
		s.hasIO = s.hasIO && err == nil
		s.written += written
	}
	if n.Local {
		var err error
		s.busy, s.all, err = bench.MachineCPU()
		s.hasMachineTime = err == nil
		s.disk, err = bench.DiskWritten(n.dir)
		s.hasDisk = err == nil
	}
	return s
}

// Use is what a node used while a load was on it. What is not known is left out.
type Use struct {
	// Processors is how many the node's processes kept busy, BusiestThread how much of one its busiest thread did.
	Processors    float64 `json:"processors,omitempty"`
	BusiestThread float64 `json:"busiestThread,omitempty"`
	CPUSeconds    float64 `json:"cpuSeconds,omitempty"`
	ResidentBytes int64   `json:"residentBytes,omitempty"`
	// MachineBusy is the share of this machine's MachineProcessors that was busy with anything.
	MachineBusy       float64 `json:"machineBusy,omitempty"`
	MachineProcessors float64 `json:"machineProcessors,omitempty"`
	// WrittenBytesPerSecond is what the processes made dirty, of which the disk may see less, or see it later; DiskWrittenBytesPerSecond what the
	// disk was given to write, for whatever reason.
	WrittenBytesPerSecond     float64 `json:"writtenBytesPerSecond,omitempty"`
	DiskWrittenBytesPerSecond float64 `json:"diskWrittenBytesPerSecond,omitempty"`
	// SyncsPerSecond are rounds of syncs of all loops together, of so many bytes and records each in the mean.
	SyncsPerSecond float64 `json:"syncsPerSecond,omitempty"`
	SyncBytes      float64 `json:"syncBytes,omitempty"`
	SyncRecords    float64 `json:"syncRecords,omitempty"`
}

// between is what was used from one sample to another.
func between(a, b sample) (u Use) {
	elapsed := b.at.Sub(a.at).Seconds()
	if elapsed <= 0 {
		return u
	}
	if a.hasCPU && b.hasCPU {
		u.CPUSeconds = b.node.Since(a.node).CPU().Seconds()
		u.Processors, u.ResidentBytes = u.CPUSeconds/elapsed, b.node.ResidentBytes
		for id, cpu := range b.threads {
			u.BusiestThread = max(u.BusiestThread, (cpu-a.threads[id]).Seconds()/elapsed)
		}
	}
	if a.hasIO && b.hasIO {
		u.WrittenBytesPerSecond = float64(b.written-a.written) / elapsed
	}
	if a.hasDisk && b.hasDisk {
		u.DiskWrittenBytesPerSecond = float64(b.disk-a.disk) / elapsed
	}
	if a.hasMachineTime && b.hasMachineTime && b.all > a.all {
		u.MachineBusy = float64(b.busy-a.busy) / float64(b.all-a.all)
		u.MachineProcessors = math.Round((b.all - a.all).Seconds() / elapsed)
	}
	if syncs := b.told.syncs - a.told.syncs; a.hasMetrics && b.hasMetrics && syncs > 0 {
		u.SyncsPerSecond = syncs / elapsed
		u.SyncBytes, u.SyncRecords = (b.told.syncedBytes-a.told.syncedBytes)/syncs, (b.told.appended-a.told.appended)/syncs
	}
	return u
}
