package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Counters are what a process did since it started, as far as the kernel tells it to this user.
type Counters struct {
	Usage
	Command string
	// Disk is what was read from and written to disks for it (proc_pid_io(5)); nil where that may not be read.
	Disk *DiskBytes
	// Threads are those that it has now, by thread id: what the kernel counts by thread goes with the thread.
	Threads map[int]ThreadCounters
}

// DiskBytes are bytes that were read from and written to disks. Write-back counts for who made the page dirty, and for all of its folio: where
// a file system has large ones that is more than the disk is given.
type DiskBytes struct{ Read, Written int64 }

// ThreadCounters are a thread's switches, and how often and how long it waited for a processor (schedstat; 0 where the kernel does not count).
type ThreadCounters struct {
	Voluntary, Involuntary int64
	Runs                   int64
	Waited                 time.Duration
}

func (c *ThreadCounters) add(o ThreadCounters, sign int64) {
	c.Voluntary += sign * o.Voluntary
	c.Involuntary += sign * o.Involuntary
	c.Runs += sign * o.Runs
	c.Waited += time.Duration(sign) * o.Waited
}

// ReadCounters reads /proc/PID.
func ReadCounters(pid int) (Counters, error) {
	u, err := ReadUsage(pid)
	if err != nil {
		return Counters{}, err
	}
	dir := "/proc/" + strconv.Itoa(pid)
	c := Counters{Usage: u, Threads: map[int]ThreadCounters{}}
	if name, err := os.ReadFile(dir + "/comm"); err == nil {
		c.Command = strings.TrimSpace(string(name))
	}
	if io, err := os.ReadFile(dir + "/io"); err == nil {
		c.Disk = &DiskBytes{Read: countOf(io, "read_bytes"), Written: countOf(io, "write_bytes")}
	}
	tasks, err := os.ReadDir(dir + "/task")
	if err != nil {
		return Counters{}, fmt.Errorf("bench: resources of process %d: %w", pid, err)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			continue
		}
		t, err := readThread(filepath.Join(dir, "task", task.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has ended
		}
		if err != nil {
			return Counters{}, fmt.Errorf("bench: resources of process %d: %w", pid, err)
		}
		c.Threads[tid] = t
	}
	return c, nil
}

func readThread(dir string) (t ThreadCounters, err error) {
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return t, err
	}
	t.Voluntary, t.Involuntary = countOf(status, "voluntary_ctxt_switches"), countOf(status, "nonvoluntary_ctxt_switches")
	schedstat, err := os.ReadFile(dir + "/schedstat")
	if err != nil {
		return t, nil // a kernel without CONFIG_SCHED_INFO
	}
	t.Waited, t.Runs = parseSchedstat(schedstat)
	return t, nil
}

// parseSchedstat reads how long a thread waited, in ns, and how often it ran: the second and third figure.
func parseSchedstat(text []byte) (waited time.Duration, runs int64) {
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return 0, 0
	}
	ns, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	runs, _ = strconv.ParseInt(string(fields[2]), 10, 64)
	return time.Duration(ns), runs
}

// countOf is the number in a line "name: 123", 0 if there is none.
func countOf(text []byte, name string) int64 {
	n, _ := strconv.ParseInt(fieldOf(text, name), 10, 64)
	return n
}

// ProcessFigure is what a process did in a window.
type ProcessFigure struct {
	PID         int     `json:"pid"`
	Command     string  `json:"command"`
	CPUSeconds  float64 `json:"cpuSeconds"`
	UserSeconds float64 `json:"userSeconds"`
	// Processors is how many it kept busy.
	Processors float64 `json:"processors"`
	// VoluntarySwitches and InvoluntarySwitches are of the threads that it has at the end, as are Runs, how often they got a processor, and
	// WaitedSeconds, how long they waited for one in all; both 0 where the kernel does not count.
	VoluntarySwitches   int64   `json:"voluntarySwitches"`
	InvoluntarySwitches int64   `json:"involuntarySwitches"`
	Runs                int64   `json:"runs"`
	WaitedSeconds       float64 `json:"waitedSeconds"`
	ResidentBytes       int64   `json:"residentBytes"` // at the end
	PeakBytes           int64   `json:"peakBytes"`     // since it started
	// DiskReadBytes and DiskWrittenBytes are nil where the kernel does not tell this user.
	DiskReadBytes    *int64 `json:"diskReadBytes,omitempty"`
	DiskWrittenBytes *int64 `json:"diskWrittenBytes,omitempty"`
}

// figure is what was done since before, in so long.
func (c *Counters) figure(pid int, before *Counters, took time.Duration) ProcessFigure {
	u, t := c.Usage.Since(before.Usage), threadsSince(c.Threads, before.Threads)
	f := ProcessFigure{PID: pid, Command: c.Command, CPUSeconds: u.CPU().Seconds(), UserSeconds: u.User.Seconds(), VoluntarySwitches: t.Voluntary,
		InvoluntarySwitches: t.Involuntary, Runs: t.Runs, WaitedSeconds: t.Waited.Seconds(), ResidentBytes: u.ResidentBytes, PeakBytes: u.PeakBytes}
	if took > 0 {
		f.Processors = f.CPUSeconds / took.Seconds()
	}
	if c.Disk != nil && before.Disk != nil {
		read, written := c.Disk.Read-before.Disk.Read, c.Disk.Written-before.Disk.Written
		f.DiskReadBytes, f.DiskWrittenBytes = &read, &written
	}
	return f
}

// threadsSince adds up what the threads of now have done since before.
func threadsSince(now, before map[int]ThreadCounters) (sum ThreadCounters) {
	for tid, t := range now {
		sum.add(t, 1)
		sum.add(before[tid], -1)
	}
	return sum
}

// ownThreads are those of this process; nil where the kernel does not tell.
func ownThreads() map[int]ThreadCounters {
	c, err := ReadCounters(os.Getpid())
	if err != nil {
		return nil
	}
	return c.Threads
}
