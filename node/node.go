package node

import (
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/iouring"
	"github.com/ringmill/ringmill/node/config"
)

// Node is one running node: its loops, its log directories, its topics and its coordinators.
type Node struct {
	started time.Time
	seams   seams
	// cfg is what the node runs with; a dynamic change replaces it.
	cfg     atomic.Pointer[config.Config]
	log     *throttledLog
	metrics *nodeMetrics

	loops  []*Loop
	dirs   []*logDir
	topics *catalog
	state  *stateDir
	// made are the directories that this start made, and meta.properties; scan what it found in the log directories, resumed the moves that it goes on with.
	made []string
	scan *dirScan
	// ranBefore says that the metadata is of an earlier start.
	ranBefore bool
	// dirGone is a log directory of the last start that is not there, or new; "": none.
	dirGone string
	resumed []foundFuture
	moves   *logMoves

	// metaMu serialises changes of the metadata: topics, configurations, producer id blocks.
	metaMu sync.Mutex
	store  *image.Store
	image  atomic.Pointer[image.Image]
	// authorizers decide who may do what; see publish.
	authorizers authorizers
	// nextOwner deals partitions to loops in turn.
	nextOwner int
	// producerIDs is the block that InitProducerId hands out from.
	producerIDs idBlock

	// cleanerStopped is closed when the cleaner has ended.
	cleanerStopped chan struct{}

	// cluster is nil for a node of its own, and isr has nothing to do there.
	cluster *cluster
	isr     *isrProposer
	// lacking are this node's replicas that cannot be counted on.
	lacking *lackingReplicas
	// scrubber checks what the disks have.
	scrubber *scrubber
	// truncations are the places of those who cut logs.
	truncations chan struct{}
	// leaderQuota and followerQuota bound what throttled replicas copy.
	leaderQuota, followerQuota replicationQuota
	// interrupt ends a start that waits for other nodes; nil: nothing does.
	interrupt <-chan struct{}
	// serving says that clients are served; a node of a cluster answers other nodes before.
	serving atomic.Bool
	// served is closed when serving becomes true.
	served chan struct{}

	groups   *groupService
	txns     *txnService
	shareLog *shareStateService
	shares   *shareService
	sessions sessionHomes

	quotas          *clientQuotas
	connectionRates *connectionRates
	// addresses are those of the hosts that have quotas, as they were when those were set or the node started; metaMu guards it.
	addresses map[string]netip.Addr

	listeners []*listener

	// connectionIDs numbers the connections.
	connectionIDs atomic.Uint64
	// openFiles counts the segment files that are open, see segmentFile.
	openFiles atomic.Int64
	probeMu   sync.Mutex
	probes    map[int]iouring.Probe
	// recordReaders are the places of those who read produced records; see readRecords.
	recordReaders chan struct{}
	// decoding bounds the cold requests that are decoded at once, by bytes.
	decoding *decodeLimit
	// growing are the turns of answers that grow with what the node has; see grows.
	growing growingTurns

	http *admin
	// ready says that /readyz may say so; stopping, that the node goes down; draining is closed when requests that wait for others
	// must be answered, quit when goroutines must end.
	ready, stopping atomic.Bool
	draining, quit  chan struct{}
	// running says that the loops' threads run; before that what is theirs belongs to start.
	running bool
	// failure is the first fault that ends the node; failed is closed with it.
	failOnce sync.Once
	// broken is set by fatal before anything else, see partition.failing.
	broken  atomic.Bool
	failure error
	failed  chan struct{}
}

// fatal ends the node. What was acknowledged is safe; nothing is tried again that failed once.
func (n *Node) fatal(err error) {
	n.broken.Store(true)
	n.failOnce.Do(func() {
		n.failure = err
		slog.Error("node stops", "error", err)
		close(n.failed)
	})
}

// hasFailed says whether fatal was called, and lets the caller read failure.
func (n *Node) hasFailed() bool {
	select {
	case <-n.failed:
		return true
	default:
		return false
	}
}

// noteProbe keeps what a loop's engine probe found, for the start's report and the status page.
func (n *Node) noteProbe(loop int, p iouring.Probe) {
	n.probeMu.Lock()
	defer n.probeMu.Unlock()
	n.probes[loop] = p
	n.metrics.engineInfo(loop, p)
}

// owner picks the loop for a new partition; metaMu is held.
func (n *Node) owner() *Loop {
	l := n.loops[n.nextOwner%len(n.loops)]
	n.nextOwner++
	return l
}
