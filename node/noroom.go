package node

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringmill/ringmill/wire"
)

// noRoom says that a disk, or what somebody may take of it, is full.
func noRoom(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// noRoomPause is the time until what a full disk has refused is tried again: what it lacks is not there at once.
const noRoomPause = 2 * time.Second

// noRoom has others go on without a replica whose disk is full: it leaves the ISR at once, not when it has lagged for long, and leads no
// more. Nothing of it is lost, so that it fetches on, and is in sync again some time after there is room.
func (l *Loop) noRoom(p *partition, err error) {
	n := l.node
	if n.cluster == nil || p.stopped != wire.None || !noRoom(err) {
		return
	}
	if t := n.Image().ByID(p.id); t == nil || t.State(p.index) == nil || !t.State(p.index).Counted(n.Config().NodeID) {
		return // out of it already
	}
	l.lack(p)
}
