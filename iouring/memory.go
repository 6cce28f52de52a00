package iouring

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Advice is a hint for mapped memory, see madvise(2).
type Advice int

// The hints that make sense for arenas.
const (
	// NotInCores keeps the arena (and so clients' records) out of core dumps.
	NotInCores Advice = unix.MADV_DONTDUMP
	// NotInChildren keeps it out of forked children, whose copy-on-write would move pages under the ring.
	NotInChildren Advice = unix.MADV_DONTFORK
)

// Map returns n zeroed bytes outside the Go heap: the collector neither scans nor counts them, and their address is
// fixed until Unmap. Pages take memory when first touched. Advice the kernel refuses is passed over, for it is only a
// hint.
func Map(n int, advice ...Advice) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("iouring: map %d bytes: %w", n, err)
	}
	for _, a := range advice {
		_ = unix.Madvise(mem, int(a))
	}
	return mem, nil
}

// Unmap ends a mapping. mem must be what Map returned, and nothing may refer to it any more.
func Unmap(mem []byte) error {
	if err := unix.Munmap(mem); err != nil {
		return fmt.Errorf("iouring: unmap %d bytes: %w", len(mem), err)
	}
	return nil
}
