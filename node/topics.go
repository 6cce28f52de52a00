package node

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/control/lacking"
	"github.com/ringmill/ringmill/node/api"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// newTopic makes the loops' view of a topic, its partitions still to be filled in.
func (n *Node) newTopic(t *image.Topic) (*topic, error) {
	cfg, err := n.Config().Topic(n.topicOverrides(t.Name, t.Configs))
	if err != nil {
		return nil, err
	}
	return &topic{
		name: t.Name, nameBytes: []byte(t.Name), id: t.ID, internal: t.Internal, overrides: t.Configs,
		config: cfg, parts: make([]*partition, t.Partitions),
		rules: api.BatchRules{BytesMax: cfg.MaxMessageBytes, Keys: cfg.Compact(), Strict: n.Config().Validation == "strict", Deferred: true},
	}, nil
}

// newPartition puts a recovered log on a loop, to lead or to follow as m says. Before the loops run, or from a goroutine through
// Loop.on.
func (n *Node) newPartition(t *topic, index wire.PartitionIndex, d *logDir, log *segment.Log, m *image.Image) *partition {
	policy, known := flushPolicy(t.config.FlushPolicy), m.ByID(t.id)
	p := &partition{topic: t.name, id: t.id, index: index, loop: n.owner()}
	p.lies.Store(d)
	state := known.State(index)
	if state == nil { // of a node of its own, which leads all that it has
		p.replica = replicate.NewPartition(log, policy, m.LeaderEpochOf(known))
		p.leads.Store(true)
	} else {
		p.replica = replicate.NewReplica(log, policy, d.watermark(wire.TopicPartition{Topic: t.name, Partition: index}))
	}
	p.publish()
	d.partitions.Add(1)
	n.metrics.partitions.Add(1)
	p.loop.onOrNow(func(l *Loop) {
		p.slot, p.generation = l.parts.add(p)
		if state != nil {
			if n.lacking.has(lacking.Replica{Topic: t.id, Partition: index}) {
				p.replica.Lack()
			}
			l.throttleFollower(p, t.config.FollowerThrottledReplicas)
			l.follow(p, t, state, m.Version())
		}
	})
	return p
}

// createTopic makes a topic durable and serves it. metaMu is held.
func (n *Node) createTopic(name string, partitions int32, configs map[string]string) (*topic, error) {
	id := newUUID()
	records := append([]image.Record{image.TopicRecord{Name: name, ID: id, Partitions: partitions}}, configRecords(name, configs)...)
	m, err := n.applyMeta(records...)
	if err != nil {
		return nil, err
	}
	t, err := n.newTopic(m.ByID(id))
	if err == nil {
		err = n.createPartitions(t, indexes(0, len(t.parts)), m)
	}
	if err != nil {
		if t != nil {
			n.removePartitions(t, t.parts)
		}
		_, _ = n.applyMeta(image.RemoveTopicRecord{ID: id})
		return nil, err
	}
	n.topics.put(t)
	return t, nil
}

// configRecords are a new topic's overrides as records.
func configRecords(topic string, configs map[string]string) (records []image.Record) {
	for key, value := range configs {
		records = append(records, image.ConfigRecord{Resource: image.Resource{Type: image.TopicResource, Name: topic}, Key: key, Value: &value})
	}
	return records
}

// logCreators is how many logs are made, or closed, side by side: each waits for a handful of syncs, which the file system
// joins.
const logCreators = 16

// newLog is a partition's log that is being made.
type newLog struct {
	tp  wire.TopicPartition
	dir *logDir
	log *segment.Log
	err error
}

// indexes are the partitions from first on, below end.
func indexes(first, end int) []wire.PartitionIndex {
	all := make([]wire.PartitionIndex, 0, end-first)
	for i := first; i < end; i++ {
		all = append(all, wire.PartitionIndex(i))
	}
	return all
}

// createPartitions makes the logs of some of a topic's partitions, which lead or follow as m says. After an error some of them
// are there.
func (n *Node) createPartitions(t *topic, which []wire.PartitionIndex, m *image.Image) error {
	logs, err := n.placeLogs(t, which)
	if err != nil {
		return err
	}
	var creators sync.WaitGroup
	next := make(chan *newLog)
	for range min(logCreators, len(logs)) {
		creators.Go(func() {
			for l := range next {
				path := filepath.Join(l.dir.path, segment.PartitionDir(l.tp))
				l.log, l.err = createLog(l.dir, path, segmentConfig(n.Config(), &t.config), t.id)
			}
		})
	}
	for i := range logs {
		next <- &logs[i]
	}
	close(next)
	creators.Wait()
	for _, d := range n.dirs {
		if slices.ContainsFunc(logs, func(l newLog) bool { return l.dir == d }) {
			err = errors.Join(err, d.fs.SyncDir(d.path))
		}
	}
	for _, l := range logs {
		if err = errors.Join(err, l.err); l.log != nil {
			t.parts[l.tp.Partition] = n.newPartition(t, l.tp.Partition, l.dir, l.log, m)
		}
	}
	return err
}

// placeLogs deals some of a topic's partitions to the log directories, those with the fewest first, but for those that
// AlterReplicaLogDirs named a directory for.
func (n *Node) placeLogs(t *topic, which []wire.PartitionIndex) ([]newLog, error) {
	logs := make([]newLog, 0, len(which))
	placed := make(map[*logDir]int64)
	for _, i := range which {
		tp := wire.TopicPartition{Topic: t.name, Partition: i}
		d := n.moves.takeWish(tp)
		if d == nil || d.offline.Load() {
			d = n.dirFor(placed)
		}
		if d.offline.Load() {
			return nil, errDirOffline
		}
		placed[d]++
		if err := n.forgetCheckpoints(d, tp); err != nil {
			return nil, err
		}
		logs = append(logs, newLog{tp: tp, dir: d})
	}
	return logs, nil
}

// growTopic adds partitions up to count. metaMu is held.
func (n *Node) growTopic(old *topic, count int32) error {
	t := *old
	t.parts = make([]*partition, count)
	copy(t.parts, old.parts)
	err := n.createPartitions(&t, indexes(len(old.parts), len(t.parts)), n.Image())
	if err == nil {
		_, err = n.applyMeta(image.PartitionsRecord{ID: t.id, Partitions: count})
	}
	if err != nil {
		n.removePartitions(&t, t.parts[len(old.parts):])
		return err
	}
	n.topics.put(&t)
	return nil
}

// deleteTopic forgets a topic durably, stops its partitions and removes their files after file.delete.delay.ms, as
// readers may still be sent from them. metaMu is held.
func (n *Node) deleteTopic(t *topic) error {
	if _, err := n.applyMeta(image.RemoveTopicRecord{ID: t.id}); err != nil {
		return err
	}
	n.topics.remove(t)
	n.removePartitions(t, t.parts)
	return nil
}

// removePartitions takes partitions, as many as were made, from their loops and removes their files later.
func (n *Node) removePartitions(t *topic, parts []*partition) {
	for _, p := range parts {
		if p == nil {
			continue
		}
		p.loop.on(func(l *Loop) { l.remove(p) })
		p.awaitJobs()
		n.moves.end(p)
		p.dir().partitions.Add(-1)
		n.metrics.partitions.Add(-1)
		n.removePartitionFiles(p, time.Duration(t.config.FileDeleteDelayMS)*time.Millisecond)
	}
}

// awaitJobs waits until nothing of a removed partition is under way in its directory.
func (p *partition) awaitJobs() {
	for deadline := time.Now().Add(jobPatience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		jobs := 0
		p.loop.on(func(*Loop) { jobs = p.jobs })
		if jobs == 0 {
			return
		}
	}
}

// jobPatience is how long a disk may take for what a deletion waits for.
const jobPatience = 30 * time.Second

// removeDeleted removes the directories of deleted partitions that an earlier run did not come to.
func (n *Node) removeDeleted() {
	for _, d := range n.dirs {
		entries, err := d.fs.ReadDir(d.path)
		if err != nil {
			continue // whoever needs the directory says so
		}
		for _, e := range entries {
			if e.IsDir && strings.HasSuffix(e.Name, segment.DeleteDirSuffix) {
				if err := d.fs.RemoveAll(filepath.Join(d.path, e.Name)); err != nil {
					n.log.throttled("directory of a deleted partition stays", "directory", e.Name, "error", err)
				}
			}
		}
	}
}

// removePartitionFiles renames a partition's directory as Kafka does and removes it later.
func (n *Node) removePartitionFiles(p *partition, delay time.Duration) {
	from := p.log().Dir()
	gone := segment.SetAside(from, newUUID(), segment.DeleteDirSuffix)
	if err := p.dir().fs.Rename(from, gone); err != nil {
		n.log.throttled("directory of a deleted partition stays", "directory", from, "error", err)
		return
	}
	n.removeLater(p.dir(), gone, delay)
}

// removeLater removes the directory of a log that is no more, when readers of its files have had their answers.
func (n *Node) removeLater(d *logDir, dir string, delay time.Duration) {
	remove := func() {
		if err := d.fs.RemoveAll(dir); err != nil {
			n.log.throttled("directory of a deleted partition stays", "directory", dir, "error", err)
		}
	}
	time.AfterFunc(delay, func() { d.removals.put(remove) })
}

// reconfigureTopic applies a topic's changed overrides to its loops. metaMu is held.
func (n *Node) reconfigureTopic(old *topic, m *image.Topic) error {
	t, err := n.newTopic(m)
	if err != nil {
		return err
	}
	t.parts = old.parts
	cfg := segmentConfig(n.Config(), &t.config)
	policy := flushPolicy(t.config.FlushPolicy)
	for _, p := range t.parts {
		if p == nil {
			continue
		}
		p.loop.on(func(l *Loop) {
			p.log().SetConfig(cfg)
			p.replica.SetPolicy(policy, &l.eff)
			l.throttleFollower(p, t.config.FollowerThrottledReplicas)
			p.replica.SetMinISR(t.config.MinInSyncReplicas, &l.eff)
			if p.replica.SyncedEnd() < p.replica.WrittenEnd() {
				p.unjournaled = true
				l.sync.want(l, p)
			}
			l.apply(p)
		})
	}
	n.topics.put(t)
	return nil
}

// topicOverrides adds to a topic's own properties those that the node gives its internal topics.
func (n *Node) topicOverrides(name string, configs map[string]string) map[string]string {
	if name != image.ConsumerOffsetsTopic || len(configs) > 0 {
		return configs
	}
	return n.offsetsTopicConfig()
}

// transactionsTopicConfig is what __transaction_state is created with (TransactionStateManager.transactionTopicConfigs).
func (n *Node) transactionsTopicConfig() map[string]string {
	return map[string]string{
		"cleanup.policy":                 "compact",
		"compression.type":               "uncompressed",
		"segment.bytes":                  fmt.Sprint(n.Config().TransactionTopicSegmentBytes),
		"unclean.leader.election.enable": "false",
	}
}

// offsetsTopicConfig is what __consumer_offsets is created with (Kafka's OffsetConfig).
func (n *Node) offsetsTopicConfig() map[string]string {
	return map[string]string{
		"cleanup.policy":   "compact",
		"compression.type": "producer",
		"segment.bytes":    fmt.Sprint(n.Config().OffsetsTopicSegmentBytes),
	}
}
