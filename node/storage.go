package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

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

// openDirs locks the directories and looks at what they hold. Nothing is served yet.
func (n *Node) openDirs(fsys segment.FS) error {
	cfg := n.Config()
	n.state = &stateDir{path: filepath.Join(cfg.DataDir, "state")}
	if err := n.makeDir(fsys, n.state.path); err != nil {
		return startError(n.state.path, err)
	}
	var err error
	if n.state.lock, err = lockDir(n.state.path); err != nil {
		return err
	}
	for _, path := range cfg.LogDirs {
		if err := n.makeDir(fsys, path); err != nil {
			return startError(path, err)
		}
		d, err := openLogDir(path, fsys, cfg.AppendPath)
		if err != nil {
			return err
		}
		n.dirs = append(n.dirs, d)
	}
	return n.scanDirs()
}

// openMetadata reads the metadata of a node of its own.
func (n *Node) openMetadata(fsys segment.FS) (err error) {
	if n.store, err = n.openStore(fsys); err != nil {
		return err
	}
	n.restrict()
	n.publish(n.store.Image())
	if cut := n.store.Report().TruncatedBytes; cut > 0 {
		slog.Warn("torn tail of the metadata cut: its last change is gone", "directory", n.state.path, "bytes", cut)
	}
	return n.identify(n.store.Image().ClusterID())
}

// openStore opens the metadata log of a node of its own, or of one that was.
func (n *Node) openStore(fsys segment.FS) (*image.Store, error) {
	store, err := image.OpenStore(fsys, n.state.path)
	if err != nil {
		return nil, &StartError{Path: n.state.path, Problem: err.Error(), Cure: "restore the state directory from a copy"}
	}
	return store, nil
}

// makeDir makes a directory with those above it, and remembers the first that was missing: a start that fails takes
// away what it made.
func (n *Node) makeDir(fsys segment.FS, path string) error {
	first := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		first = at
	}
	if first != "" {
		n.made = append(n.made, first)
	}
	return fsys.MkdirAll(path, 0o755)
}

// identify gives the log directories their cluster: the one that the metadata or one of them names, or a new one.
func (n *Node) identify(cluster string) error {
	known := cluster
	formatted, err := n.formattedDirs()
	if err != nil {
		return err
	}
	for _, d := range n.dirs {
		props := formatted[d]
		if props == nil {
			continue
		}
		if cluster != "" && props.ClusterID != cluster {
			return &StartError{Path: filepath.Join(d.path, segment.MetaPropertiesFile),
				Problem: fmt.Sprintf("the directory belongs to cluster %s, this node to %s", props.ClusterID, cluster),
				Cure:    "give the node the directory that it had, or an empty one"}
		}
		if mine := n.Config().NodeID; props.NodeID != mine {
			return ownedByOther(filepath.Join(d.path, segment.MetaPropertiesFile), props.NodeID, mine)
		}
		cluster = props.ClusterID
	}
	if cluster == "" {
		cluster = newUUID().String()
	}
	if n.dirGone, err = n.dirMissing(formatted); err != nil {
		return err
	}
	if n.cluster == nil {
		if err := n.beginOrGoOn(known == "", cluster, formatted); err != nil {
			return err
		}
	}
	for _, d := range n.dirs {
		if formatted[d] == nil {
			n.made = append(n.made, filepath.Join(d.path, segment.MetaPropertiesFile))
		}
		if err := writeMetaProperties(d, cluster, n.Config().NodeID); err != nil {
			return startError(d.path, err)
		}
	}
	return nil
}

// ownedByOther refuses a directory that is not this node's.
func ownedByOther(path string, owner, this wire.NodeID) *StartError {
	return &StartError{Path: path, Problem: fmt.Sprintf("the directory belongs to node %d, this is node %d", owner, this),
		Cure: fmt.Sprintf("start with --set node.id=%d, or give this node a directory of its own", owner)}
}

// formattedDirs are the log directories with what their meta.properties say; nil where there is none.
func (n *Node) formattedDirs() (map[*logDir]*segment.MetaProperties, error) {
	formatted := make(map[*logDir]*segment.MetaProperties)
	for _, d := range n.dirs {
		props, err := readMetaProperties(d)
		if err != nil {
			return nil, err
		}
		formatted[d] = props
	}
	return formatted, nil
}

// beginOrGoOn makes the first metadata, or sees whether what it names is there.
func (n *Node) beginOrGoOn(fresh bool, cluster string, formatted map[*logDir]*segment.MetaProperties) error {
	if n.ranBefore = !fresh; n.ranBefore {
		return n.checkLogDirs()
	}
	if err := n.checkState(formatted); err != nil {
		return err
	}
	return n.begin(cluster)
}

// begin writes the first metadata, as one batch: the cluster, and the topics that lie in the log directories already. A kill
// between the two would leave topics behind for ever.
func (n *Node) begin(cluster string) error {
	if _, err := n.dirs[0].fs.Stat(n.journalName(0)); err == nil { // journals are made later than the metadata
		return &StartError{Path: filepath.Join(n.state.path, image.LogName), Problem: "the metadata is missing, though a node has run here",
			Cure: "restore the state directory from a copy, or remove it whole and start with --set ringmill.missing.data=begin: the topics are taken up again, without their configurations"}
	}
	topics, err := n.topicsFound()
	if err != nil {
		return err
	}
	records := append([]image.Record{image.ClusterRecord{ClusterID: cluster, NodeID: n.Config().NodeID}}, topics...)
	_, err = n.applyMeta(records...)
	var record *image.RecordError
	switch {
	case errors.As(err, &record):
		return &StartError{Path: n.dirs[0].path, Problem: err.Error(), Cure: "move the topic's directories away"}
	case err != nil:
		return startError(n.state.path, err)
	}
	return nil
}

// applyMeta makes records durable and publishes the image that they lead to. metaMu is held, or nothing runs yet.
func (n *Node) applyMeta(records ...image.Record) (*image.Image, error) {
	m, err := n.store.Apply(records...)
	if err == nil {
		n.publish(m)
		n.tellGroups(m, records)
	}
	return m, err
}

// tellGroups has the group coordinators know of changed topics.
func (n *Node) tellGroups(m *image.Image, records []image.Record) {
	changed, created := false, false
	for _, r := range records {
		switch r.(type) {
		case image.TopicRecord:
			changed, created = true, true
		case image.PartitionsRecord, image.RemoveTopicRecord:
			changed = true
		}
	}
	if changed && n.groups != nil {
		n.groups.topicsChanged(m, created)
	}
}

func newUUID() (id wire.TopicID) {
	for id.IsZero() || strings.HasPrefix(id.String(), "-") { // Kafka avoids a leading dash: tools take it for a flag
		_, _ = rand.Read(id[:])
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	}
	return id
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
		RetentionMS: t.RetentionMS, RetentionBytes: t.RetentionBytes,
		MessageTimestampType: timestamps, TimestampBeforeMaxMS: t.MessageTimestampBeforeMaxMS,
		TimestampAfterMaxMS: t.MessageTimestampAfterMaxMS, ProducerExpirationMS: c.ProducerIDExpirationMS,
		DeleteRetentionMS: t.DeleteRetentionMS, MinCleanableRatio: t.MinCleanableDirtyRatio,
		MinCompactionLagMS: t.MinCompactionLagMS, MaxCompactionLagMS: t.MaxCompactionLagMS,
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

// dirFor is the log directory with the fewest partitions, as Kafka deals them; placed are those that are on their way.
func (n *Node) dirFor(placed map[*logDir]int64) *logDir {
	load := func(d *logDir) int64 { return d.partitions.Load() + placed[d] }
	best := n.dirs[0]
	for _, d := range n.dirs[1:] {
		if !d.offline.Load() && (best.offline.Load() || load(d) < load(best)) {
			best = d
		}
	}
	return best
}
