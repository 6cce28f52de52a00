package iouring

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// PinThread binds the calling thread, which must be locked to its goroutine, to one CPU. io-wq workers that the
// thread's ring starts later inherit the binding. Never combine it with a real-time scheduling class: a loop that
// parks then spins for a lock of the Go scheduler whose holder it keeps off the CPU.
func PinThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("iouring: pin the thread to CPU %d: %w", cpu, err)
	}
	return nil
}

// ThreadCPUs lists the CPUs that the calling thread may run on, the candidates for PinThread.
func ThreadCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("iouring: ask for the thread's CPUs: %w", err)
	}
	cpus := make([]int, 0, set.Count())
	for cpu := 0; len(cpus) < cap(cpus); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
