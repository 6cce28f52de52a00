package node

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/node/config"
	"github.com/ringmill/ringmill/replicate"
	"github.com/ringmill/ringmill/segment"
	"github.com/ringmill/ringmill/wire"
)

// stateDir is where lies what is ringmill's alone: the metadata log and the loops' journals.
type stateDir struct {
	path string
	lock *os.File
}

func (n *Node) journalName(loop int) string {
	return filepath.Join(n.state.path, fmt.Sprintf("journal-%d", loop))
}

// openStorage locks the directories, reads the metadata and recovers every log. Nothing is served yet.
func (n *Node) openStorage(fsys segment.FS) error {
	cfg := n.config()
	n.state = &stateDir{path: filepath.Join(cfg.DataDir, "state")}
	if err := fsys.MkdirAll(n.state.path, 0o755); err != nil {
		return startError(n.state.path, err)
	}
	var err error
	if n.state.lock, err = lockDir(n.state.path); err != nil {
		return err
	}
	for _, path := range cfg.LogDirs {
		d, err := openLogDir(path, fsys, cfg.AppendPath)
		if err != nil {
			return err
		}
		n.dirs = append(n.dirs, d)
	}
	if n.store, err = image.OpenStore(fsys, n.state.path); err != nil {
		return &StartError{Path: n.state.path, Problem: err.Error(), Cure: "restore the state directory from a copy"}
	}
	n.image.Store(n.store.Image())
	return n.identify()
}

// identify gives the node its cluster: the one that the metadata or a log directory names, or a new one.
func (n *Node) identify() error {
	m := n.store.Image()
	cluster := m.ClusterID()
	for _, d := range n.dirs {
		props, err := readMetaProperties(d)
		if err != nil {
			return err
		}
		if props == nil {
			continue
		}
		if cluster != "" && props.ClusterID != cluster {
			return &StartError{Path: filepath.Join(d.path, segment.MetaPropertiesFile),
				Problem: fmt.Sprintf("the directory belongs to cluster %s, this node to %s", props.ClusterID, cluster),
				Cure:    "give the node the directory that it had, or an empty one"}
		}
		cluster = props.ClusterID
	}
	fresh := m.ClusterID() == ""
	if cluster == "" {
		cluster = newUUID().String()
	}
	if fresh {
		if _, err := n.applyMeta(image.ClusterRecord{ClusterID: cluster, NodeID: n.config().NodeID}); err != nil {
			return startError(n.state.path, err)
		}
		if err := n.importTopics(); err != nil {
			return err
		}
	}
	for _, d := range n.dirs {
		if err := writeMetaProperties(d, cluster, n.config().NodeID); err != nil {
			return startError(d.path, err)
		}
	}
	return nil
}

// applyMeta makes records durable and publishes the image that they lead to. metaMu is held, or nothing runs yet.
func (n *Node) applyMeta(records ...image.Record) (*image.Image, error) {
	m, err := n.store.Apply(records...)
	if err == nil {
		n.image.Store(m)
	}
	return m, err
}

func newUUID() (id wire.TopicID) {
	for id.IsZero() || strings.HasPrefix(id.String(), "-") { // Kafka avoids a leading dash: tools take it for a flag
		_, _ = rand.Read(id[:])
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	}
	return id
}

// foundPartition is a partition's directory.
type foundPartition struct {
	dir  *logDir
	path string
	tp   wire.TopicPartition
}

// scanDirs lists the partitions of all log directories. A partition in two of them is a start error: which one counts
// is not for a node to guess.
func (n *Node) scanDirs() ([]foundPartition, error) {
	var found []foundPartition
	seen := make(map[wire.TopicPartition]string)
	for _, d := range n.dirs {
		entries, err := d.fs.ReadDir(d.path)
		if err != nil {
			return nil, startError(d.path, err)
		}
		for _, e := range entries {
			tp, ok := segment.ParsePartitionDir(e.Name)
			if !ok || !e.IsDir || tp.Topic == clusterMetadataTopic {
				continue
			}
			path := filepath.Join(d.path, e.Name)
			if other, twice := seen[tp]; twice {
				return nil, &StartError{Path: path, Problem: "the partition is in " + other + " too", Cure: "move one of the two away"}
			}
			seen[tp] = path
			found = append(found, foundPartition{d, path, tp})
		}
	}
	return found, nil
}

// clusterMetadataTopic is Apache Kafka's own quorum log, which a combined node keeps in its log directory.
const clusterMetadataTopic = "__cluster_metadata"

// importTopics takes up the topics of a log directory that Apache Kafka wrote: once, when the node's own metadata is
// new. Later a directory that no topic has is a leftover, not a topic.
func (n *Node) importTopics() error {
	found, err := n.scanDirs()
	if err != nil {
		return err
	}
	topics := make(map[string]*image.TopicRecord)
	var order []string
	for _, f := range found {
		t := topics[f.tp.Topic]
		if t == nil {
			t = &image.TopicRecord{Name: f.tp.Topic}
			topics[f.tp.Topic] = t
			order = append(order, f.tp.Topic)
		}
		t.Partitions = max(t.Partitions, int32(f.tp.Partition)+1)
		if t.ID.IsZero() {
			t.ID = readTopicID(f.dir.fs, f.path)
		}
	}
	for _, name := range order {
		t := topics[name]
		if t.ID.IsZero() {
			t.ID = newUUID()
		}
		if _, err := n.applyMeta(*t); err != nil {
			return &StartError{Path: n.dirs[0].path, Problem: "topic " + name + ": " + err.Error(), Cure: "move its directories away"}
		}
	}
	if len(order) > 0 {
		slog.Info("topics taken up from the log directories", "topics", len(order))
	}
	return nil
}

func readTopicID(fsys segment.FS, dir string) wire.TopicID {
	data, err := fsys.ReadFile(filepath.Join(dir, "partition.metadata"))
	if err != nil {
		return wire.TopicID{}
	}
	id, _ := segment.ReadPartitionMetadata(data)
	return id
}

// loadTopics opens every partition that the metadata names, creating what a crash between the metadata and the
// directories left out, and replays the journals into them.
func (n *Node) loadTopics() error {
	found, err := n.scanDirs()
	if err != nil {
		return err
	}
	dirs := make(map[wire.TopicPartition]foundPartition, len(found))
	for _, f := range found {
		dirs[f.tp] = f
	}
	var jobs []*openJob
	for t := range n.store.Image().Topics() {
		topic, err := n.newTopic(t)
		if err != nil {
			return &StartError{Path: "topic " + t.Name, Problem: err.Error(), Cure: "mend the property in the configuration"}
		}
		for i := range t.Partitions {
			tp := wire.TopicPartition{Topic: t.Name, Partition: wire.PartitionIndex(i)}
			f, ok := dirs[tp]
			if !ok || readTopicID(f.dir.fs, f.path) != t.ID && !readTopicID(f.dir.fs, f.path).IsZero() {
				f = foundPartition{dir: n.dirFor(), tp: tp}
			}
			jobs = append(jobs, &openJob{topic: topic, found: f})
		}
	}
	return n.runOpenJobs(jobs)
}

// openJob opens one partition's log.
type openJob struct {
	topic  *topic
	found  foundPartition
	log    *segment.Log
	report segment.RecoveryReport
	err    error
}

// runOpenJobs recovers logs side by side (num.recovery.threads.per.data.dir), replays the journals into them and deals
// the partitions to the loops.
func (n *Node) runOpenJobs(jobs []*openJob) error {
	work := make(chan *openJob)
	var done sync.WaitGroup
	for range max(1, n.config().RecoveryThreads) * len(n.dirs) {
		done.Add(1)
		go func() {
			defer done.Done()
			for j := range work {
				j.run(n)
			}
		}()
	}
	for _, j := range jobs {
		work <- j
	}
	close(work)
	done.Wait()
	for _, j := range jobs {
		if j.err != nil {
			return &StartError{Path: j.found.path, Problem: j.err.Error(), Cure: "see docs/reliability.md, recovery"}
		}
	}
	if err := n.replayJournals(jobs); err != nil {
		return err
	}
	for _, j := range jobs {
		j.topic.parts[j.found.tp.Partition] = n.newPartition(j.topic, j.found.tp.Partition, j.found.dir, j.log)
		if j.found.tp.Partition == wire.PartitionIndex(len(j.topic.parts)-1) {
			n.topics.put(j.topic)
		}
	}
	return nil
}

func (j *openJob) run(n *Node) {
	d := j.found.dir
	cfg := segmentConfig(n.config(), &j.topic.config)
	if j.found.path == "" {
		j.found.path = filepath.Join(d.path, fmt.Sprintf("%s-%d", j.topic.name, j.found.tp.Partition))
		j.log, j.err = createLog(d, j.found.path, cfg, j.topic.id)
		return
	}
	j.log, j.report, j.err = segment.OpenLog(d.fs, j.found.path, cfg, segment.OpenOptions{
		RecoveryPoint: d.recovery[j.found.tp], LogStartOffset: d.starts[j.found.tp], Clean: d.clean, NowMS: wallNow(),
	})
	logRecovery(&j.report)
}

// createLog makes a partition's directory; one of another topic of that name, left over from a deletion that a crash
// interrupted, is set aside first.
func createLog(d *logDir, path string, cfg segment.Config, id wire.TopicID) (*segment.Log, error) {
	if _, err := d.fs.Stat(path); err == nil {
		if err := d.fs.Rename(path, path+"."+strings.ReplaceAll(newUUID().String(), "-", "")+"-stray"); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	log, err := segment.CreateLog(d.fs, path, cfg, id, 0)
	if err != nil {
		return nil, err
	}
	return log, d.fs.SyncDir(d.path)
}

func logRecovery(r *segment.RecoveryReport) {
	if r.Damage != nil {
		slog.Error("damage below the recovery point: kept, nothing cut", "directory", r.Dir, "damage", r.Damage)
	}
	if r.TruncatedBytes > 0 {
		slog.Warn("torn tail cut", "directory", r.Dir, "bytes", r.TruncatedBytes, "logEndOffset", int64(r.TruncatedAt), "why", r.TruncatedWhy)
	}
	if len(r.RebuiltIndexes)+len(r.RemovedFiles) > 0 {
		slog.Info("log recovered", "directory", r.Dir, "scannedBytes", r.ScannedBytes, "rebuilt", r.RebuiltIndexes, "removed", r.RemovedFiles)
	}
}

// replayJournals gives the batches that a power cut took from the segments back to them, and begins the journals anew.
// Journals of loops that are no longer configured are replayed and removed.
func (n *Node) replayJournals(jobs []*openJob) error {
	logs := make(map[journalTarget]*segment.Log, len(jobs))
	for _, j := range jobs {
		logs[journalTarget{j.topic.id, j.found.tp.Partition}] = j.log
	}
	for _, l := range n.loops {
		var err error
		if l.sync.journal, l.sync.file, err = n.openJournal(n.journalName(l.index), logs); err != nil {
			return err
		}
	}
	fsys := n.dirs[0].fs
	for i := len(n.loops); ; i++ {
		name := n.journalName(i)
		if _, err := fsys.Stat(name); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		_, file, err := n.openJournal(name, logs)
		if err != nil {
			return err
		}
		_ = file.Close()
		if err := fsys.Remove(name); err != nil {
			return startError(name, err)
		}
	}
}

func (n *Node) openJournal(name string, logs map[journalTarget]*segment.Log) (*segment.Journal, segment.File, error) {
	fsys := n.dirs[0].fs
	journal, file, err := segment.OpenJournal(fsys, name, n.journalConfig(), func(r *segment.JournalReader) error {
		report, err := segment.ReplayJournal(fsys, r, wallNow(), func(id wire.TopicID, p wire.PartitionIndex) *segment.Log {
			return logs[journalTarget{id, p}]
		})
		if report.Entries > 0 {
			slog.Info("journal replayed", "journal", name, "entries", report.Entries, "appended", report.Replayed, "orphans", report.Orphans)
		}
		return err
	})
	if err != nil {
		return nil, nil, startError(name, err)
	}
	return journal, file, nil
}

type journalTarget struct {
	id        wire.TopicID
	partition wire.PartitionIndex
}

func (n *Node) journalConfig() segment.JournalConfig {
	var salt [8]byte
	_, _ = rand.Read(salt[:])
	cfg := segment.JournalConfig{Bytes: n.config().JournalBytes, Salt: binary.BigEndian.Uint64(salt[:])}
	cfg.TrackBytes = min(segment.DefaultJournalTrackBytes, cfg.Bytes/2)
	return cfg
}

// segmentConfig is what a log needs of a topic's configuration.
func segmentConfig(c *config.Config, t *config.TopicConfig) segment.Config {
	timestamps := wire.CreateTime
	if t.LogAppendTime() {
		timestamps = wire.LogAppendTime
	}
	return segment.Config{
		SegmentBytes: t.SegmentSize(), SegmentMS: t.SegmentMS, SegmentJitterMS: t.SegmentJitterMS,
		IndexBytes: t.SegmentIndexBytes, IndexIntervalBytes: t.IndexIntervalBytes,
		RetentionMS: t.RetentionMS, RetentionBytes: t.RetentionBytes, MaxMessageBytes: t.MaxMessageBytes,
		MessageTimestampType: timestamps, TimestampBeforeMaxMS: t.MessageTimestampBeforeMaxMS,
		TimestampAfterMaxMS: t.MessageTimestampAfterMaxMS, ProducerExpirationMS: c.ProducerIDExpirationMS,
		Compact: t.Compact(), Delete: t.Delete(), FlushMessages: t.FlushMessages, FlushMS: t.FlushMS,
	}
}

func flushPolicy(p config.FlushPolicy) replicate.FlushPolicy {
	switch p {
	case config.FlushCache:
		return replicate.FlushCache
	case config.FlushInterval:
		return replicate.FlushInterval
	}
	return replicate.FlushCommit
}

// dirFor is the log directory with the fewest partitions, as Kafka deals them.
func (n *Node) dirFor() *logDir {
	best := n.dirs[0]
	for _, d := range n.dirs[1:] {
		if d.partitions.Load() < best.partitions.Load() {
			best = d
		}
	}
	return best
}
