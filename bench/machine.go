package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// ThreadsCPU is what each thread of a process has used, by its id.
func ThreadsCPU(pid int) (map[int]time.Duration, error) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, fmt.Errorf("bench: threads of process %d: %w", pid, err)
	}
	used := map[int]time.Duration{}
	for _, thread := range threads {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, thread.Name()))
		if err != nil {
			continue // it has ended
		}
		user, system, err := parseStat(stat)
		if err != nil {
			return nil, err
		}
		id, _ := strconv.Atoi(thread.Name())
		used[id] = user + system
	}
	return used, nil
}

// WrittenBytes are those that a process has had written to disks (write_bytes of proc_pid_io(5)), which only its own user may know.
func WrittenBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, fmt.Errorf("bench: what process %d has written: %w", pid, err)
	}
	n, err := strconv.ParseInt(fieldOf(text, "write_bytes"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("bench: what process %d has written: %w", pid, err)
	}
	return n, nil
}

// MachineCPU is what all processors of this machine have spent since it started, and for how much of that they were busy (proc_stat(5)).
func MachineCPU() (busy, all time.Duration, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("bench: %w", err)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return machineCPU(line)
}

// machineCPU reads "cpu", then user, nice, system, idle, iowait, irq, softirq and steal; what guests used is in user and nice.
func machineCPU(line []byte) (busy, all time.Duration, err error) {
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0, 0, errors.New("bench: /proc/stat does not begin with the processors' times")
	}
	for i, field := range fields[1:9] {
		spent, err := ticks(field)
		if err != nil {
			return 0, 0, err
		}
		all += spent
		if i != 3 && i != 4 {
			busy += spent
		}
	}
	return busy, all, nil
}
