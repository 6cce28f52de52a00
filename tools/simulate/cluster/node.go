package cluster

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/segment/segmenttest"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// firstNode is the id of the first node; the others follow.
const firstNode wire.NodeID = 1

// Node is a machine: a disk, and the process that runs on it now and then.
type Node struct {
	cluster   *Cluster
	index     int
	id        wire.NodeID
	directory wire.UUID // of its quorum state
	process   *world.Process
	fs        *segmenttest.FS

	goingDown bool // bringDown was called; it ends at one of its next operations
	ending    FaultKind
	downFor   time.Duration
	slowDisks int     // faults that make the disk slow and are not over
	pace      float64 // of its monotonic clock

	quorum  *quorumService
	control *controllerService
	image   *image.Image // what its quorum has applied
}

func (c *Cluster) newNode(index int) *Node {
	n := &Node{cluster: c, index: index, id: firstNode + wire.NodeID(index), fs: segmenttest.New(c.world.Disk.Uint64())}
	n.process = c.world.NewProcess(fmt.Sprintf("node %d", n.id), index)
	n.directory = wire.UUID{0: 0xd1, 7: byte(n.id), 15: byte(n.id)}
	n.pace = 1 + c.opt.Clock.DriftMax*(2*c.world.Clock.Float64()-1)
	return n
}

// every calls fn each d of the node's own clock.
func (n *Node) every(d time.Duration, fn func()) {
	d = time.Duration(float64(d) / n.pace)
	n.process.Every(d, world.Between(n.cluster.world.Clock, 0, d), fn)
}

// start begins a life of the node's process.
func (n *Node) start() {
	n.cluster.world.Tracef("up        %s", n.process.Name())
	n.process.Start()
	n.ending, n.downFor = Kill, 100*time.Millisecond // if it ends itself
	n.startQuorum()
}

// stop ends the process as SIGTERM does.
func (n *Node) stop() {
	n.quorum.close()
	n.die()
}

// forget drops what the process had in memory.
func (n *Node) forget() { n.quorum, n.control, n.image = nil, nil, nil }
