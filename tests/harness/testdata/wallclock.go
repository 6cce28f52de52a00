// Beside time.go of the standard library, in a build of ringmill for tests (harness.Clock): there Now asks shiftedNow. The file that
// TEST_WALL_CLOCK names has two words, which this process shares with the test: by how many nanoseconds the wall clock is off, and how often it
// was read so.

package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// wallClock is nil where no test sets the clock.
var wallClock = openWallClock()

type sharedWallClock struct{ offset, reads atomic.Int64 }

func openWallClock() *sharedWallClock {
	name, ok := syscall.Getenv("TEST_WALL_CLOCK")
	if !ok {
		return nil
	}
	fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("the test's wall clock: " + err.Error())
	}
	words, err := syscall.Mmap(fd, 0, int(unsafe.Sizeof(sharedWallClock{})), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic("the test's wall clock: " + err.Error())
	}
	return (*sharedWallClock)(unsafe.Pointer(&words[0]))
}

// shiftedNow is runtimeNow with the wall clock off by what the test has set; the monotonic one is right.
func shiftedNow() (sec int64, nsec int32, mono int64) {
	sec, nsec, mono = runtimeNow()
	if wallClock == nil {
		return sec, nsec, mono
	}
	if off := wallClock.offset.Load(); off != 0 {
		wallClock.reads.Add(1)
		at := int64(nsec) + off%1e9
		sec += off/1e9 + at/1e9
		if at %= 1e9; at < 0 {
			sec, at = sec-1, at+1e9
		}
		nsec = int32(at)
	}
	return sec, nsec, mono
}
