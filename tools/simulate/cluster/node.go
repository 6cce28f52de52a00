package cluster

import (
	"fmt"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/lacking"
	"github.com/ringmill/ringmill/segment"
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
	wallError time.Duration
	lastEnds  []wire.Offset // what the disk had of each partition when the last life ended, by its own word
	clean     bool          // the last life ended in good order
	learner   bool          // its part of the quorum was lost: it has to be taken in again
	wipes     int           // of its disk so far
	anew      []bool        // by place: its log was missing, and somebody may count on it yet
	dirGone   bool          // a log directory is another one than when it made its logs last
	outSince  []uint64      // by place, once the disk was lost: the version of the image that has it out of the in-sync set
	catalogs  []wire.UUID   // ids of its log directories

	started time.Duration // when this life began, by the world's clock
	quorum  *quorumService
	control *controllerService
	image   *image.Image // what its quorum has applied
	txns    *txnService
	groups  *groupService

	incarnation wire.UUID               // of this life
	registered  wire.BrokerEpoch        // 0: not yet
	stopping    bool                    // in a controlled shutdown
	lack        *lacking.List           // replicas that may lack something; nil: not looked for yet, or never
	caughtUp    bool                    // it has looked for what is lost
	serves      bool                    // the controller has let it into service
	replicas    []*replica              // by place; nil: this node has none
	states      []*image.PartitionState // what they were told last
	fetchers    []*fetchService         // by leader
	sessions    []*fetchSession
	lastSession int32
	points      map[wire.TopicPartition]wire.Offset // recovery points, as in their file
	syncing     bool
	recovered   []*segment.Log   // while it starts, by place
	journal     *segment.Journal // nil: each log's file is synced instead
	journalFile segment.File
}

func (c *Cluster) newNode(index int) *Node {
	n := &Node{cluster: c, index: index, id: firstNode + wire.NodeID(index), fs: segmenttest.New(c.world.Disk.Uint64())}
	n.process = c.world.NewProcess(fmt.Sprintf("node %d", n.id), index)
	n.directory = wire.UUID{0: 0xd1, 7: byte(n.id), 15: byte(n.id)}
	n.pace = 1 + c.opt.Clock.DriftMax*(2*c.world.Clock.Float64()-1)
	n.catalogs = make([]wire.UUID, c.opt.Losses.Directories)
	for d := range n.catalogs {
		n.catalogs[d] = wire.UUID{0: 0xd2, 2: byte(d), 15: byte(n.id)}
	}
	n.wallError = world.Between(c.world.Clock, -c.opt.Clock.WallMax, c.opt.Clock.WallMax+1)
	n.lastEnds, n.outSince, n.anew = make([]wire.Offset, len(c.places)), make([]uint64, len(c.places)), make([]bool, len(c.places))
	return n
}

// now is the node's monotonic clock: since its process began.
func (n *Node) now() time.Duration { return n.byOwnClock(n.cluster.world.Now() - n.started) }

func (n *Node) byOwnClock(d time.Duration) time.Duration { return time.Duration(float64(d) * n.pace) }

// every calls fn each d of the node's own clock.
func (n *Node) every(d time.Duration, fn func()) {
	d = time.Duration(float64(d) / n.pace)
	n.process.Every(d, world.Between(n.cluster.world.Clock, 0, d), fn)
}

// start begins a life of the node's process.
func (n *Node) start() {
	n.cluster.world.Tracef("up        %s", n.process.Name())
	n.process.Start()
	n.started = n.cluster.world.Now()
	n.ending, n.downFor = Kill, 100*time.Millisecond // if it ends itself
	n.incarnation = wire.UUID{0: byte(n.id), 1: byte(n.process.Life() >> 8), 2: byte(n.process.Life()), 15: 1}
	n.states, n.fetchers = make([]*image.PartitionState, len(n.cluster.places)), make([]*fetchService, n.cluster.opt.Nodes)
	n.startControl()
	n.txns, n.groups = newTxnService(n), newGroupService(n)
	if n.run(n.startReplicas) {
		n.startQuorum()
	}
	if n.process.Running() {
		n.startBroker()
	}
}

// forget drops what the process had in memory.
func (n *Node) forget() {
	for i, r := range n.replicas {
		if r != nil {
			n.lastEnds[i] = r.partition.SafeEnd()
		}
	}
	n.quorum, n.control, n.image = nil, nil, nil
	n.txns, n.groups = nil, nil
	n.registered, n.stopping, n.syncing = 0, false, false
	n.lack, n.caughtUp, n.serves = nil, false, false
	n.replicas, n.states, n.fetchers, n.sessions = nil, nil, nil, nil
	n.recovered, n.journal, n.journalFile = nil, nil, nil
}
