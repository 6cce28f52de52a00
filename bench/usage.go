package bench

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is what a process has used since it started: CPU time of all its threads, io_uring's workers among them, and
// memory. Work that the kernel does for it in threads of its own (write-back, the file system's journal) is in nobody's.
type Usage struct {
	User, System time.Duration
	// PeakBytes is the most physical memory it has ever had (VmHWM), ResidentBytes what it has now (VmRSS).
	PeakBytes, ResidentBytes int64
}

// CPU is user and system time together.
func (u Usage) CPU() time.Duration { return u.User + u.System }

// Since is the CPU time used since before; memory is as it is now.
func (u Usage) Since(before Usage) Usage {
	u.User -= before.User
	u.System -= before.System
	return u
}

// userHZ is the unit of times in /proc/PID/stat: sysconf(_SC_CLK_TCK), 100 on every Linux of today.
const userHZ = 100

// ReadUsage reads /proc/PID/stat and /proc/PID/status (proc_pid_stat(5)).
func ReadUsage(pid int) (Usage, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return Usage{}, fmt.Errorf("bench: resources of process %d: %w", pid, err)
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return Usage{}, fmt.Errorf("bench: resources of process %d: %w", pid, err)
	}
	var u Usage
	if u.User, u.System, err = parseStat(stat); err == nil {
		u.PeakBytes = statusBytes(status, "VmHWM:")
		u.ResidentBytes = statusBytes(status, "VmRSS:")
	}
	return u, err
}

// readUsages adds up what several processes have used.
func readUsages(pids []int) (sum Usage, err error) {
	for _, pid := range pids {
		u, err := ReadUsage(pid)
		if err != nil {
			return Usage{}, err
		}
		sum.User += u.User
		sum.System += u.System
		sum.PeakBytes += u.PeakBytes
		sum.ResidentBytes += u.ResidentBytes
	}
	return sum, nil
}

// parseStat finds utime and stime, fields 14 and 15, counted from behind the command, which may hold anything.
func parseStat(stat []byte) (user, system time.Duration, err error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, 0, fmt.Errorf("bench: /proc/PID/stat has %d fields after the command, not 13 or more", len(fields))
	}
	if user, err = ticks(fields[11]); err == nil {
		system, err = ticks(fields[12])
	}
	return user, system, err
}

func ticks(field []byte) (time.Duration, error) {
	n, err := strconv.ParseInt(string(field), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("bench: /proc/PID/stat: %w", err)
	}
	return time.Duration(n) * time.Second / userHZ, nil
}

// statusBytes is the value of a line "Name:   123 kB", 0 if there is none (a kernel thread, a zombie).
func statusBytes(status []byte, name string) int64 {
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte(name)); found {
			fields := bytes.Fields(rest)
			if len(fields) == 0 {
				return 0
			}
			n, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			return n << 10
		}
	}
	return 0
}

// UsedCPU is what this process has used, user and system, of all its threads.
func UsedCPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic("BUG: getrusage(2) of the caller: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// clientCores is how many processors this process may use: the runtime reads the affinity mask and the cgroup's quota.
func clientCores() int { return runtime.GOMAXPROCS(0) }
