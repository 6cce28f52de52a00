package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/control/image"
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
// What a start has found missing is written to state/lacking before the log goes on without it: another crash must not make it
// forgotten. The rest the logs tell themselves.
type lackingReplicas struct {
	node *Node
	mu   sync.Mutex
	// all are the replicas with the newest leader epoch in which each may have promised something; mu guards it. Bounded by the partitions of
	// the node.
	all map[replicaName]wire.LeaderEpoch
	// gone are those of which nothing is left here, and nobody else has all. They are begun anew; mu guards it.
	gone map[replicaName]bool
	// unsaved says that the file does not say what all does; mu guards it.
	unsaved bool
	// saveMu is held while the list is written, so that the last to write it wrote the newest.
	saveMu sync.Mutex
}

// replicaName names a replica of this node.
type replicaName struct {
	topic wire.TopicID
	index wire.PartitionIndex
}

const (
	lackingName = "lacking"
	lackingHead = "ringmill lacking replicas 1\n"
	// lackingToldMax is how many a heartbeat tells of: 24 bytes each. The others come with later ones.
	lackingToldMax = 20_000
	lackingBytes   = 24
)

func newLackingReplicas(n *Node) *lackingReplicas {
	return &lackingReplicas{node: n, all: make(map[replicaName]wire.LeaderEpoch), gone: make(map[replicaName]bool)}
}

// has says whether a replica is among them.
func (k *lackingReplicas) has(name replicaName) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, lacking := k.all[name]
	return lacking
}

// set notes what has become of a replica; it reports whether that is news.
func (k *lackingReplicas) set(name replicaName, since wire.LeaderEpoch, lacking bool) (news bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was, known := k.all[name]
	if known == lacking && (!lacking || was == since) {
		return false
	}
	if lacking {
		k.all[name] = since
	} else {
		delete(k.all, name)
		delete(k.gone, name)
	}
	k.unsaved = true
	k.node.metrics.lacking.Store(int64(len(k.all)))
	return true
}

// told are those that the next heartbeat names: all, or some of them in no order.
func (k *lackingReplicas) told() (some []controller.LackingReplica) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, since := range k.all {
		if some = append(some, controller.LackingReplica{Topic: name.topic, Partition: name.index, Since: since, Gone: k.gone[name]}); len(some) == lackingToldMax {
			break
		}
	}
	return some
}

// file is state/lacking.
func (k *lackingReplicas) file() string { return filepath.Join(k.node.state.path, lackingName) }

// save returns when the list is written down as it was at the call, or later: one write does for all changes that wait for one.
func (k *lackingReplicas) save() error {
	k.saveMu.Lock()
	defer k.saveMu.Unlock()
	text, unsaved := k.take()
	if !unsaved {
		return nil
	}
	err := k.write(text)
	if err != nil {
		k.mu.Lock()
		k.unsaved = true
		k.mu.Unlock()
	}
	return err
}

func (k *lackingReplicas) write(text []byte) error {
	fsys := k.node.seams.fs
	if len(text) == len(lackingHead) {
		if err := fsys.Remove(k.file()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return fsys.WriteFileAtomic(k.file(), text)
}

// appendTo is the replica's line in the list.
func (name replicaName) appendTo(dst []byte) []byte {
	return fmt.Appendf(dst, "%s %d\n", name.topic, name.index)
}

// readReplicaName reads what appendTo wrote, to the letter.
func readReplicaName(line string) (name replicaName, ok bool) {
	id, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	topic, _ := wire.ParseUUID(id)
	index, _ := strconv.ParseInt(number, 10, 32)
	name = replicaName{topic, wire.PartitionIndex(index)}
	return name, index >= 0 && string(name.appendTo(nil)) == line
}

// take is the list's text, if the file does not have it.
func (k *lackingReplicas) take() (text []byte, unsaved bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.unsaved {
		return nil, false
	}
	k.unsaved = false
	text = []byte(lackingHead)
	for name := range k.all {
		text = name.appendTo(text)
	}
	return text, true
}

// load reads what an earlier start has found missing. A list that cannot be read may have named any of jobs.
func (k *lackingReplicas) load(jobs []*openJob) error {
	text, err := k.node.seams.fs.ReadFile(k.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return startError(k.file(), err)
	}
	lines, sound := strings.CutPrefix(string(text), lackingHead)
	for line := range strings.Lines(lines) {
		name, ok := readReplicaName(line)
		if ok {
			k.set(name, wire.NoLeaderEpoch, true)
		}
		sound = sound && ok
	}
	if !sound {
		slog.Error("the list of lacking replicas is damaged: it may have named any", "file", k.file())
		k.add(jobs)
	}
	return nil
}

// forsake notes replicas that a start begins anew, empty, though nobody else has all that they had.
func (k *lackingReplicas) forsake(jobs []*openJob) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, j := range jobs {
		k.gone[j.name()] = true
	}
}

// add notes replicas that a start has found wanting.
func (k *lackingReplicas) add(jobs []*openJob) {
	for _, j := range jobs {
		k.set(j.name(), wire.NoLeaderEpoch, true)
	}
}

func (j *openJob) name() replicaName { return replicaName{j.topic.id, j.found.tp.Partition} }

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
	since, lacking := p.replica.Lacking()
	if p.stopped == wire.UnknownTopicOrPartition {
		lacking = false
	}
	if !n.lacking.set(replicaName{p.id, p.index}, since, lacking) {
		return
	}
	if lacking {
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
func appendLacking(dst []byte, lacking []controller.LackingReplica) []byte {
	for _, k := range lacking {
		dst = append(dst, k.Topic[:]...)
		dst = binary.BigEndian.AppendUint32(dst, uint32(k.Partition))
		dst = binary.BigEndian.AppendUint32(dst, uint32(k.Since))
	}
	return dst
}

func readLacking(src []byte) (lacking []controller.LackingReplica) {
	for ; len(src) >= lackingBytes && len(lacking) < lackingToldMax; src = src[lackingBytes:] {
		k := controller.LackingReplica{
			Partition: wire.PartitionIndex(binary.BigEndian.Uint32(src[16:])), Since: wire.LeaderEpoch(binary.BigEndian.Uint32(src[20:])),
		}
		copy(k.Topic[:], src)
		lacking = append(lacking, k)
	}
	return lacking
}
