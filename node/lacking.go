package node

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/lacking"
	"github.com/ringmill/ringmill/wire"
)

// lackingReplicas are the replicas of this node that may lack what they have promised (replicate.Partition.Lack): damaged, lost, or in
// a log directory that has failed. The controller is told of them with every heartbeat, and takes them out of what is counted on; then
// each is mended from its leader.
//
//	scrub, fetch, start ─▶ Lack ─▶ noteLacking ─▶ heartbeat ─▶ controller: out of ISR and ELR, a new leader epoch
//	                                                                                  │
//	       fetched again from the leader ◀─ cut where it is damaged ◀─ Follow ◀───────┘
//
// What a start has found missing is written to state/lacking, and to state/begun-anew that nothing is left of it, before the log goes on without
// it: another crash must not make it forgotten, for then the log looks merely empty. The rest the logs tell themselves.
type lackingReplicas struct {
	node *Node
	mu   sync.Mutex
	// list has them; mu guards it. Bounded by the partitions of the node.
	list *lacking.List
	// unsaved says that the file does not say what the list does; mu guards it.
	unsaved bool
	// saveMu is held while the list is written, so that the last to write it wrote the newest.
	saveMu sync.Mutex
}

const (
	lackingName = "lacking"
	begunName   = "begun-anew"
	// lackingToldMax is how many a heartbeat tells of: 24 bytes each, twice where nothing is left of them. The others come with the next ones.
	lackingToldMax = 20_000
	lackingBytes   = 24
)

func newLackingReplicas(n *Node) *lackingReplicas {
	return &lackingReplicas{node: n, list: lacking.NewList(lackingToldMax)}
}

// has says whether a replica is among them.
func (k *lackingReplicas) has(name lacking.Replica) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list.Has(name)
}

// set notes what has become of a replica; it reports whether that is news.
func (k *lackingReplicas) set(name lacking.Replica, since wire.LeaderEpoch, lacks bool) (news bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if lacks {
		news = k.list.Set(name, since)
	} else {
		news = k.list.Remove(name)
	}
	if news {
		k.changed()
	}
	return news
}

// leads notes that a replica leads; it reports whether that is news of one that was begun anew.
func (k *lackingReplicas) leads(name lacking.Replica) (news bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if news = k.list.Leads(name); news {
		k.changed()
	}
	return news
}

// changed notes that the list is another; mu is held.
func (k *lackingReplicas) changed() {
	k.unsaved = true
	k.node.metrics.lacking.Store(int64(k.list.Len()))
}

// tell gives those that the next heartbeat names; all says that the controller has been told of each when it answers.
func (k *lackingReplicas) tell() (some []controller.LackingReplica, all bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list.Tell()
}

// told says that the controller has answered a heartbeat that named some.
func (k *lackingReplicas) told(some []controller.LackingReplica) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list.Told(some)
}

// file is state/lacking; begunFile is state/begun-anew, which names those of it of which nothing is left.
func (k *lackingReplicas) file() string      { return filepath.Join(k.node.state.path, lackingName) }
func (k *lackingReplicas) begunFile() string { return filepath.Join(k.node.state.path, begunName) }

// save returns when the list is written down as it was at the call, or later: one write does for all changes that wait for one.
func (k *lackingReplicas) save() error {
	k.saveMu.Lock()
	defer k.saveMu.Unlock()
	texts, unsaved := k.take()
	if !unsaved {
		return nil
	}
	err := k.write(k.begunFile(), texts.Begun)
	if err == nil {
		err = k.write(k.file(), texts.List)
	}
	if err != nil {
		k.mu.Lock()
		k.unsaved = true
		k.mu.Unlock()
	}
	return err
}

// write writes one of the files, or removes it, durably.
func (k *lackingReplicas) write(name string, text []byte) error {
	fsys := k.node.seams.fs
	if text != nil {
		return fsys.WriteFileAtomic(name, text)
	}
	switch err := fsys.Remove(name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return fsys.SyncDir(k.node.state.path)
}

// read is a file's text; nil if there is none.
func (k *lackingReplicas) read(name string) ([]byte, error) {
	text, err := k.node.seams.fs.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, startError(name, err)
	}
	return text, nil
}

// take is what the files are to say, if they do not.
func (k *lackingReplicas) take() (texts lacking.Texts, unsaved bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.unsaved {
		return texts, false
	}
	k.unsaved = false
	return k.list.Texts(), true
}

// load reads what an earlier start has found missing of jobs; what else it has found is of no replica of this node any more. A list that cannot
// be read may have named any of them.
func (k *lackingReplicas) load(jobs []*openJob) (err error) {
	var texts lacking.Texts
	if texts.List, err = k.read(k.file()); err != nil {
		return err
	}
	if texts.Begun, err = k.read(k.begunFile()); err != nil {
		return err
	}
	if texts.List == nil && texts.Begun == nil {
		return nil
	}
	held, byName := make([]lacking.Replica, 0, len(jobs)), make(map[lacking.Replica]*openJob, len(jobs))
	for _, j := range jobs {
		held, byName[j.name()] = append(held, j.name()), j
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	sound, err := k.list.Load(texts, held, func(r lacking.Replica) bool { return byName[r].watermarkKnown() })
	if err != nil {
		return &StartError{Path: k.begunFile(), Problem: err.Error(),
			Cure: "restore it from a copy; if it is removed, replicas that a start has begun anew, empty, may be elected where no other has all"}
	}
	if !sound {
		slog.Error("the list of lacking replicas is damaged: it may have named any", "file", k.file())
	}
	k.changed()
	return nil
}

// watermarkKnown says whether the high watermark of a log that is there was written down.
func (j *openJob) watermarkKnown() bool { return !j.fresh && j.found.dir.watermark(j.found.tp) > 0 }

// beginAnew notes replicas of which nothing is left: a start makes their logs anew, empty.
func (k *lackingReplicas) beginAnew(jobs []*openJob) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, j := range jobs {
		k.list.BeginAnew(j.name())
	}
	k.changed()
}

// add notes replicas that a start has found wanting.
func (k *lackingReplicas) add(jobs []*openJob) {
	for _, j := range jobs {
		k.set(j.name(), wire.NoLeaderEpoch, true)
	}
}

func (j *openJob) name() lacking.Replica {
	return lacking.Replica{Topic: j.topic.id, Partition: j.found.tp.Partition}
}

// lack takes note of damage in a replica that others have too.
func (l *Loop) lack(p *partition) {
	if l.node.cluster == nil {
		return
	}
	p.replica.Lack()
	if r := p.replicator; r != nil {
		r.fetcher.Remove(p.id, p.index)
		p.replicator = nil
		l.dropFetched(p)
	}
	l.noteLacking(p)
}

// noteLacking tells the node whether a replica lacks something, and so the controller.
func (l *Loop) noteLacking(p *partition) {
	n := l.node
	if n.cluster == nil {
		return
	}
	since, lacks := p.replica.Lacking()
	if p.stopped == wire.UnknownTopicOrPartition {
		lacks = false
	}
	name := lacking.Replica{Topic: p.id, Partition: p.index}
	news := n.lacking.set(name, since, lacks)
	if lacks && p.leads.Load() {
		news = n.lacking.leads(name) || news
	}
	if !news {
		return
	}
	if lacks {
		slog.Warn("a replica may lack what it has promised: the controller is asked not to count on it", "partition", p.name(), "leaderEpoch", int(since))
		n.cluster.broker.nudge()
	}
	l.background(func() Message {
		if err := n.lacking.save(); err != nil {
			n.log.throttled("the list of lacking replicas cannot be written", "error", err)
		}
		return nil
	})
}

// counted says whether a partition's state counts on this node, and on others beside it.
func (n *Node) counted(s *image.PartitionState) (mine, others bool) {
	me := n.Config().NodeID
	size := len(s.ISR) + len(s.ELR)
	if mine = s.Counted(me); mine {
		size--
	}
	return mine, size > 0
}

// countedOn is counted, where mine is too that the partition falls back on this node when nobody has all (KIP-966).
func (n *Node) countedOn(s *image.PartitionState) (mine, others bool) {
	mine, others = n.counted(s)
	return mine || slices.Contains(s.LastKnownELR, n.Config().NodeID), others
}

// replaceable says whether all that jobs' logs may have lost is there elsewhere.
func (n *Node) replaceable(jobs []*openJob) bool {
	m := n.Image()
	for _, j := range jobs {
		s := m.ByID(j.topic.id).State(j.found.tp.Partition)
		if s == nil || len(s.Replicas) == 1 {
			return false
		}
		if mine, others := n.counted(s); mine && !others {
			return false
		}
	}
	return n.cluster != nil
}

// appendLacking encodes what a heartbeat tells of lacking replicas: topic id, partition int32, leader epoch int32.
func appendLacking(dst []byte, some []controller.LackingReplica) []byte {
	for _, k := range some {
		dst = append(dst, k.Topic[:]...)
		dst = binary.BigEndian.AppendUint32(dst, uint32(k.Partition))
		dst = binary.BigEndian.AppendUint32(dst, uint32(k.Since))
	}
	return dst
}

func readLacking(src []byte) (some []controller.LackingReplica) {
	for ; len(src) >= lackingBytes && len(some) < lackingToldMax; src = src[lackingBytes:] {
		k := controller.LackingReplica{
			Partition: wire.PartitionIndex(binary.BigEndian.Uint32(src[16:])), Since: wire.LeaderEpoch(binary.BigEndian.Uint32(src[20:])),
		}
		copy(k.Topic[:], src)
		some = append(some, k)
	}
	return some
}
