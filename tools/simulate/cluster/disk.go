package cluster

import (
	"errors"
	"time"

	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/tools/simulate/world"
)

// errSync is what the sync answers that fails.
var errSync = errors.New("the disk has failed")

// goDownWithin is after how long a node that was told to go down does so though it has not touched its disk.
const goDownWithin = 100 * time.Millisecond

// bringDown ends the node by a fault, at one of its next operations on the disk: between the write and the sync, in the middle of a
// change of names. It is started again after length.
func (n *Node) bringDown(kind FaultKind, length time.Duration) {
	if !n.process.Running() || n.goingDown {
		return
	}
	n.goingDown, n.ending, n.downFor = true, kind, length
	if kind == CleanRestart {
		n.process.After(0, n.stop)
		return
	}
	if n.process.Paused() {
		n.die()
		return
	}
	n.fs.Inject(endAt(kind, n.cluster.world.Disk.IntN(8)))
	n.process.After(goDownWithin, n.die)
}

// endAt fails the operations on the disk after some have passed; of a write half arrives. The error is one that the disk does not take
// for its own, but for the sync of a FailedSync: what that covered may never reach the disk.
func endAt(kind FaultKind, operations int) segmenttest.Injector {
	return func(op segmenttest.Op) (int, error) {
		switch {
		case op.Kind == segmenttest.OpOpen || op.Kind == segmenttest.OpRead || op.Kind == segmenttest.OpReadDir:
			return 0, nil
		case kind == FailedSync && op.Kind == segmenttest.OpSync:
			return 0, errSync
		case operations > 0:
			operations--
			return 0, nil
		}
		return op.Len / 2, segmenttest.ErrPowerCut
	}
}

// failed is what the node does about an error of its disk: it ends itself, and never tries again.
func (n *Node) failed(err error) {
	if !n.goingDown || n.ending == CleanRestart {
		n.cluster.world.Fail("fail-stop", "%s: an error without a fault: %v", n.process.Name(), err)
	}
	n.die()
}

// die ends the process. What its disk keeps depends on why. The world brings it back later.
func (n *Node) die() {
	if !n.process.Running() {
		return
	}
	n.cluster.world.Tracef("down      %s (%v)", n.process.Name(), n.ending)
	n.process.End()
	n.forget()
	n.fs.Inject(nil)
	switch n.ending {
	case PowerCut, FailedSync: // after a failed sync nobody knows what the disk has: only a reboot reads it
		n.fs = n.fs.Crash()
	default:
		n.fs.Kill()
	}
	n.goingDown = false
	n.cluster.world.After(n.downFor, n.comeBack)
}

// endBy is die by a fault, whatever the node does. It is started again after length.
func (n *Node) endBy(kind FaultKind, length time.Duration) {
	if n.process.Running() {
		n.ending, n.downFor = kind, length
		n.die()
	}
}

// comeBack starts a node that is down.
func (n *Node) comeBack() {
	if !n.process.Running() {
		n.start()
	}
}

// syncTime draws how long a sync takes.
func (n *Node) syncTime() time.Duration {
	c := n.cluster
	d, r := c.opt.Disk, c.world.Disk
	switch {
	case n.slowDisks > 0:
		return world.Between(r, d.SlowMax/2, 2*d.SlowMax)
	case !c.calm && world.Chance(r, d.SlowShare):
		return world.Between(r, d.SyncMax, d.SlowMax)
	}
	return world.Between(r, d.SyncMin, d.SyncMax)
}

// sync runs do, which syncs files, and calls done when the disk says that it is through. What is on the disk in between is the disk's
// business: do runs at the beginning or at the end, so that a power cut in between may find all of it or nothing, and
// what was written meanwhile may be covered or not.
func (n *Node) sync(do func() error, done func()) {
	early := n.cluster.world.Disk.IntN(2) == 0
	if early && !n.run(do) {
		return
	}
	n.process.After(n.syncTime(), func() {
		if early || n.run(do) {
			done()
		}
	})
}

// run does something with the disk; false if the node died of it.
func (n *Node) run(do func() error) bool {
	if err := do(); err != nil {
		n.failed(err)
		return false
	}
	return true
}
