package iouringtest

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/iouring"
)

// Step is one line of a script: the fault of the operation of Kind that is the Nth, from 0, of its kind.
type Step struct {
	Kind  iouring.EventKind
	Nth   int
	Fault Fault
}

// Script is the plan that applies each step once; all else goes well.
func Script(steps ...Step) Plan {
	return func(op Op) Fault {
		for _, s := range steps {
			if s.Kind == op.Kind && s.Nth == op.Seq {
				return s.Fault
			}
		}
		return Fault{}
	}
}

// Rates are the odds, 0 to 1, of each fault that [Seeded] draws.
type Rates struct {
	Short   float64 // of recv-into, read and write of 2 bytes or more
	EAGAIN  float64 // of recv, recv-into and read
	ENOBUFS float64 // of recv
	EIO     float64 // of read, write and sync
	ENOSPC  float64 // of write
	Late    float64
	LateMax int // the most Polls by which an event is late
}

// Seeded is the plan that draws faults by rates from seed.
func Seeded(seed uint64, rates Rates) Plan {
	rng := rand.New(rand.NewPCG(seed, 0x72696e676d696c6c))
	return func(op Op) Fault {
		f := Fault{Errno: rates.errno(rng, op.Kind)}
		if shortens(op.Kind) && op.Len > 1 && rng.Float64() < rates.Short {
			f.Short = 1 + rng.IntN(op.Len-1)
		}
		if rates.LateMax > 0 && rng.Float64() < rates.Late {
			f.Delay = 1 + rng.IntN(rates.LateMax)
		}
		return f
	}
}

func (r Rates) errno(rng *rand.Rand, kind iouring.EventKind) unix.Errno {
	// Drawn in every case, so that one kind's rates do not move another's draws.
	again, broken, full := rng.Float64() < r.EAGAIN, rng.Float64() < r.EIO, rng.Float64() < r.ENOSPC
	empty := rng.Float64() < r.ENOBUFS
	switch {
	case empty && kind == iouring.EventRecv:
		return unix.ENOBUFS
	case again && (kind == iouring.EventRecv || kind == iouring.EventRecvInto || kind == iouring.EventRead):
		return unix.EAGAIN
	case broken && (kind == iouring.EventRead || kind == iouring.EventWrite || kind == iouring.EventSync):
		return unix.EIO
	case full && kind == iouring.EventWrite:
		return unix.ENOSPC
	}
	return 0
}

func shortens(kind iouring.EventKind) bool {
	return kind == iouring.EventRecvInto || kind == iouring.EventRead || kind == iouring.EventWrite
}
