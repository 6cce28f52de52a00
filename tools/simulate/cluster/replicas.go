package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// The one log directory of a node.
const (
	logsDir           = "/logs"
	recoveryPointFile = logsDir + "/" + segment.RecoveryPointCheckpoint
	highWatermarkFile = logsDir + "/" + segment.HighWatermarkCheckpoint
)

// logConfig is what the topic's logs are made with.
func (c *Cluster) logConfig() segment.Config {
	cfg := segment.DefaultConfig()
	cfg.SegmentBytes, cfg.IndexIntervalBytes, cfg.RetentionMS = c.opt.SegmentSize, 500, -1
	cfg.TimestampAfterMaxMS, cfg.ProducerExpirationMS = math.MaxInt64, math.MaxInt64 // clocks differ
	return cfg
}

var flushPolicies = map[string]replicate.FlushPolicy{
	"commit": replicate.FlushCommit, "interval": replicate.FlushInterval, "cache": replicate.FlushCache,
}

func (n *Node) logDir(index int) string {
	at := n.cluster.places[index]
	return fmt.Sprintf("%s/%s-%d", logsDir, at.Topic, at.Partition)
}

// startReplicas opens the logs that the disk has.
func (n *Node) startReplicas() error {
	n.replicas = make([]*replica, len(n.cluster.places))
	points, err := n.readCheckpoint(recoveryPointFile)
	if err != nil {
		return err
	}
	highs, err := n.readCheckpoint(highWatermarkFile)
	if err != nil {
		return err
	}
	n.points = points
	n.recovered = make([]*segment.Log, len(n.replicas))
	for i := range n.replicas {
		if _, err := n.fs.ReadDir(n.logDir(i)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if n.recovered[i], err = n.openLog(i, points[n.cluster.places[i]]); err != nil {
			return fmt.Errorf("open partition %d: %w", i, err)
		}
	}
	if n.cluster.opt.Journal {
		if err := n.openJournal(); err != nil {
			return fmt.Errorf("open the journal: %w", err)
		}
	}
	for i, log := range n.recovered {
		if log == nil {
			continue
		}
		if err := n.takeRecovered(i, log, highs[n.cluster.places[i]]); err != nil {
			return fmt.Errorf("open partition %d: %w", i, err)
		}
	}
	n.every(n.cluster.opt.Aimed.Checkpoints, func() { n.run(n.checkpoint) })
	n.every(n.cluster.opt.ReplicaLagMax/2, func() {
		for _, r := range n.replicas {
			if r != nil && n.process.Running() {
				r.partition.Tick(n.now(), &r.effects)
				r.follow()
			}
		}
	})
	return nil
}

func (n *Node) readCheckpoint(name string) (map[wire.TopicPartition]wire.Offset, error) {
	data, err := n.fs.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return map[wire.TopicPartition]wire.Offset{}, nil
	}
	if err != nil {
		return nil, err
	}
	return segment.ReadOffsetCheckpoint(data)
}

// openLog recovers a log; nil if a crash has interrupted its making.
func (n *Node) openLog(index int, point wire.Offset) (*segment.Log, error) {
	log, report, err := segment.OpenLog(n.fs, n.logDir(index), n.cluster.logConfig(), segment.OpenOptions{
		RecoveryPoint: point, CleanerOffset: wire.NoOffset, NowMS: n.wallClock(),
	})
	if err != nil {
		return nil, err
	}
	if log.TopicID().IsZero() {
		return nil, n.fs.RemoveAll(n.logDir(index))
	}
	if report.Damage != nil {
		n.cluster.ledgers[index].fail("I1", "%s finds damage that no fault has done: %v", n.process.Name(), report.Damage)
	}
	return log, nil
}

// takeRecovered makes durable what was found of a log, and takes it into service.
func (n *Node) takeRecovered(index int, log *segment.Log, high wire.Offset) error {
	if err := n.flushLog(log); err != nil {
		return err
	}
	return n.takeLog(index, log, high)
}

func (n *Node) flushLog(log *segment.Log) error {
	flush := log.PlanFlush()
	if err := flush.Run(n.fs); err != nil {
		return err
	}
	log.Flushed(flush)
	return nil
}

// flushLogs makes all logs durable.
func (n *Node) flushLogs() error {
	for _, r := range n.replicas {
		if r == nil {
			continue
		}
		if err := n.flushLog(r.log); err != nil {
			return err
		}
	}
	return nil
}

// makeReplica makes the log of a partition that the metadata has given to this node.
func (n *Node) makeReplica(index int, topic wire.TopicID) error {
	log, err := segment.CreateLog(n.fs, n.logDir(index), n.cluster.logConfig(), topic, 0)
	if err == nil && n.cluster.tells() {
		err = n.fs.SyncDir(logsDir)
	}
	if err != nil {
		return err
	}
	return n.takeLog(index, log, 0)
}

func (n *Node) takeLog(index int, log *segment.Log, high wire.Offset) error {
	file, err := n.fs.OpenFile(log.ActiveSegment().LogName(), segment.ReadWrite, 0)
	if err != nil {
		return err
	}
	r := &replica{node: n, index: index, log: log, file: file, fetchedFrom: wire.NoNode}
	r.partition = replicate.NewReplica(log, flushPolicies[n.cluster.opt.FlushPolicy], high)
	if n.lacks(index) {
		r.partition.Lack()
	}
	n.replicas[index] = r
	r.show()
	return nil
}

// durableEnd is the end of what the node's disk has of a partition, whether it runs or not: what it said so last.
func (n *Node) durableEnd(index int) wire.Offset {
	if n.replicas == nil {
		return n.lastEnds[index]
	}
	if r := n.replicas[index]; r != nil {
		return r.partition.SyncedEnd()
	}
	return 0
}

// syncLogs syncs what was written, one round at a time: the loop's journal does so in one sync.
func (n *Node) syncLogs() {
	if n.syncing || n.cluster.opt.FlushPolicy != "commit" {
		return
	}
	var round []syncedLog
	for _, r := range n.replicas {
		if r != nil && r.partition.WrittenEnd() > r.partition.SyncedEnd() {
			round = append(round, syncedLog{r, r.partition.WrittenEnd(), r.cuts})
		}
	}
	if len(round) == 0 {
		return
	}
	n.syncing = true
	if n.journal == nil {
		n.sync(func() error { return syncFiles(round) }, func() { n.synced(round) })
		return
	}
	if !n.journal.NeedsSync() { // a truncation or a checkpoint has synced it
		n.process.After(0, func() { n.synced(round) })
		return
	}
	upTo := n.journal.BeginSync()
	n.sync(func() error { return n.journalFile.Sync() }, func() {
		n.journal.Synced(upTo)
		n.synced(round)
	})
}

// syncedLog is a log's part of a round.
type syncedLog struct {
	replica *replica
	end     wire.Offset
	cuts    int
}

func (s syncedLog) void() bool { return s.cuts != s.replica.cuts }

func syncFiles(round []syncedLog) error {
	for _, s := range round {
		if s.void() {
			continue
		}
		if err := s.replica.file.Sync(); err != nil {
			return fmt.Errorf("sync partition %d: %w", s.replica.index, err)
		}
	}
	return nil
}

func (n *Node) synced(round []syncedLog) {
	n.syncing = false
	for _, s := range round {
		if s.void() || !n.process.Running() {
			continue
		}
		if n.journal == nil {
			s.replica.log.Synced(s.end)
		}
		s.replica.partition.Synced(s.end, &s.replica.effects)
		s.replica.follow()
	}
	if n.process.Running() {
		n.syncLogs()
	}
}

// checkpoint makes all logs durable and writes the checkpoint files, as a node does now and then.
func (n *Node) checkpoint() error {
	if err := n.flushLogs(); err != nil {
		return err
	}
	if n.journal != nil {
		if err := n.checkpointJournal(); err != nil {
			return err
		}
	}
	points, highs := map[wire.TopicPartition]wire.Offset{}, map[wire.TopicPartition]wire.Offset{}
	for i, r := range n.replicas {
		if r != nil {
			points[n.cluster.places[i]], highs[n.cluster.places[i]] = r.log.RecoveryPoint(), r.partition.HighWatermark()
		}
	}
	n.points = points
	if err := n.writePoints(); err != nil {
		return err
	}
	return n.writeHighs(highs)
}

func (n *Node) writeHighs(highs map[wire.TopicPartition]wire.Offset) error {
	return n.fs.WriteFileAtomic(highWatermarkFile, segment.AppendOffsetCheckpoint(nil, highs))
}

func (n *Node) writePoints() error {
	return n.fs.WriteFileAtomic(recoveryPointFile, segment.AppendOffsetCheckpoint(nil, n.points))
}

// lowerCheckpoint writes the recovery points if a log's is above what a truncation leaves.
func (n *Node) lowerCheckpoint(index int, point wire.Offset) error {
	if n.points[n.cluster.places[index]] <= point {
		return nil
	}
	n.points[n.cluster.places[index]] = point
	return n.writePoints()
}

// applyImage lets the replicas follow the metadata: partitions whose state has changed since the image that they have.
func (n *Node) applyImage() {
	if n.registered == 0 || !n.takeUp() {
		return
	}
	for i := range n.replicas {
		topic, state := n.cluster.stateOf(n.image, i)
		if state == nil || state == n.states[i] {
			continue
		}
		if n.image.Version() > uint64(n.registered) {
			n.states[i] = state
		} // else it is of this node's last life, and comes again
		if !state.HasReplica(n.id) {
			if n.states[i] == state && n.replicas[i] != nil && !n.dropReplica(i) {
				return
			}
			continue
		}
		if n.replicas[i] == nil && !n.run(func() error { return n.makeReplica(i, topic.ID) }) {
			return
		}
		n.applyState(n.replicas[i], state)
		if !n.process.Running() {
			return
		}
	}
	n.noteIneligible()
	n.groups.topicsChanged()
	if n.dirGone {
		n.dirGone = false
		n.begins(true)
	}
}

// noteIneligible tells leaders whose brokers may join no in-sync set.
func (n *Node) noteIneligible() {
	for _, r := range n.replicas {
		if r == nil {
			continue
		}
		for b := range n.image.Brokers() {
			if b.Fenced || b.ShuttingDown {
				r.partition.Ineligible(b.ID, &r.effects)
			}
		}
		r.follow()
	}
}

// settleReplicas does what the effects of all partitions ask for.
func (n *Node) settleReplicas() {
	for _, r := range n.replicas {
		if r != nil && n.process.Running() {
			r.follow()
		}
	}
}

// applyState makes a replica lead or follow.
func (n *Node) applyState(r *replica, s *image.PartitionState) {
	if r.cutting {
		r.held = s
		return
	}
	before := r.leadership()
	m := replicate.Metadata{
		Version: wire.BrokerEpoch(n.image.Version()), Registered: n.registered, Epoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, Ref: r,
	}
	if s.Leader == n.id {
		n.lead(r, m, s)
	} else {
		r.partition.Follow(replicate.FollowerState{Metadata: m, Leader: s.Leader, Counted: countedOn(s, n.id)}, &r.effects)
	}
	n.noteLacking(r)
	if n.process.Running() {
		n.coordinate(r, before)
		n.fetchAnew(r)
		r.follow()
	}
}

// leadership is whether a replica leads its partition, and under which epoch.
type leadership struct {
	leads bool
	epoch wire.LeaderEpoch
}

func (r *replica) leadership() leadership {
	return leadership{r.partition.Role() == replicate.Leading, r.partition.LeaderEpoch()}
}

// coordinate has the coordinators follow a change of a partition's leadership.
func (n *Node) coordinate(r *replica, before leadership) {
	after := r.leadership()
	if before == after {
		return
	}
	r.refuseVerifying()
	if before.leads {
		n.resignCoordinator(r)
	}
	if after.leads {
		switch r.topic() {
		case image.TransactionStateTopic:
			n.txns.shards.lead(r, after.epoch)
		case image.ConsumerOffsetsTopic:
			n.groups.shards.lead(r, after.epoch)
		}
	}
}

func (n *Node) resignCoordinator(r *replica) {
	switch r.topic() {
	case image.TransactionStateTopic:
		n.txns.shards.resign(r.index)
	case image.ConsumerOffsetsTopic:
		n.groups.shards.resign(r.index)
	}
}

func (n *Node) lead(r *replica, m replicate.Metadata, s *image.PartitionState) {
	c := n.cluster
	changed := r.partition.Lead(n.now(), replicate.LeaderState{
		Metadata: m, Self: n.id, Replicas: s.Replicas, ISR: s.ISR, MinISR: c.opt.MinISR, LagMax: c.opt.ReplicaLagMax,
	}, &r.effects)
	if changed {
		n.run(func() error {
			return n.fs.WriteFileAtomic(r.log.Dir()+"/"+segment.LeaderEpochCheckpoint, r.log.EpochCheckpoint())
		})
	}
}

// closeLogs makes everything durable.
func (n *Node) closeLogs() error {
	for _, r := range n.replicas {
		if r == nil || r.cutting {
			continue
		}
		flush := r.log.PlanClose()
		if err := flush.Run(n.fs); err != nil {
			return err
		}
		r.log.Flushed(flush)
	}
	return n.checkpoint()
}
