package cluster

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/lacking"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/tools/simulate/world"
	"github.com/ringmill/ringmill/wire"
)

// LossOptions say whether a node loses log directories, once in the run, and goes on without what was in them (ringmill.missing.data=begin). In such
// a run nodes tell the controller themselves what they have lost (controller.Registration.TellsLost). They have a stream of their own.
type LossOptions struct {
	At          time.Duration `json:"at"`          // 0: none does
	Directories int           `json:"directories"` // that a node has
	Lost        int           `json:"lost"`        // the first of them
	ToldMax     int           `json:"toldMax"`     // replicas that a heartbeat names
	Kill        bool          `json:"kill"`        // it is killed while it begins anew, and then who alone has all that it may be elected for
}

// drawLosses draws them, for half of the runs in which a disk may be lost and none is otherwise: see drawMembers.
func drawLosses(r *rand.Rand, o *Options) LossOptions {
	drawn := r.IntN(2) == 1
	l := LossOptions{At: world.Between(r, time.Second, o.Safety), Directories: 1 + r.IntN(2), ToldMax: world.Pick(r, 1, 1, 1, 2, 1000), Kill: r.IntN(4) > 0}
	l.Lost = 1 + r.IntN(l.Directories)
	if !drawn || o.FlushPolicy != "commit" || o.MinISR < 2 || o.Members.Wipe != 0 {
		return LossOptions{Directories: 1}
	}
	return l
}

// drawLossFaults draws the loss, and what comes while the node begins anew: at an operation on its disk, or when it has made its logs.
func drawLossFaults(r *rand.Rand, o Options) (faults []Fault) {
	if o.Losses.At == 0 {
		return nil
	}
	faults = append(faults, Fault{
		At: o.Losses.At, Kind: LostLogs, Target: Target(r.IntN(targets)), Node: r.IntN(o.Partitions), Peer: 1,
		Length: world.Between(r, 10*time.Millisecond, o.Faults.Length),
	})
	if o.Losses.Kill {
		faults = append(faults, Fault{
			At: o.Losses.At, Kind: world.Pick(r, Kill, PowerCut), Target: Beginner, Peer: 1,
			Length: world.Between(r, 10*time.Millisecond, 3*o.SessionTimeout), Late: world.Pick(r, 0, time.Millisecond),
		})
	}
	return faults
}

// tells says whether nodes tell the controller themselves what they have lost.
func (c *Cluster) tells() bool { return c.opt.Losses.At > 0 }

// directoryOf is the log directory of a place, as far as the loss of directories goes; in the files there is one.
func (c *Cluster) directoryOf(index int) int { return index % c.opt.Losses.Directories }

// loser is who is to lose its log directories: rather than n one that stays eligible to lead what it has lost, for the in-sync set is too small
// without it.
func (c *Cluster) loser(n *Node) *Node {
	for _, s := range c.newestStates {
		if !c.opt.Losses.Kill || s == nil || len(s.ISR) > c.opt.MinISR {
			continue
		}
		for _, id := range s.ISR {
			if c.mayLoseLogs(c.node(id)) {
				return c.node(id)
			}
		}
	}
	return n
}

// mayLoseLogs says whether each partition has somebody beside a node who has all that is committed, and nobody who is only taken to: of a topic that was
// made, and whose nodes have all crashed before they made its logs, each tells that it has none, and is given up for the others.
func (c *Cluster) mayLoseLogs(n *Node) bool {
	for i, s := range c.newestStates {
		if s == nil {
			return false
		}
		others := wire.WithoutNodes(slices.Concat(s.ISR, s.ELR), n.id)
		if len(others) == 0 || slices.ContainsFunc(others, func(id wire.NodeID) bool { return !c.node(id).hasLog(i) }) {
			return false
		}
	}
	return true
}

// hasLog says whether the node has a log that it did not have to make anew.
func (n *Node) hasLog(index int) bool {
	_, err := n.fs.ReadDir(n.logDir(index))
	return err == nil && !n.anew[index]
}

// loseLogs ends the node, and brings it back with some of its log directories empty.
func (n *Node) loseLogs(length time.Duration) {
	c := n.cluster
	if !c.mayLoseLogs(n) {
		c.world.Tracef("%s keeps its logs: a partition has nobody else who may lead", n.process.Name())
		return
	}
	n.endBy(Kill, length)
	n.clean, n.dirGone = false, true
	n.renewCatalogs(c.opt.Losses.Lost)
	if err := n.removeLogs(c.opt.Losses.Lost); err != nil {
		panic(err)
	}
}

// renewCatalogs gives the first of the node's log directories other identities.
func (n *Node) renewCatalogs(lost int) {
	n.wipes++
	for d := range lost {
		n.catalogs[d] = wire.UUID{0: 0xd2, 1: byte(n.wipes), 2: byte(d), 15: byte(n.id)}
	}
}

// removeLogs empties the first of the node's log directories, of the checkpoints too.
func (n *Node) removeLogs(lost int) (err error) {
	n.points, err = n.readCheckpoint(recoveryPointFile)
	highs, highsErr := n.readCheckpoint(highWatermarkFile)
	if err = errors.Join(err, highsErr); err != nil {
		return err
	}
	for i, at := range n.cluster.places {
		if n.cluster.directoryOf(i) >= lost {
			continue
		}
		n.lastEnds[i], n.outSince[i] = 0, math.MaxUint64
		delete(n.points, at)
		delete(highs, at)
		if err := n.fs.RemoveAll(n.logDir(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(n.writePoints(), n.writeHighs(highs), n.fs.SyncDir(logsDir))
}

// name is the node's replica of a place.
func (c *Cluster) name(index int) lacking.Replica {
	at := c.places[index]
	return lacking.Replica{Topic: topicIDs[at.Topic], Partition: at.Partition}
}

const (
	lackingFile = "/state/lacking"
	begunFile   = "/state/begun-anew"
)

// takeUp has a node that tells what it has lost look for that in the first image that has its registration, and write it down before it makes any
// log. It is false as long as it has not.
func (n *Node) takeUp() bool {
	if !n.cluster.tells() || n.caughtUp {
		return true
	}
	n.caughtUp = n.image.Version() > uint64(n.registered) && n.run(n.noteLost)
	return n.caughtUp
}

// noteLost is node's.
func (n *Node) noteLost() error {
	c := n.cluster
	n.lack = lacking.NewList(c.opt.Losses.ToldMax)
	if err := n.loadLacking(); err != nil {
		return err
	}
	missing := false
	for i, r := range n.replicas {
		_, s := c.stateOf(n.image, i)
		switch {
		case s == nil || !s.HasReplica(n.id):
		case r != nil && n.lacks(i):
			r.partition.Lack()
		case r == nil && countedOn(s, n.id) && len(wire.WithoutNodes(slices.Concat(s.ISR, s.ELR), n.id)) > 0:
			missing, n.anew[i] = true, true
			if n.lack.Set(c.name(i), wire.NoLeaderEpoch); n.dirGone {
				n.lack.BeginAnew(c.name(i))
			}
		}
	}
	if !missing {
		return nil
	}
	if n.dirGone {
		n.begins(false)
	}
	return n.saveLacking()
}

// countedOn is node's.
func countedOn(s *image.PartitionState, id wire.NodeID) bool {
	return s.Counted(id) || slices.Contains(s.LastKnownELR, id)
}

// lacks says whether the node's replica of a place is on its list.
func (n *Node) lacks(index int) bool { return n.lack != nil && n.lack.Has(n.cluster.name(index)) }

func (n *Node) loadLacking() (err error) {
	var texts lacking.Texts
	if texts.List, err = n.readIfThere(lackingFile); err != nil {
		return err
	}
	if texts.Begun, err = n.readIfThere(begunFile); err != nil {
		return err
	}
	var held []lacking.Replica
	known := make(map[lacking.Replica]bool)
	for i, r := range n.replicas {
		if _, s := n.cluster.stateOf(n.image, i); s != nil && s.HasReplica(n.id) {
			held = append(held, n.cluster.name(i))
			known[n.cluster.name(i)] = r != nil && r.partition.HighWatermark() > 0
		}
	}
	sound, err := n.lack.Load(texts, held, func(r lacking.Replica) bool { return known[r] })
	if err == nil && !sound {
		err = errors.New("the list of lacking replicas is damaged")
	}
	return err
}

func (n *Node) readIfThere(name string) ([]byte, error) {
	text, err := n.fs.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func (n *Node) saveLacking() error {
	texts := n.lack.Texts()
	if err := n.writeOrRemove(begunFile, texts.Begun); err != nil {
		return err
	}
	return n.writeOrRemove(lackingFile, texts.List)
}

func (n *Node) writeOrRemove(name string, text []byte) error {
	if text != nil {
		return n.fs.WriteFileAtomic(name, text)
	}
	switch err := n.fs.Remove(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return n.fs.SyncDir("/state")
}

// noteLacking is node's.
func (n *Node) noteLacking(r *replica) {
	if n.lack == nil {
		return
	}
	since, lacks := r.partition.Lacking()
	news := false
	switch name := n.cluster.name(r.index); {
	case lacks && !r.gone:
		news = n.lack.Set(name, since)
		news = r.partition.Role() == replicate.Leading && n.lack.Leads(name) || news
	default:
		news = n.lack.Remove(name)
		n.anew[r.index] = false
	}
	if news {
		n.run(n.saveLacking)
	}
}

// tell names lacking replicas in a heartbeat; all says that the controller has been told of each when it answers. Until then, and until it has looked
// for them, the node is not to be let into service.
func (n *Node) tell(request *kmsg.BrokerHeartbeatRequest) (some []controller.LackingReplica, all bool) {
	if !n.cluster.tells() {
		return nil, true
	}
	all = n.caughtUp
	if n.caughtUp {
		some, all = n.lack.Tell()
	}
	request.WantFence = !n.serves && !all
	return some, all || !n.caughtUp
}

// told says that the controller has answered a heartbeat that named some.
func (n *Node) told(response *kmsg.BrokerHeartbeatResponse, some []controller.LackingReplica) {
	if n.lack == nil || response.ErrorCode != 0 {
		return
	}
	n.lack.Told(some)
	n.serves = !response.IsFenced
}

// begins says that the node is about to begin logs anew, or has made them and told nobody: it may be struck.
func (n *Node) begins(made bool) {
	c := n.cluster
	f, ok := c.takeAimed(func(f Fault) bool { return f.Target == Beginner && made == (f.Late > 0) })
	if !ok {
		return
	}
	keeper := n.keeper()
	if !made {
		c.hit(n, f)
	} else {
		n.process.After(0, func() { n.endNow(f) })
	}
	if keeper != nil {
		f.Length += 4 * c.opt.SessionTimeout // until the beginner may be elected
		c.hit(keeper, f)
	}
}

// endNow ends the node by a fault, whatever it does.
func (n *Node) endNow(f Fault) {
	n.cluster.world.Tracef("fault     %v of %s for %v", f.Kind, n.process.Name(), f.Length.Round(time.Millisecond))
	n.cluster.stats.faults++
	n.endBy(f.Kind, f.Length)
}

// keeper is who alone is in sync where the node is eligible to lead; nil if there is none.
func (n *Node) keeper() *Node {
	for _, s := range n.cluster.newestStates {
		if s != nil && slices.Contains(s.ELR, n.id) && len(s.ISR) == 1 {
			return n.cluster.node(s.ISR[0])
		}
	}
	return nil
}
