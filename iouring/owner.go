package iouring

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// owner remembers the thread an engine belongs to. It is checked only under the build tag invariants, for asking is a
// system call; a ring's kernel side notices strangers too, if later (EEXIST).
type owner struct{ thread int }

func newOwner() owner { return owner{unix.Gettid()} }

func (o owner) check() {
	if invariants {
		if t := unix.Gettid(); t != o.thread {
			panic(fmt.Sprintf("BUG: iouring: engine of thread %d used on thread %d", o.thread, t))
		}
	}
}
